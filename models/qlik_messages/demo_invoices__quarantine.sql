{{ config(enabled=project_name == 'spark_cdc', materialized='cdc_incremental') -}}

{{ spark_cdc.quarantine(of=ref('demo_invoices__changes')) }}
