{{ spark_cdc.current_state(ref('odd__changes'), key=['order no', 'select']) }}
