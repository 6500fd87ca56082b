{#- The parts of a publication: from log rows to what the driver would do with each. P1 to P3 are the vendor's rules of
    precedence; see docs/formats/netiq_event_log.md. -#}

{#- The spec of a publication: the spec of its table, with the driver's settings. Wrong arguments stop here. -#}
{%- macro _netiq_publication_spec(
    me, relation, table, key, columns, snapshot, layout, driver_user, allow_loopback, as_of, pending_only, source_timezone
) -%}
    {%- set spec = spark_cdc._netiq_spec(me, relation, table, key, columns, snapshot, layout, as_of, source_timezone) -%}
    {%- if pending_only is not boolean -%}
        {{ spark_cdc._stop(
            me, 'pending_only is ' ~ pending_only, 'true (rows with a status other than N are processed), or false', 'pending_only=false'
        ) }}
    {%- endif -%}
    {{ return(dict(
        spec, driver_user=spark_cdc._netiq_driver_user(me, driver_user, allow_loopback), pending_only=pending_only
    )) }}
{%- endmacro -%}

{#- The database user whose rows are loopback; none if no row is loopback. -#}
{%- macro _netiq_driver_user(me, driver_user, allow_loopback) -%}
    {%- if driver_user is not none and (driver_user is not string or not driver_user) -%}
        {{ spark_cdc._stop(
            me, 'driver_user is ' ~ ('empty' if driver_user is string else 'not defined' if driver_user is undefined else driver_user),
            'the database user of the driver, as perpetrator has it, or none', "driver_user='idm'"
        ) }}
    {%- elif allow_loopback is not boolean -%}
        {{ spark_cdc._stop(
            me, 'allow_loopback is ' ~ allow_loopback, 'true (the driver publishes its own changes too), or false', 'allow_loopback=true'
        ) }}
    {%- endif -%}
    {{ return(none if allow_loopback else driver_user) }}
{%- endmacro -%}

{#- Why the driver does not process a row, whatever else the log has. -#}
{%- macro _netiq_passed_over(spec) -%}
    {%- set reasons = [] -%}
    {%- if spec.driver_user is not none -%}
        {%- do reasons.append('when cdc_perpetrator = ' ~ spark_cdc._literal(spec.driver_user) ~ " then 'loopback'") -%}
    {%- endif -%}
    {%- if spec.is_by_time -%}
        {%- do reasons.append('when cdc_event_time > ' ~ spark_cdc._netiq_time_literal(spec.as_of) ~ " then 'waiting'") -%}
    {%- endif -%}
    {%- if spec.pending_only -%}
        {%- do reasons.append("when cdc_status <> 'N' then 'processed'") -%}
    {%- endif -%}
    {%- if not reasons -%}
        {{ return('cast(null as string)') }}
    {%- endif -%}
case
    {{ reasons | join('\n    ') }}
end
{%- endmacro -%}

{#- CTEs to `told`: the rows of the table, and whether the database row of their key is gone. -#}
{%- macro _netiq_told(spec) -%}
{{ spark_cdc._netiq_items(spec) }},

merged as (
    select * except (cdc_raws, cdc_raw_rows, cdc_reason, cdc_detail)
    from judged
    where cdc_reason is null
),
    {%- if spec.lookups.snapshot %}

{{ spark_cdc._netiq_snapshot_taken(spec) }},

-- the driver would query the table; here the snapshot takes its place
told as (
    select
        merged.*,
        {{ spark_cdc._netiq_passed_over(spec) | indent(8) }} as cdc_passed_over,
        snapshot_taken.cdc_key is null as cdc_is_gone,
        cast(null as decimal(38, 0)) as cdc_deleted_by
        {{- ',\n        snapshot_taken.cdc_there' if spec.is_spelled }}
    from merged
    left join snapshot_taken
        on
            merged.cdc_key = snapshot_taken.cdc_key
            and merged.cdc_event_type >= 5
)
    {%- else %}

-- the last row that shows whether a key exists, with any user, status and time
last_told as (
    select
        *,
        {{ spark_cdc._netiq_passed_over(spec) | indent(8) }} as cdc_passed_over,
        max(case when cdc_event_type in (1, 4, 5, 6, 7) then struct(cdc_record_id, cdc_event_type) end)
            over (partition by cdc_key) as cdc_last
    from merged
),

told as (
    select
        * except (cdc_last),
        coalesce(cdc_last.cdc_event_type = 4, false) as cdc_is_gone,
        case when cdc_last.cdc_event_type = 4 then cdc_last.cdc_record_id end as cdc_deleted_by
    from last_told
)
    {%- endif -%}
{%- endmacro -%}

{#- CTEs to `decided`: the rows of the table, with the reason if one is not published. Rows that are passed over neither
    suppress rows nor divide windows. Precedence applies within a window. In a poll, it applies among all rows of an object
    between two deletes. -#}
{%- macro _netiq_decided(spec) -%}
    {%- set scope = 'cdc_key, cdc_object, ' ~ ('cdc_event_time, ' if not spec.pending_only) ~ 'cdc_deletes_before' -%}
    {%- set place = 'struct(' ~ spark_cdc._netiq_place(spec) ~ ')' -%}
{{ spark_cdc._netiq_told(spec) }},

taken_up as (
    select
        *,
        cdc_event_type = 4 and cdc_passed_over is null as cdc_divides,
        cdc_event_type >= 5 and cdc_passed_over is null and not cdc_is_gone as cdc_asks
    from told
),

{{ spark_cdc._netiq_divided(spec, 'taken_up', 'cdc_divides') }},

query_back as (
    select
        *,
        case when cdc_asks and cdc_event_type <= 6 then {{ place }} end as cdc_place_of_row,
        case when cdc_asks and cdc_event_type >= 7 then {{ place }} end as cdc_place_of_field
    from divided
),

scoped as (
    select
        *,
        min(cdc_place_of_row) over of_object as cdc_row,
        min(cdc_place_of_field) over of_field as cdc_field
    from query_back
    window
        of_object as (partition by {{ scope }}),
        of_field as (partition by {{ scope }}, cdc_column)
),

decided as (
    select
        *,
        case
            when cdc_passed_over is not null then cdc_passed_over
            when cdc_event_type >= 5 and cdc_is_gone then 'P3'
            when cdc_event_type <= 3 and cdc_row is not null then 'P1'
            when cdc_event_type >= 7 and cdc_row is not null then 'P2'
            when cdc_event_type <= 3 and cdc_field is not null then 'P1'
        end as cdc_reason
    from scoped
)
{%- endmacro -%}

{#- The CTE `sequenced`: rows that make one event, with the parts of its sequence. -#}
{%- macro _netiq_sequenced(spec) -%}
sequenced as (
    select
        cdc_kind,
        {%- if spec.is_by_time %}
        {{ spark_cdc._time_digits('cdc_rows[0].cdc_event_time') | indent(8) }} as cdc_first_time,
        {%- endif %}
        cdc_rows[0] as cdc_first,
        cdc_rows
    from parts
)
{%- endmacro -%}
