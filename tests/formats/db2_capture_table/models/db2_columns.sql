{#- The columns of a table without the argument `columns`, and which of them have before columns. -#}
{%- set cd, sure = source('db2_capture_table', 'cd'), source('db2_capture_table', 'sure') -%}
{%- set keys = source('db2_capture_table', 'keys') -%}
{%- set base = source('db2_capture_table', 'items') -%}
{%- for name, relation, given, there in [
    ('prefix', cd, {'key': ['id'], 'before_prefix': 'X'}, ['ID', 'NAME']),
    ('each column has one', sure, {'key': ['id']}, ['ID', 'NAME']),
    ('other prefix', cd, {'key': ['ID'], 'before_prefix': 'xx'}, ['ID', 'NAME', 'XID', 'xname']),
    ('no prefix', cd, {'key': ['ID'], 'before_prefix': none}, ['ID', 'NAME', 'XID', 'xname', 'XXNAME']),
    ('columns', cd, {'key': ['ID'], 'columns': {'name': 'string', 'id': 'bigint'}}, ['name', 'id']),
    ('columns with the prefix', cd, {'key': ['ID'], 'before_prefix': 'x', 'columns': {'ID': 'int', 'NAME': 'string', 'XID': 'int', 'XNAME': 'string'}},
     ['ID', 'NAME', 'XID', 'XNAME']),
    ('numbered keys', keys, {'key': ['REGION', 'NO']}, ['NO', 'REGION']),
    ('key_columns', keys, {'key': ['NO', 'REGION'], 'key_columns': ['PK2', 'pk01']}, ['NO', 'REGION']),
    ('base', keys, {'key': ['REGION', 'NO'], 'base': base}, ['NAME', 'REGION', 'NO']),
] -%}
{{ '\nunion all\n' if not loop.first -}}
select
    '{{ name }}' as given,
    cdc_operation,
    to_json(
        struct(`{{ there | join('`, `') }}`),
        map('ignoreNullFields', 'false')
    ) as row_values,
    to_json(cdc_before, map('ignoreNullFields', 'false')) as before_values,
    array_join(cdc_changed_columns, ' ') as changed
from (
    {{ spark_cdc.db2_capture_table(relation, **given) | indent(4) }}
) as events_{{ loop.index }}
{%- endfor %}
