{{ spark_cdc.qlik_change_table(source('rules', 'raw'), key=['id'], qlik_sparse_updates=true) }}
