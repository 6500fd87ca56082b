{{ config(enabled=project_name == 'spark_cdc') -}}

{{ spark_cdc.qlik_schema_versions(ref('demo_erp__metadata')) }}
