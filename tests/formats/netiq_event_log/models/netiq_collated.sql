{#- A log and a snapshot whose texts have a collation: events, quarantine, documents, backlog. -#}
{%- set log = source('netiq_event_log', 'keys_log') -%}
{%- set given = {
    'table': 'usr', 'key': ['idu'], 'columns': {'idu': 'string collate unicode_ci', 'fname': 'string', 'qty': 'int'},
    'snapshot': source('netiq_event_log', 'xds_snapshot'),
} -%}
select
    'event' as kind,
    cast(cdc_metadata.record_id - size(cdc_changed_columns) + 1 as string) as record_id,
    concat_ws(
        ' ', cast(idu as string collate utf8_binary), coalesce(fname, 'null'), coalesce(cast(qty as string), 'null')
    ) as told
from (
    {{ spark_cdc.netiq_event_log(log, **given) | indent(4) }}
) as events
union all
select
    'quarantine' as kind,
    get_json_object(raw, '$.record_id') as record_id,
    reason as told
from (
    {{ spark_cdc.quarantine('netiq_event_log', log, **given) | indent(4) }}
) as unusable_rows
union all
select
    'document' as kind,
    ltrim('0', cdc_sequence) as record_id,
    concat_ws(
        ' ',
        regexp_extract(xds, 'idu=(.*?),', 1),
        array_join(xpath(xds, '//add-value/value/text()'), ' ')
    ) as told
from (
    {{ spark_cdc.netiq_xds(log, schema='indirect', driver_user='idm', **given) | indent(4) }}
) as documents
union all
select
    'backlog' as kind,
    cast(log_rows as string) as record_id,
    reason as told
from (
    {{ spark_cdc.netiq_backlog(log, driver_user='idm') | indent(4) }}
) as backlog
