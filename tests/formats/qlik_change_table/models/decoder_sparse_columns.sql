{{ spark_cdc.qlik_change_table(source('qlik_change_table', 'raw'), key=['id'], qlik_sparse_updates=['NOTE']) }}
