{{ spark_cdc.history(ref('odd__changes'), key=['Order No', 'select'], granularity='event') }}
