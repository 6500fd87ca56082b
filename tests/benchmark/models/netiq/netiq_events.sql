{{ spark_cdc.netiq_event_log(
    source('landing', 'event_log'),
    table='table_07',
    key=['id'],
    columns={
        'id': 'int',
        'name': 'string',
        'amount': 'decimal(12, 2)',
        'booked': 'date',
        'changed_at': 'timestamp'
    }
) }}
