{{ spark_cdc.current_state(source('rules', 'changes'), key=['id']) }}
