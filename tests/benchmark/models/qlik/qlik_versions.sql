{{ spark_cdc.qlik_schema_versions(source('landing', 'metadata')) }}
