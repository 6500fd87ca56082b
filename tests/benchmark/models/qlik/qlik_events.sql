{{ spark_cdc.qlik_messages(
    ref('qlik_log'),
    key=['ORDER_ID'],
    columns=var('columns_of_messages'),
    table='ORDERS',
    schema='APP'
) }}
