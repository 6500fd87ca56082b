{{ spark_cdc.qlik_change_table(source('erp', 'stock__ct'), key=['id']) }}
