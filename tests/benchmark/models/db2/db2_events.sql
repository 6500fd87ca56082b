{{ spark_cdc.db2_capture_table(source('landing', 'capture'), key=['order_id'], before_prefix=none) }}
