{{ config(enabled=project_name == 'spark_cdc', materialized='cdc_incremental') -}}

{{ spark_cdc.db2_capture_table(
    ref('demo_shelves__keys'),
    key=['REGION', 'SHELF'],
    columns={'REGION': 'string', 'SHELF': 'int', 'CONTENT': 'string', 'CAPACITY': 'int'},
    base=ref('demo_shelves__base')
) }}
