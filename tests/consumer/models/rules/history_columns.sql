{{ spark_cdc.history(source('rules', 'changes'), key=['id'], columns=['a']) }}
