{{ config(materialized='cdc_incremental') }}
{{ audit_log(source('erp', 'audit'), key=['id']) }}
