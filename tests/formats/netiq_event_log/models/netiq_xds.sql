{#- The documents of one log with the rows of many vectors. Other characters replace backslashes, tabs and line
    breaks, which dbt does not write unchanged. -#}
{%- set log = source('netiq_event_log', 'xds_log') -%}
{%- set snapshot = source('netiq_event_log', 'xds_snapshot') -%}
with vectors as (
    select distinct
        try_cast(record_id as decimal(38, 0)) as record_id,
        regexp_extract(table_key, '^vector=([^+]*)', 1) as vector
    from {{ log }}
)

select
    vectors.vector,
    documents.cdc_sequence,
    translate(documents.xds, concat(chr(92), chr(9), chr(10)), '⧵⇥⏎') as xds,
    documents.reason
from (
    {{ spark_cdc.netiq_xds(
        log,
        'usr',
        ['vector', 'idu'],
        var('netiq_columns', {'vector': 'string', 'idu': 'string', 'fname': 'string'}),
        'indirect',
        snapshot=snapshot if var('netiq_has_snapshot', true) else none,
        driver_user='idm',
        as_of=var('netiq_as_of', none),
        pending_only=var('netiq_pending_only', true),
        type5=var('netiq_type5', 'modify')
    ) | indent(4) }}
) as documents
left join vectors
    on cast(right(documents.cdc_sequence, 38) as decimal(38, 0)) = vectors.record_id
