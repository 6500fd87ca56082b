{{ config(
    enabled=project_name == 'spark_cdc',
    materialized='cdc_incremental',
    raw_watermark={'column': 'offset', 'within': ['topic', 'partition']}
) -}}

{{ spark_cdc.qlik_messages(
    ref('demo_erp__messages'),
    key=['INVOICE_ID'],
    columns={
        'INVOICE_ID': 'bigint',
        'VENDOR_ID': 'int',
        'STATUS': 'string',
        'AMOUNT': 'decimal(12, 2)',
        'ISSUED_AT': 'timestamp',
        'NOTE': 'string',
        'CURRENCY': 'string'
    },
    table='INVOICES',
    schema='APP',
    versions=ref('demo_erp__versions')
) }}
