{{ spark_cdc.qlik_change_table(source('erp', 'odd__ct'), key=['Order No', 'select']) }}
