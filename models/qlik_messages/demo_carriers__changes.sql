{{ config(enabled=project_name == 'spark_cdc', materialized='cdc_incremental') -}}

{{ spark_cdc.qlik_messages(
    ref('demo_wms__messages'),
    key=['CARRIER_ID'],
    columns={'CARRIER_ID': 'int', 'NAME': 'string', 'RATE': 'decimal(6, 2)'},
    table='CARRIERS',
    schema='WMS',
    metadata=ref('demo_wms__messages')
) }}
