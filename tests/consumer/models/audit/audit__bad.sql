{{ config(materialized='view') }}
{{ spark_cdc.quarantine(of=ref('audit__changes')) }}
