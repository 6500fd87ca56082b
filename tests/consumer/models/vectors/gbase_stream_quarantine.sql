{#- What of the same streams is in quarantine, and what the counts say. -#}
{%- for columns in var('gbase_shapes', [{'id': 'int', 'q': 'smallint'}]) %}
{%- set layout = {
    'relation': source('vectors', 'gbase_chunks'),
    'table_id': 7,
    'key': ['id'],
    'columns': columns,
    'types_there': {'capture_id': 'string', 'chunk_number': 'bigint', 'payload': 'binary'},
    'encoding': 'utf-8',
    'rtrim_char': false,
    'state': none,
} -%}
{{ '\nunion all\n' if not loop.first -}}
select
    get_json_object(raw, '$.capture_id') as capture_id,
    get_json_object(raw, '$.chunk_number') as chunk_number,
    reason
from (
    {{ spark_cdc._quarantine_gbase_capture(layout) | indent(4) }}
) as quarantine
where
    split(get_json_object(raw, '$.capture_id'), '/')[0] in (
        select split(capture_id, '/')[0]
        from {{ source('vectors', 'gbase_chunks') }}
        where shape = {{ loop.index0 }}
    )
{%- endfor %}
