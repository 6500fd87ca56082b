{#- What the decoder makes of streams of tables of every shape in var('gbase_shapes'), dicts of name to type. The chunks
    of a vector are those whose capture_id begins with its name and a slash; its sequences may be those of another. -#}
{%- for columns in var('gbase_shapes', [{'id': 'int', 'q': 'smallint'}]) %}
{%- set before, after = [], [] %}
{%- for name in columns %}
{%- do before.append("'" ~ name ~ "', cast(cdc_before." ~ name ~ ' as string)') %}
{%- do after.append("'" ~ name ~ "', cast(" ~ name ~ ' as string)') %}
{%- endfor %}
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
    split(cdc_metadata.capture_id, '/')[0] as vector,
    cdc_sequence,
    cdc_operation,
    cdc_commit_sequence,
    date_format(cdc_commit_at, "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'") as commit_at,
    cdc_transaction_id,
    array_join(cdc_changed_columns, ' ') as changed,
    array_join(cdc_present_columns, ' ') as present,
    case
        when cdc_before is not null
            then to_json(
                named_struct(
                    {{ before | join(',\n') | indent(20) }}
                ),
                map('ignoreNullFields', 'false')
            )
    end as before_image,
    case
        when cdc_operation <> 'truncate'
            then to_json(
                named_struct(
                    {{ after | join(',\n') | indent(20) }}
                ),
                map('ignoreNullFields', 'false')
            )
    end as after_image
from (
    {{ spark_cdc._events_gbase_capture(layout, '') | replace(
        'partition by cdc_sequence', "partition by split(capture_id, '/')[0], cdc_sequence"
    ) | indent(4) }}
) as events
where
    split(cdc_metadata.capture_id, '/')[0] in (
        select split(capture_id, '/')[0]
        from {{ source('vectors', 'gbase_chunks') }}
        where shape = {{ loop.index0 }}
    )
{%- endfor %}
