{{ spark_cdc.quarantine(of=ref('events')) }}
