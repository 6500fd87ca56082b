{#- The decoder's result for streams. They are in groups; the tables of a group have the columns (a dict of name to
    type) in var('gbase_groups'). A capture_id begins with the name of its vector and a slash. Several vectors may
    have events with the same sequence. So this continues from the decoder's CTEs, vector by vector: events, then
    quarantine. -#}
{%- for columns in var('gbase_groups', [{'id': 'int', 'q': 'smallint'}]) %}
{%- set before, after = [], [] %}
{%- for name in columns %}
{%- do before.append("'" ~ name ~ "', cast(cdc_before." ~ name ~ ' as string)') %}
{%- do after.append("'" ~ name ~ "', cast(cdc_row." ~ name ~ ' as string)') %}
{%- endfor %}
{%- set spec = {
    'relation': '(\n        select *\n        from ' ~ source('gbase_capture', 'gbase_chunks')
        ~ '\n        where stream_group = ' ~ loop.index0 ~ '\n    ) as chunks_of_group',
    'table_id': 7,
    'key': ['id'],
    'columns': columns,
    'raw_columns': {'capture_id': 'string', 'chunk_number': 'bigint', 'payload': 'binary'},
    'encoding': 'utf-8',
    'rtrim_char': false,
    'state': none,
} -%}
{{ '\nunion all\n' if not loop.first -}}
select *
from (
    {{ spark_cdc._gbase_items(spec) | indent(4) }},

    numbered as (
        select
            *,
            split(capture_id, '/')[0] as vector,
            row_number() over (
                partition by split(capture_id, '/')[0], cdc_sequence
                order by capture_id, chunk, chunk_offset
            ) as cdc_number
        from judged
        where
            kind = 'event'
            and not cdc_has_bad_value
    )

    select
        vector,
        cast(null as string) as refused,
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
                        {{ before | join(',\n') | indent(24) }}
                    ),
                    map('ignoreNullFields', 'false')
                )
        end as before_image,
        case
            when cdc_operation <> 'truncate'
                then to_json(
                    named_struct(
                        {{ after | join(',\n') | indent(24) }}
                    ),
                    map('ignoreNullFields', 'false')
                )
        end as after_image
    from numbered
    where cdc_number = 1
    union all
    select
        split(capture_id, '/')[0] as vector,
        concat_ws(' ', split(capture_id, '/')[1], chunk, reason) as refused,
        cast(null as string) as cdc_sequence,
        cast(null as string) as cdc_operation,
        cast(null as string) as cdc_commit_sequence,
        cast(null as string) as commit_at,
        cast(null as string) as cdc_transaction_id,
        cast(null as string) as changed,
        cast(null as string) as present,
        cast(null as string) as before_image,
        cast(null as string) as after_image
    from items
    where reason is not null
) as group_{{ loop.index }}
{%- endfor %}
