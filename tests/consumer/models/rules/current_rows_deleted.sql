{{ spark_cdc.current_state(source('rules', 'changes'), key=['id'], keep_deleted=true) }}
