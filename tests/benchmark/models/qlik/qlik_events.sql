{{ spark_cdc.qlik_messages(
    ref('qlik_log'),
    key=['ORDER_ID'],
    columns={
        'ORDER_ID': 'bigint',
        'CUSTOMER': 'string',
        'STATUS': 'string',
        'AMOUNT': 'decimal(12, 2)',
        'TAX': 'decimal(12, 2)',
        'WEIGHT': 'double',
        'ORDERED_ON': 'date',
        'CHANGED_AT': 'timestamp',
        'IS_PAID': 'boolean',
        'NOTE': 'string'
    },
    table='ORDERS',
    schema='APP'
) }}
