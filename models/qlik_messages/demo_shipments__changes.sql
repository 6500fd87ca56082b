{{ config(
    enabled=project_name == 'spark_cdc',
    materialized='cdc_incremental',
    raw_watermark={'column': 'offset', 'within': ['topic', 'partition']}
) -}}

{{ spark_cdc.qlik_messages(
    ref('demo_wms__messages'),
    key=['SHIPMENT_ID'],
    columns={
        'SHIPMENT_ID': 'bigint',
        'CARRIER_ID': 'int',
        'STATUS': 'string',
        'WEIGHT': 'decimal(8, 3)',
        'SHIPPED_ON': 'date',
        'SCANNED_AT': 'timestamp',
        'EXPRESS': 'boolean',
        'LABEL': 'binary',
        'VOLUME': 'double'
    },
    table='SHIPMENTS',
    schema='WMS',
    metadata=ref('demo_wms__messages')
) }}
