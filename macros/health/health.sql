{#- One row a table: what came in, what is wrong, how late it is. See _macros.yml.

    Every part is one query over all tables, which reads the columns that it needs of each relation. So Spark plans a handful of
    shuffles, however many tables there are. -#}
{%- macro health(tables, at=none) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- do spark_cdc._check_health_is_kept() -%}
    {%- set entries = spark_cdc._health_entries(tables) -%}
    {%- for entry in entries -%}
        {%- for argument in ('changes', 'quarantine', 'counts', 'log') if argument in entry and spark_cdc._is_untold(entry[argument]) -%}
            {{ return(spark_cdc._untold(entry[argument])) }}
        {%- endfor -%}
    {%- endfor -%}
    {%- set tables = spark_cdc._health_tables(entries) -%}
    {%- set checked_at = spark_cdc._health_time(at) -%}
    {#- changes are committed while the command runs -#}
    {%- set now = 'current_timestamp()' if at is none else checked_at -%}
    {%- set facts = spark_cdc._health_facts() -%}
with tables as (
    {{ spark_cdc._health_list(tables, checked_at) | indent(4) }}
),

{{ spark_cdc._health_events(tables, now) }},

{{ spark_cdc._health_gaps(tables) }},

{{ spark_cdc._health_raw_rows(tables) }},

-- what the parts know of each table; null: not known
known as (
    select
        tables.*,
        coalesce(of_events.cdc_source, of_quarantine.cdc_source) as cdc_source,
        of_counts.raw_rows,
        of_counts.used_rows,
        of_counts.no_op_rows,
        of_counts.quarantined_rows,
        coalesce(of_events.events, 0) as events,
        coalesce(of_events.events_in_future, 0) as events_in_future,
        of_events.last_commit_at,
        of_events.last_landed_at,
        coalesce(of_events.moves_without_before_image, 0) as moves_without_before_image,
        coalesce(of_events.updates_without_key, 0) as updates_without_key,
        coalesce(of_events.events_with_unknown_columns, 0) as events_with_unknown_columns,
        coalesce(of_gaps.updates_of_unknown_keys, 0) as updates_of_unknown_keys,
        coalesce(of_gaps.inserts_over_existing_keys, 0) as inserts_over_existing_keys,
        coalesce(of_gaps.deletes_of_unknown_keys, 0) as deletes_of_unknown_keys,
        of_streams.open_transactions,
        of_logs.unread_rows,
        case
            when has_quarantine then coalesce(of_quarantine.entries, from_json('{}', 'map<string, bigint>'))
        end as quarantined_by_reason,
        case
            when has_quarantine
                then coalesce(
                    of_quarantine.examples,
                    from_json('[]', 'array<struct<reason: string, detail: string, raw: string>>')
                )
        end as examples
    from tables
    left join of_events
        on tables.table_name = of_events.table_name
    left join of_gaps
        on tables.table_name = of_gaps.table_name
    left join of_counts
        on tables.table_name = of_counts.table_name
    left join of_streams
        on tables.table_name = of_streams.table_name
    left join of_logs
        on tables.table_name = of_logs.table_name
    left join of_quarantine
        on tables.table_name = of_quarantine.table_name
)

select
    table_name,
    cdc_source,
    checked_at,
    raw_rows,
    used_rows,
    no_op_rows,
    case
        when has_counts then quarantined_rows
        when
            {{ spark_cdc._is_of(facts.one_entry_a_row) | indent(12) }}
            then aggregate(map_values(quarantined_by_reason), 0L, (total, entries) -> total + entries)
    end as quarantined_rows,
    events,
    quarantined_by_reason,
    last_commit_at,
    last_landed_at,
    -- not timestampdiff, which counts by the clock of the session's time zone
    case
        when last_commit_at <= checked_at then (unix_micros(checked_at) - unix_micros(last_commit_at)) div 1000000
        when last_commit_at is not null then 0L
    end as lag_seconds,
    events_in_future,
    case
        when has_quarantine then coalesce(try_element_at(quarantined_by_reason, '{{ facts.orphaned }}'), 0L)
    end as orphaned_before_images,
    case when has_order then updates_of_unknown_keys end as updates_of_unknown_keys,
    case when has_order then inserts_over_existing_keys end as inserts_over_existing_keys,
    case when has_order then deletes_of_unknown_keys end as deletes_of_unknown_keys,
    case
        when has_key and (moves_without_before_image > 0 or updates_without_key = 0) then moves_without_before_image
    end as moves_without_before_image,
    events_with_unknown_columns,
    open_transactions,
    unread_rows,
    case
        when
            has_quarantine
            and {{ spark_cdc._is_of(facts.waits_in_quarantine) | indent(12) }}
            then coalesce(try_element_at(quarantined_by_reason, '{{ facts.waiting }}'), 0L)
    end as waiting_rows,
    examples
from known
{%- endmacro -%}

{#- The time for which the tables are checked, as a literal. -#}
{%- macro _health_time(at) -%}
    {%- if at is none -%}
        {{ return("timestamp '" ~ run_started_at.strftime('%Y-%m-%d %H:%M:%S.%fZ') ~ "'") }}
    {%- endif -%}
    {%- set text = at.isoformat() if at is not string and at.isoformat is defined else at -%}
    {%- set time = spark_cdc._time_in_text(text) if text is string else none -%}
    {%- if time is none -%}
        {{ spark_cdc._stop(
            'health', 'at is ' ~ (at if at is defined else 'not defined'), 'a time as text, in UTC if it names no zone',
            "{{ spark_cdc.health({'orders': ref('orders__changes')}, at='2026-03-02T12:00:00Z') }}"
        ) }}
    {%- endif -%}
    {{ return(time.sql) }}
{%- endmacro -%}

{#- What the reasons in quarantine say, as the pages of the formats have it, by the `cdc_source` of the rows. A decoder of
    another package is in none of the lists: nothing is known of its quarantine but the reasons. -#}
{%- macro _health_facts() -%}
    {{ return({
        'orphaned': 'orphan_before_image',
        'waiting': 'unknown_schema',
        'one_entry_a_row': ['db2_capture_table', 'db2_log_table', 'netiq_event_log', 'qlik_change_table', 'qlik_message'],
        'waits_in_quarantine': ['db2_capture_table', 'db2_log_table', 'gbase_capture', 'qlik_change_table', 'qlik_message'],
    }) }}
{%- endmacro -%}

{#- Whether the rows are of one of these decoders. -#}
{%- macro _is_of(sources) -%}
cdc_source in (
    {%- for source in sources %}
    {{ spark_cdc._literal(source) }}{{ ',' if not loop.last }}
    {%- endfor %}
)
{%- endmacro -%}

{#- Stops for a materialization that does not keep the rows of a run: the time in them is the time of the run. -#}
{%- macro _check_health_is_kept() -%}
    {%- set materialized = model.config.materialized if model is defined and model.config is defined else none -%}
    {%- if materialized in ('view', 'ephemeral', 'cdc_incremental', 'snapshot') -%}
        {%- do spark_cdc._stop_materialized([
            'health', model.name ~ ' is ' ~ materialized ~ ', which does not keep what each run found',
            "dbt's own incremental, which adds the rows of each run; or table, which has the last run only",
            "{{ config(materialized='incremental', incremental_strategy='append') }}"
        ]) -%}
    {%- endif -%}
{%- endmacro -%}
