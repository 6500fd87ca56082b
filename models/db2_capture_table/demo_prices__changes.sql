{{ config(enabled=project_name == 'spark_cdc', materialized='cdc_incremental') -}}

{{ spark_cdc.db2_capture_table(
    ref('demo_prices__ccd'),
    key=['ITEM'],
    columns={'ITEM': 'string', 'PRICE': 'decimal(8, 2)'},
    before_prefix=none
) }}
