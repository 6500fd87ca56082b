{{ config(enabled=project_name == 'spark_cdc') -}}

{{ spark_cdc.qlik_change_table(
    ref('demo_products__ct'),
    key=['product_id'],
    full_load=ref('demo_products__loads'),
    full_load_at='load_time'
) }}
