{#- What `health` reads without an order: events, counts, quarantine. -#}

{#- CTEs to `of_events`. A commit after `now`, an SQL expression, is in the future: it says nothing about how late a table is. -#}
{%- macro _health_events(tables, now) -%}
    {%- set selects = [] -%}
    {%- for one in tables -%}{%- do selects.append(spark_cdc._health_events_of(one)) -%}{%- endfor -%}
{{ spark_cdc._health_all('events', spark_cdc._health_union(selects), tables) }},

-- cdc_batch is the time of a run, where the events are of this package; a clock that went back gives it a +
of_events as (
    select
        table_name,
        max(cdc_source) as cdc_source,
        count(*) as events,
        max(case when cdc_commit_at <= {{ now }} then cdc_commit_at end) as last_commit_at,
        count_if(cdc_commit_at > {{ now }}) as events_in_future,
        max(
            case
                when cdc_batch rlike '^[0-9-]{10}T[0-9:.]+Z[+]*$'
                    then try_cast(substring_index(cdc_batch, '+', 1) as timestamp)
            end
        ) as last_landed_at,
        count_if(has_unknown_columns) as events_with_unknown_columns,
        count_if(moves_without_before_image) as moves_without_before_image,
        count_if(updates_without_key) as updates_without_key
    from events
    group by table_name
)
{%- endmacro -%}

{#- A CTE over all tables. If they are many, it is not deterministic: then Spark computes it once, and shuffles it. Otherwise Spark
    plans and reads it again for each CTE that uses it. For hundreds of tables that takes minutes; for a few large ones it is
    faster. -#}
{%- macro _health_all(name, select, tables) -%}
{{ name }} as (
    {%- if spark_cdc._are_many(tables) %}
    select *
    from (
        {{ select | indent(8) }}
    ) as {{ name }}_of_tables
    where rand() >= 0
    {%- else %}
    {{ select | indent(4) }}
    {%- endif %}
)
{%- endmacro -%}

{#- The events of one table. An update without a before image moves its row if the source says that the key changed. Without
    that either, nobody knows. -#}
{%- macro _health_events_of(one) -%}
    {%- set key, changed, unknown = one.table.key if one.table else [], [], [] -%}
    {%- for name in key -%}
        {%- set is_unknown = 'cdc_before is null' if one.table.null_keys else 'cdc_before.' ~ spark_cdc._quote(name) ~ ' is null' -%}
        {%- do unknown.append(is_unknown) if is_unknown not in unknown -%}
        {%- do changed.append(
            '(exists(cdc_changed_columns, changed -> lower(changed) = ' ~ spark_cdc._literal(name | lower) ~ ') and ' ~ is_unknown ~ ')'
        ) -%}
    {%- endfor -%}
select
    {{ spark_cdc._literal(one.name) }} as table_name,
    cdc_source,
    cdc_commit_at,
    {{ 'cdc_batch' if one.has_batch else 'cast(null as string) as cdc_batch' }},
    {{ spark_cdc._health_keys(one) | indent(4) }},
    cdc_operation <> 'delete' and cdc_present_columns is not null as has_unknown_columns,
    {%- if key %}
    cdc_operation = 'update' and (
        {{ changed | join('\nor ') | indent(8) }}
    ) as moves_without_before_image,
    cdc_operation = 'update' and cdc_changed_columns is null and (
        {{ unknown | join('\nor ') | indent(8) }}
    ) as updates_without_key
    {%- else %}
    false as moves_without_before_image,
    false as updates_without_key
    {%- endif %}
from {{ one.changes }}
{%- endmacro -%}

{#- CTEs to `of_counts`, `of_streams`, `of_logs` and `of_quarantine`. -#}
{%- macro _health_raw_rows(tables) -%}
    {%- set counts, streams, logs, quarantines = [], [], [], [] -%}
    {%- for one in tables -%}
        {%- set name = spark_cdc._literal(one.name) -%}
        {%- if one.counts -%}
            {%- do counts.append(
                'select\n    ' ~ name ~ ' as table_name,\n    raw_rows,\n    used_rows,\n    no_op_rows,\n    quarantined_rows\nfrom '
                ~ one.counts
            ) -%}
        {%- endif -%}
        {%- if one.open_transactions -%}
            {%- do streams.append(
                'select\n    ' ~ name ~ ' as table_name,\n    open_transactions\nfrom (\n    '
                ~ one.open_transactions | trim | indent(4) ~ '\n) as open_records'
            ) -%}
        {%- endif -%}
        {%- if one.unread -%}
            {%- do logs.append(
                'select\n    ' ~ name ~ ' as table_name,\n    coalesce(sum(cdc_landed - cdc_read), 0) as unread_rows\nfrom (\n    '
                ~ one.unread | trim | indent(4) ~ '\n) as unread'
            ) -%}
        {%- endif -%}
        {%- if one.quarantine -%}
            {%- do quarantines.append(
                'select\n    ' ~ name ~ ' as table_name,\n    cdc_source,\n    reason,\n    detail,\n    raw\nfrom ' ~ one.quarantine
            ) -%}
        {%- endif -%}
    {%- endfor -%}
of_counts as (
    {{ spark_cdc._health_union(counts, {
        'table_name': 'string',
        'raw_rows': 'bigint',
        'used_rows': 'bigint',
        'no_op_rows': 'bigint',
        'quarantined_rows': 'bigint',
    }) | indent(4) }}
),

of_streams as (
    {{ spark_cdc._health_union(streams, {'table_name': 'string', 'open_transactions': 'bigint'}) | indent(4) }}
),

of_logs as (
    {{ spark_cdc._health_union(logs, {'table_name': 'string', 'unread_rows': 'bigint'}) | indent(4) }}
),

{{ spark_cdc._health_all('quarantined', spark_cdc._health_union(quarantines, {
    'table_name': 'string',
    'cdc_source': 'string',
    'reason': 'string',
    'detail': 'string',
    'raw': 'string',
}), tables) }},

reasons as (
    select
        table_name,
        reason,
        max(cdc_source) as cdc_source,
        count(*) as entries
    from quarantined
    group by table_name, reason
),

-- Spark keeps only the first three of each part of the rows
examples as (
    select *
    from (
        select
            *,
            row_number() over (
                partition by table_name, reason
                order by detail, raw
            ) as place
        from quarantined
    ) as places
    where place <= 3
),

examples_of_tables as (
    select
        table_name,
        array_sort(collect_list(struct(reason, detail, left(make_valid_utf8(raw), {{ spark_cdc._health_raw_length() }}) as raw))) as examples
    from examples
    group by table_name
),

of_quarantine as (
    select
        reasons.table_name,
        max(reasons.cdc_source) as cdc_source,
        map_from_entries(array_sort(collect_list(struct(reasons.reason, reasons.entries)))) as entries,
        any_value(examples_of_tables.examples) as examples
    from reasons
    inner join examples_of_tables
        on reasons.table_name = examples_of_tables.table_name
    group by reasons.table_name
)
{%- endmacro -%}

{#- The number of characters of a raw row in an example. -#}
{%- macro _health_raw_length() -%}
    {{ return(2000) }}
{%- endmacro -%}
