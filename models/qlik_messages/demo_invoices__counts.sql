{{ config(enabled=project_name == 'spark_cdc', materialized='view') -}}

{{ spark_cdc.raw_counts(of=ref('demo_invoices__changes')) }}
