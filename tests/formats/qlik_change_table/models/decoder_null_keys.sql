{{ spark_cdc.qlik_change_table(source('qlik_change_table', 'raw'), key=['id', 'note'], null_keys=true) }}
