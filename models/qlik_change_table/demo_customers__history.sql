{{ config(enabled=project_name == 'spark_cdc') -}}

{{ spark_cdc.history(ref('demo_customers__changes'), key=['customer_id']) }}
