{{ spark_cdc.qlik_change_table(source('rules', 'raw'), key=['id']) }}
