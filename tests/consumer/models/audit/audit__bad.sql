{{ config(materialized='cdc_incremental') }}
{{ spark_cdc.quarantine(of=ref('audit__changes')) }}
