{{ spark_cdc.history(ref('events'), key=['order_id']) }}
