{{ config(enabled=project_name == 'spark_cdc') -}}

{{ spark_cdc.quarantine(of=ref('demo_products__changes')) }}
