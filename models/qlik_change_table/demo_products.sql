{{ config(enabled=project_name == 'spark_cdc') -}}

{{ spark_cdc.current_state(ref('demo_products__changes'), key=['product_id']) }}
