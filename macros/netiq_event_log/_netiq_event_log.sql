{#- The parts of the decoder of event logs: from log rows to events. -#}

{#- CTEs to `events`: one row for each event, with its log rows. -#}
{%- macro _netiq_events(spec) -%}
    {%- set known = [] -%}
    {%- for name in spec.columns -%}{%- do known.append(spark_cdc._literal(name | lower)) -%}{%- endfor -%}
    {%- set carried = ['cdc_event_type', 'cdc_status', 'cdc_perpetrator', 'cdc_column', 'cdc_new_value'] -%}
    {%- if spec.lookups.snapshot -%}{%- do carried.append('cdc_answer') -%}{%- endif -%}
{{ spark_cdc._netiq_answered(spec) }},
    {%- if spec.lookups.snapshot %}

-- P3: a query-back event is ignored once the database object no longer exists
existing as (
    select
        *,
        cdc_answer is not null and cdc_bad is null as cdc_is_answered
    from answered
),

compared as (
    select
        *,
        bool_or(cdc_is_answered and cdc_event_type in (5, 6)) over in_window as cdc_has_row,
        collect_set(case when cdc_is_answered and cdc_event_type in (7, 8) then cdc_column end)
            over in_window as cdc_fields
    from existing
    window in_window as (partition by cdc_key, cdc_object, cdc_event_time, cdc_deletes_before)
),

-- P1: an event is ignored if a query-back event is logged for the same field or object.
-- P2: a query-back row event goes before a query-back field event of the same object.
remaining as (
    select * from compared
    where
        cdc_event_type = 4
        or (cdc_event_type <= 3 and not cdc_has_row and not array_contains(cdc_fields, cdc_column))
        or (cdc_event_type in (5, 6) and cdc_is_answered)
        or (cdc_event_type in (7, 8) and cdc_is_answered and not cdc_has_row)
),
    {%- else %}

remaining as (
    select * from active
),
    {%- endif %}

{{ spark_cdc._netiq_parts(spec, carried) }},

events as (
    select
        cdc_key,
        cdc_kind = 'row' as cdc_is_row,
        case
            when cdc_kind = 'add' or exists(cdc_rows, one -> one.cdc_event_type = 5) then 'insert'
            when cdc_kind = 'delete' then 'delete'
            else 'update'
        end as cdc_operation,
        cdc_rows[0] as cdc_first,
        element_at(cdc_rows, -1) as cdc_last,
        {%- if spec.is_by_time %}
        {{ spark_cdc._time_digits('cdc_rows[0].cdc_event_time') | indent(8) }} as cdc_first_time,
        {%- endif %}
        transform(cdc_rows, one -> one.cdc_record_id) as cdc_record_ids,
        case
            when cdc_kind in ('add', 'modify') then transform(cdc_rows, one -> one.cdc_column)
        end as cdc_names,
        case
            when cdc_kind in ('add', 'modify')
                then map_from_entries(transform(cdc_rows, one -> struct(one.cdc_column, one.cdc_new_value)))
        end as cdc_values
        {%- if spec.lookups.snapshot %},
        transform(filter(cdc_rows, one -> one.cdc_event_type >= 7), one -> one.cdc_column) as cdc_asked,
        get(filter(cdc_rows, one -> one.cdc_answer is not null), 0).cdc_answer as cdc_answer
        {%- endif %}
    from parts
    -- not an update that has only undeclared columns
    where
        cdc_kind <> 'modify'
        or exists(cdc_rows, one -> one.cdc_column in ({{ known | join(', ') }}))
)
{%- endmacro -%}

{#- CTEs from `remaining` to `parts`: consecutive rows that make one event, as an array of structs with the columns
    `carried`. `group` is the key, or a finer group of rows. -#}
{%- macro _netiq_parts(spec, carried, group='cdc_key') -%}
-- consecutive rows of a key with the same object, time and kind
kinds as (
    select
        *,
        case
            when cdc_event_type in (1, 7) then 'add'
            when cdc_event_type in (2, 3, 8) then 'modify'
            when cdc_event_type = 4 then 'delete'
            else 'row'
        end as cdc_kind
    from remaining
),

begun as (
    select
        *,
        cdc_event_type = 4
        or not struct(cdc_object, cdc_event_time, cdc_kind)
        <=> lag(struct(cdc_object, cdc_event_time, cdc_kind)) over in_order as cdc_begins
    from kinds
    window in_order as (partition by {{ group }} order by {{ spark_cdc._netiq_place(spec) }})
),

numbered as (
    select
        *,
        count_if(cdc_begins) over in_order as cdc_run
    from begun
    window in_order as (
        partition by {{ group }}
        order by {{ spark_cdc._netiq_place(spec) }}
        rows unbounded preceding
    )
),

runs as (
    select
        cdc_key,
        cdc_run,
        min(cdc_kind) as cdc_kind,
        array_sort(
            collect_list(
                struct(
                    {{ spark_cdc._netiq_place(spec) }},
                    {{- '\n                    cdc_event_time,' if not spec.is_by_time }}
                    {{ carried | join(',\n') | indent(20) }}
                )
            )
        ) as cdc_rows
    from numbered
    group by {{ group }}, cdc_run
),

-- a column that occurs again begins another event
parts as (
    select
        runs.cdc_key,
        runs.cdc_kind,
        part.cdc_rows
    from runs
        lateral view explode(
            case
                when
                    runs.cdc_kind in ('add', 'modify')
                    and size(runs.cdc_rows)
                    > size(array_distinct(transform(runs.cdc_rows, one -> one.cdc_column)))
                    then {{ spark_cdc._netiq_split() | indent(20) }}
                else array(runs.cdc_rows)
            end
        ) part as cdc_rows
)
{%- endmacro -%}

{#- The rows of a run, split into arrays in which no column occurs twice. They are split in blocks: Spark copies an array to
    append to it, so one array for a run of many thousand rows would take hours. -#}
{%- macro _netiq_split() -%}
aggregate(
    transform(sequence(2, size(runs.cdc_rows), 256), first -> slice(runs.cdc_rows, first, 256)),
    named_struct('done', slice(array(runs.cdc_rows), 1, 0), 'open', slice(runs.cdc_rows, 1, 1)),
    (before, block) -> aggregate(
        block,
        named_struct('done', slice(array(runs.cdc_rows), 1, 0), 'open', before.open),
        (state, one) -> if(
            exists(state.open, other -> other.cdc_column = one.cdc_column),
            named_struct('done', array_append(state.done, state.open), 'open', array(one)),
            named_struct('done', state.done, 'open', array_append(state.open, one))
        ),
        state -> named_struct('done', concat(before.done, state.done), 'open', state.open)
    ),
    state -> array_append(state.done, state.open)
)
{%- endmacro -%}

{#- A column of an event. Keys are compared by their bytes; here they get their collation. -#}
{%- macro _netiq_event_value(spec, name) -%}
    {%- if name in spec.key -%}
        {%- set value = 'cdc_key.' ~ spark_cdc._quote(name) -%}
        {%- set is_collated = ' collate ' in spec.columns[name] | lower -%}
        {{ return(spark_cdc._typed(value, 'string', spec.columns[name]) if is_collated else value) }}
    {%- endif -%}
    {%- set literal = spark_cdc._literal(name | lower) -%}
    {%- set logged = spark_cdc._netiq_value('try_element_at(cdc_values, ' ~ literal ~ ')', spec.columns[name]) -%}
    {%- if not spec.lookups.snapshot -%}
        {{ return(logged) }}
    {%- endif -%}
case
    when cdc_is_row or array_contains(cdc_asked, {{ literal }}) then cdc_answer.{{ spark_cdc._quote(name) }}
    else {{ logged | indent(4) }}
end
{%- endmacro -%}

{#- The sequence of an event: the record id of its first row. If times order the log, the time comes before it. -#}
{%- macro _netiq_sequence(spec) -%}
    {%- set number = "lpad(cast(cdc_first.cdc_record_id as string), 38, '0')" -%}
    {%- if not spec.is_by_time -%}
        {{ return(number) }}
    {%- endif -%}
    {{ return(spark_cdc._call('concat', ['cdc_first_time', "'.'", number])) }}
{%- endmacro -%}

{#- The columns that an update changed. -#}
{%- macro _netiq_changed_columns(spec) -%}
case
    when cdc_operation = 'update' and not cdc_is_row
        then {{ spark_cdc._netiq_columns_where(spec, 'array_contains(cdc_names, lower(name))') | indent(8) }}
end
{%- endmacro -%}

{#- The columns that an event carries; NULL if it carries all of them. -#}
{%- macro _netiq_present_columns(spec) -%}
    {%- set key = [] -%}
    {%- for name in spec.key -%}{%- do key.append(spark_cdc._literal(name)) -%}{%- endfor -%}
    {%- set is_present = 'name in (' ~ key | join(', ') ~ ") or coalesce(array_contains(cdc_names, lower(name)), false)" -%}
case
    when not cdc_is_row
        then {{ spark_cdc._call('nullif', [
            spark_cdc._netiq_columns_where(spec, is_present), spark_cdc._netiq_columns_where(spec, 'true')
        ]) | indent(8) }}
end
{%- endmacro -%}

{%- macro _netiq_columns_where(spec, condition) -%}
    {%- set names = [] -%}
    {%- for name in spec.columns -%}{%- do names.append(spark_cdc._literal(name)) -%}{%- endfor -%}
filter(
    array(
        {{ names | join(',\n') | indent(8) }}
    ),
    name -> {{ condition }}
)
{%- endmacro -%}

{#- What else the log says about an event, taken from its last row. -#}
{%- macro _netiq_metadata() -%}
named_struct(
    'record_id', try_cast(cdc_last.cdc_record_id as bigint),
    'perpetrator', cdc_last.cdc_perpetrator,
    'event_time', cdc_last.cdc_event_time,
    'status', cdc_last.cdc_status
)
{%- endmacro -%}
