{{ config(enabled=project_name == 'spark_cdc') -}}

{{ spark_cdc.change_feed(
    ref('demo_orders__changes'),
    key=['order_id'],
    source={
        'name': 'demo',
        'schema': 'sales',
        'table': 'orders',
        'stream_position': {'sql': 'cdc_metadata.stream_position', 'type': 'string'}
    },
    schema=true,
    keyed=true
) }}
