{{ spark_cdc.qlik_change_table(source('qlik_change_table', 'raw_partitioned'), key=['id']) }}
