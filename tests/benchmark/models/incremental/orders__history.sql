{{ spark_cdc.history(ref('orders__changes'), key=['order_id']) }}
