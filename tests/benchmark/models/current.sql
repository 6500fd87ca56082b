{{ spark_cdc.current_state(ref('events'), key=['order_id']) }}
