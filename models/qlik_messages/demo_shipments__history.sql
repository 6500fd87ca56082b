{{ config(enabled=project_name == 'spark_cdc', materialized='cdc_incremental') -}}

{{ spark_cdc.history(ref('demo_shipments__changes'), key=['SHIPMENT_ID']) }}
