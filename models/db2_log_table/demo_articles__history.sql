{{ config(enabled=project_name == 'spark_cdc', materialized='cdc_incremental') -}}

{{ spark_cdc.history(ref('demo_articles__changes'), key=['article', 'language']) }}
