{{ config(enabled=project_name == 'spark_cdc') -}}

{{ spark_cdc.change_feed(
    ref('demo_order_lines__changes'),
    key=['order_id', 'line_no'],
    source={
        'name': 'demo',
        'schema': 'sales',
        'table': 'order_lines',
        'stream_position': {'sql': 'cdc_metadata.stream_position', 'type': 'string'}
    },
    schema=true,
    keyed=true
) }}
