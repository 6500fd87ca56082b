{{ spark_cdc._open_transactions_gbase_capture(source('gbase_capture', 'state')) }}
