{{ spark_cdc.history(source('rules', 'changes'), key=['id'], granularity='event') }}
