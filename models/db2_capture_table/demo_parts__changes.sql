{{ config(enabled=project_name == 'spark_cdc', materialized='cdc_incremental') -}}

{{ spark_cdc.db2_capture_table(
    ref('demo_parts__cd'),
    key=['PART_NO'],
    columns={'PART_NO': 'int', 'NAME': 'string', 'PRICE': 'decimal(8, 2)'},
    unit_of_work=ref('demo_parts__uow')
) }}
