{{ config(materialized='cdc_incremental') }}
{{ consumer.audit_log(source('erp', 'audit'), key=['id']) }}
