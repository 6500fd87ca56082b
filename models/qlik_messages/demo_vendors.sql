{{ config(enabled=project_name == 'spark_cdc', materialized='cdc_incremental') -}}

{{ spark_cdc.current_state(ref('demo_vendors__changes'), key=['VENDOR_ID']) }}
