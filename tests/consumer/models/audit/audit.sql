{{ config(materialized='cdc_incremental') }}
{{ spark_cdc.current_state(ref('audit__changes'), key=['id']) }}
