{#- The decoder's result for one log with the rows of many vectors: events and quarantine. The key of a row begins
    with its vector. A vector without a result has a row that says so. -#}
{%- set log = source('netiq_event_log', 'precedence_log') -%}
{%- set snapshot = source('netiq_event_log', 'precedence_snapshot') -%}
{%- set columns = {'vector': 'string', 'idu': 'int', 'fname': 'string', 'lname': 'string', 'qty': 'int'} -%}
{%- set values = [] -%}
{%- for name in columns -%}
{%- do values.append("'" ~ name ~ "', cast(" ~ name ~ ' as string)') -%}
{%- endfor -%}
{%- set given = {
    'table': 'usr', 'key': ['vector', 'idu'], 'columns': columns, 'snapshot': snapshot if var('netiq_has_snapshot', true) else none,
    'as_of': var('netiq_as_of', none), 'source_timezone': var('netiq_zone', 'UTC'),
} -%}
{%- set absent %}
    cast(null as string) as cdc_sequence,
    cast(null as string) as cdc_operation,
    cast(null as string) as cdc_commit_sequence,
    cast(null as timestamp) as cdc_commit_at,
    cast(null as string) as cdc_transaction_id,
    cast(null as string) as changed,
    cast(null as string) as present,
    cast(null as boolean) as has_before,
    cast(null as bigint) as record_id,
    cast(null as string) as perpetrator,
    cast(null as timestamp) as event_time,
    cast(null as string) as status,
{%- endset -%}
with found as (
    select
        vector,
        'event' as kind,
        cast(null as string) as refused,
        cdc_sequence,
        cdc_operation,
        cdc_commit_sequence,
        cdc_commit_at,
        cdc_transaction_id,
        array_join(cdc_changed_columns, ' ') as changed,
        array_join(cdc_present_columns, ' ') as present,
        cdc_before is not null as has_before,
        cdc_metadata.record_id,
        cdc_metadata.perpetrator,
        cdc_metadata.event_time,
        cdc_metadata.status,
        to_json(
            named_struct(
                {{ values | join(',\n') | indent(16) }}
            ),
            map('ignoreNullFields', 'false')
        ) as row_values
    from (
        {{ spark_cdc.netiq_event_log(log, **given) | indent(8) }}
    ) as events
    union all
    select
        regexp_extract(get_json_object(raw, '$.table_key'), '^vector=([^+]*)', 1) as vector,
        'quarantine' as kind,
        concat_ws(' ', get_json_object(raw, '$.record_id'), reason) as refused,
        {{- absent | indent(4) }}
        cast(null as string) as row_values
    from (
        {{ spark_cdc.quarantine('netiq_event_log', log, **given) | indent(8) }}
    ) as unusable_rows
    union all
    select distinct
        regexp_extract(table_key, '^vector=([^+]*)', 1) as vector,
        'nothing' as kind,
        cast(null as string) as refused,
        {{- absent | indent(4) }}
        cast(null as string) as row_values
    from {{ log }}
),

counted as (
    select
        *,
        count(*) over (partition by vector) as rows_of_vector
    from found
)

select * except (rows_of_vector)
from counted
where kind <> 'nothing' or rows_of_vector = 1
