{{ config(enabled=project_name == 'spark_cdc') -}}

{{ spark_cdc.qlik_messages(
    ref('demo_payments__messages'),
    key=['PAYMENT_ID'],
    columns={
        'PAYMENT_ID': 'bigint',
        'INVOICE_ID': 'bigint',
        'AMOUNT': 'decimal(12, 2)',
        'PAID_ON': 'date',
        'RECEIPT': 'binary'
    },
    table='PAYMENTS',
    schema='APP',
    metadata=ref('demo_erp__metadata')
) }}
