{#- The publication of one log with the rows of many vectors, in a poll and for the whole log. -#}
{%- set log = source('netiq_event_log', 'precedence_log') -%}
{%- set snapshot = source('netiq_event_log', 'precedence_snapshot') -%}
with vectors as (
    select distinct
        try_cast(record_id as decimal(38, 0)) as record_id,
        regexp_extract(table_key, '^vector=([^+]*)', 1) as vector
    from {{ log }}
),

published as (
    {%- for is_pending in (false, true) %}
    {{- '\n    union all' if not loop.first }}
    select
        {{ is_pending | lower }} as is_pending,
        publication_{{ loop.index }}.*
    from (
        {{ spark_cdc.netiq_publication(
            log,
            'usr',
            ['vector', 'idu'],
            {'vector': 'string', 'idu': 'int', 'fname': 'string', 'lname': 'string', 'qty': 'int'},
            snapshot=snapshot if var('netiq_has_snapshot', true) else none,
            driver_user='idm',
            as_of=var('netiq_as_of', none),
            pending_only=is_pending,
            source_timezone=var('netiq_zone', 'UTC')
        ) | indent(8) }}
    ) as publication_{{ loop.index }}
    {%- endfor %}
)

select
    vectors.vector,
    published.*
from published
left join vectors
    on cast(published.record_id as decimal(38, 0)) = vectors.record_id
