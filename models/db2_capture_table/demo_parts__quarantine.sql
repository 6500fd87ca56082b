{{ config(enabled=project_name == 'spark_cdc', materialized='view') -}}

{{ spark_cdc.quarantine(of=ref('demo_parts__changes')) }}
