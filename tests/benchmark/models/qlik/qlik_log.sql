{{ config(materialized='cdc_incremental') }}

{{ spark_cdc.qlik_messages_log(source('landing', 'messages'), versions=ref('qlik_versions')) }}
