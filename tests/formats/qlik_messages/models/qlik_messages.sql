{#- What the decoder makes of one relation with the messages of many vectors: events and quarantine. The offset of a
    record tells its vector. A vector without a result has a row that says so. -#}
{%- set relations = {
    'messages': source('qlik_messages', 'messages'),
    'metadata': source('qlik_messages', 'metadata'),
    'messages_as_text': source('qlik_messages', 'messages_as_text'),
    'metadata_as_text': source('qlik_messages', 'metadata_as_text'),
    'messages_without_offset': source('qlik_messages', 'messages_without_offset'),
} -%}
{%- set messages = relations[var('qlik_messages', 'messages')] -%}
{%- set given = dict(
    var('qlik_given', {'key': ['ID'], 'columns': {'ID': 'int'}}),
    metadata=relations.get(var('qlik_metadata', none))
) -%}
{%- set vectors = [] -%}
{%- for vector in var('qlik_vectors', ['vector']) -%}{%- do vectors.append("'" ~ vector ~ "'") -%}{%- endfor -%}
{%- set values, old_values = [], [] -%}
{%- for name, data_type in given.columns.items() -%}
{%- for into, value in [(values, '`' ~ name ~ '`'), (old_values, 'cdc_before.`' ~ name ~ '`')] -%}
{%- set as_text = {
    'binary': 'hex(' ~ value ~ ')',
    'timestamp': 'date_format(' ~ value ~ ", \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'\")",
} -%}
{%- do into.append("'" ~ name ~ "', " ~ as_text.get(data_type, 'cast(' ~ value ~ ' as string)')) -%}
{%- endfor -%}
{%- endfor -%}
{%- set absent %}
    cast(null as string) as cdc_operation,
    cast(null as string) as cdc_sequence,
    cast(null as string) as cdc_commit_sequence,
    cast(null as timestamp) as cdc_commit_at,
    cast(null as string) as cdc_transaction_id,
    cast(null as string) as changed,
    cast(null as string) as present,
    cast(null as string) as before_values,
    cast(null as string) as row_values,
    cast(null as string) as stream_position,
    cast(null as timestamp) as changed_at,
    cast(null as bigint) as event_counter,
    cast(null as boolean) as is_last,
    cast(null as string) as schema_id,
    cast(null as bigint) as table_version,
    cast(null as string) as topic,
    cast(null as int) as partition_number,
    cast(null as bigint) as offset_number
{%- endset -%}
with found as (
    select
        coalesce(cdc_metadata.`offset`, 0) as place,
        'event' as kind,
        cast(null as string) as refused,
        cdc_operation,
        cdc_sequence,
        cdc_commit_sequence,
        cdc_commit_at,
        cdc_transaction_id,
        array_join(cdc_changed_columns, ' ') as changed,
        array_join(cdc_present_columns, ' ') as present,
        case
            when cdc_before is not null
                then to_json(
                    named_struct(
                        {{ old_values | join(',\n') | indent(24) }}
                    ),
                    map('ignoreNullFields', 'false')
                )
        end as before_values,
        to_json(
            named_struct(
                {{ values | join(',\n') | indent(16) }}
            ),
            map('ignoreNullFields', 'false')
        ) as row_values,
        cdc_metadata.stream_position,
        cdc_metadata.`timestamp` as changed_at,
        cdc_metadata.transaction_event_counter as event_counter,
        cdc_metadata.transaction_last_event as is_last,
        cdc_metadata.schema_id,
        cdc_metadata.table_version,
        cdc_metadata.topic,
        cdc_metadata.`partition` as partition_number,
        cdc_metadata.`offset` as offset_number
    from (
        {{ spark_cdc.qlik_messages(messages, **given) | indent(8) }}
    ) as events
    union all
    select
        coalesce(cast(get_json_object(raw, '$.offset') as bigint), 0) as place,
        'quarantine' as kind,
        concat_ws(' ', coalesce(cast(get_json_object(raw, '$.offset') as bigint), 0) % 1000, reason) as refused,
        {{- absent | indent(4) }}
    from (
        {{ spark_cdc.quarantine('qlik_messages', messages, **given) | indent(8) }}
    ) as unusable_rows
),

of_vectors as (
    select
        get(array({{ vectors | join(', ') }}), cast(place div 1000 as int)) as vector,
        * except (place)
    from found
    union all
    select
        explode(array({{ vectors | join(', ') }})) as vector,
        'nothing' as kind,
        cast(null as string) as refused,
        {{- absent | indent(4) }}
),

counted as (
    select
        *,
        count(*) over (partition by vector) as rows_of_vector
    from of_vectors
)

select * except (rows_of_vector)
from counted
where kind <> 'nothing' or rows_of_vector = 1
