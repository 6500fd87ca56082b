{{ spark_cdc.raw_counts('consumer.audit_log', source('erp', 'audit'), key=['id']) }}
