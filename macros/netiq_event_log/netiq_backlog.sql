{#- What an event log holds for each table: what waits to be published, and since when. See _macros.yml for the arguments.
    -#}
{%- macro netiq_backlog(
    relation, layout=none, driver_user=none, allow_loopback=false, as_of=none, source_timezone=none
) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- if spark_cdc._is_untold(relation) -%}{{ return(spark_cdc._untold(relation)) }}{%- endif -%}
    {%- set me = 'netiq_backlog' -%}
    {%- do spark_cdc._check_not_incremental(me) -%}
    {%- set in_relation = spark_cdc._raw_columns_in(relation) -%}
    {%- set zone = spark_cdc._source_timezone(me, source_timezone, 'event_time') -%}
    {{ return(spark_cdc._netiq_backlog({
        'relation': relation,
        'raw_columns': in_relation,
        'key': [],
        'layout': spark_cdc._netiq_layout(me, relation, in_relation, layout),
        'driver_user': spark_cdc._netiq_driver_user(me, driver_user, allow_loopback),
        'pending_only': true,
        'is_by_time': as_of is not none,
        'as_of': spark_cdc._netiq_as_of(me, as_of, zone) if as_of is not none else none,
    })) }}
{%- endmacro -%}

{#- The select. As in the decoder, rows of one table with one record id are one row. Rows that disagree are counted one by
    one. -#}
{%- macro _netiq_backlog(spec) -%}
with raw as (
    select
        {{ spark_cdc._netiq_raw_columns(spec) | indent(8) }}
    from {{ spec.relation }}
),

parsed as (
    select
        raw.*,
        {{ spark_cdc._netiq_key_parts('raw.cdc_object') | indent(8) }} as cdc_key_parts
    from raw
),

judged_alone as (
    select
        *,
        {{ spark_cdc._netiq_reason(spec) | indent(8) }} as cdc_reason
    from parsed
),

records as (
    select
        cdc_table,
        coalesce(max(nullif(cdc_status, 'N')), 'N') as cdc_status,
        min({{ spark_cdc._netiq_content(spec) | indent(8) }}) as cdc_least,
        max({{ spark_cdc._netiq_content(spec) | indent(8) }}) as cdc_greatest,
        collect_list(struct(cdc_status, cdc_event_time)) as cdc_deliveries
    from judged_alone
    where cdc_reason is null
    group by cdc_table, cdc_record_id
),

well_formed as (
    select
        cdc_table,
        cdc_status,
        cdc_least.cdc_event_time,
        cdc_least.cdc_perpetrator
    from records
    where cdc_least <=> cdc_greatest
),

log_rows as (
    select
        cdc_table,
        cdc_status,
        {{ spark_cdc._netiq_passed_over(spec) | indent(8) }} as cdc_reason,
        cdc_event_time
    from well_formed
    union all
    select
        records.cdc_table,
        delivery.cdc_status,
        'sequence_conflict' as cdc_reason,
        delivery.cdc_event_time
    from records
        lateral view explode(records.cdc_deliveries) deliveries as delivery
    where not records.cdc_least <=> records.cdc_greatest
    union all
    select
        cdc_table,
        cdc_status,
        cdc_reason,
        case
            when cdc_event_time between timestamp '0001-01-01 00:00:00Z' and timestamp '9999-12-31 23:59:59.999999Z'
                then cdc_event_time
        end as cdc_event_time
    from judged_alone
    where cdc_reason is not null
)

select
    nullif(cdc_table, '') as {{ spark_cdc._quote('table_name') }},
    cdc_status as status,
    cdc_reason as reason,
    count(*) as log_rows,
    min(cdc_event_time) as oldest_event_time,
    max(cdc_event_time) as newest_event_time
from log_rows
group by nullif(cdc_table, ''), cdc_status, cdc_reason
{%- endmacro -%}
