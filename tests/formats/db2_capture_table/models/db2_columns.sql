{#- The columns of a table where `columns` does not name them, and which of them have before columns. -#}
{%- set cd, keys, base = source('db2_capture_table', 'cd'), source('db2_capture_table', 'keys'), source('db2_capture_table', 'items') -%}
{%- for name, relation, given in [
    ('prefix', cd, {'key': ['id']}),
    ('other prefix', cd, {'key': ['ID'], 'before_prefix': 'xx'}),
    ('no prefix', cd, {'key': ['ID'], 'before_prefix': none}),
    ('columns', cd, {'key': ['ID'], 'columns': {'name': 'string', 'id': 'bigint'}}),
    ('numbered keys', keys, {'key': ['REGION', 'NO']}),
    ('key_columns', keys, {'key': ['NO', 'REGION'], 'key_columns': ['PK2', 'pk01']}),
    ('base', keys, {'key': ['REGION', 'NO'], 'base': base}),
] %}
{{ '\nunion all\n' if not loop.first -}}
select
    '{{ name }}' as given,
    cdc_operation,
    to_json(struct(* except (
        cdc_source, cdc_operation, cdc_sequence, cdc_commit_sequence, cdc_commit_at, cdc_transaction_id, cdc_changed_columns,
        cdc_present_columns, cdc_before, cdc_metadata, cdc_batch
    )), map('ignoreNullFields', 'false')) as row_values,
    to_json(cdc_before, map('ignoreNullFields', 'false')) as before_values,
    array_join(cdc_changed_columns, ' ') as changed
from (
    {{ spark_cdc.db2_capture_table(relation, **given) | indent(4) }}
) as events_{{ loop.index }}
{%- endfor %}
