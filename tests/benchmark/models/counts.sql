{{ spark_cdc.raw_counts(of=ref('events')) }}
