{{ config(enabled=project_name == 'spark_cdc') -}}

{{ spark_cdc.history(ref('demo_products__changes'), key=['product_id']) }}
