{{ config(enabled=project_name == 'spark_cdc') -}}

{{ spark_cdc.current_state(ref('demo_customers__changes'), key=['customer_id'], keep_deleted=true) }}
