{{ spark_cdc.qlik_messages(
    source('landing', 'messages'),
    key=['ORDER_ID'],
    columns=var('columns_of_messages'),
    table='ORDERS',
    schema='APP',
    metadata=source('landing', 'metadata')
) }}
