{{ spark_cdc.current_state(source('apply', 'changes'), key=['id'], keep_deleted=true) }}
