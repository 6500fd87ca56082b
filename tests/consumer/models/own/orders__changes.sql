{{ spark_cdc.qlik_change_table(source('erp', 'orders__ct'), key=['order_id']) }}
