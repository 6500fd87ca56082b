{{ config(enabled=project_name == 'spark_cdc', materialized='cdc_incremental') -}}

{{ spark_cdc.qlik_messages(
    ref('demo_erp__messages'),
    key=['VENDOR_ID'],
    columns={'VENDOR_ID': 'int', 'NAME': 'string', 'CITY': 'string', 'IBAN': 'string'},
    table='VENDORS',
    schema='APP',
    metadata=ref('demo_erp__metadata')
) }}
