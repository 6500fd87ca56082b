{{ spark_cdc.history(source('apply', 'changes'), key=['id'], columns=['a']) }}
