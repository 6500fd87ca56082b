{{ spark_cdc.current_state(ref('orders__changes'), key=['order_id']) }}
