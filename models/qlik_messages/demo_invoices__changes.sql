{{ config(enabled=project_name == 'spark_cdc', materialized='cdc_incremental') -}}

{{ spark_cdc.qlik_messages(
    ref('demo_erp__log'),
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
    schema='APP'
) }}
