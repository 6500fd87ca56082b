{{ config(enabled=project_name == 'spark_cdc') -}}

{{ spark_cdc.change_feed(
    ref('demo_shipments__changes'),
    key=['SHIPMENT_ID'],
    source={'name': 'demo', 'schema': 'WMS', 'table': 'SHIPMENTS'},
    schema=true,
    keyed=true
) }}
