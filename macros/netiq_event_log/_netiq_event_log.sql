{#- The parts of the decoder of event logs: what becomes of log rows. -#}

{#- CTEs to `settled`: the rows that are not refused on their own, with the reason if they are in no event.
    Then CTEs to `events`, except for quarantine: one row for each event, with its log rows. -#}
{%- macro _netiq_events(spec) -%}
    {%- set known = [] -%}
    {%- for name in spec.columns -%}{%- do known.append(spark_cdc._literal(name | lower)) -%}{%- endfor -%}
    {%- set carried = ['cdc_event_type', 'cdc_status', 'cdc_perpetrator', 'cdc_column', 'cdc_new_value', 'cdc_raw_rows'] -%}
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

compared_windows as (
    select
        *,
        bool_or(cdc_is_answered and cdc_event_type in (5, 6)) over in_window as cdc_has_row,
        collect_set(case when cdc_is_answered and cdc_event_type in (7, 8) then cdc_column end)
            over in_window as cdc_fields
    from existing
    window in_window as (partition by cdc_key, cdc_object, cdc_event_time, cdc_deletes_before, cdc_reason)
),

-- P1: an event is ignored if a query-back event is logged for the same field or object.
-- P2: a query-back row event goes before a query-back field event of the same object.
settled as (
    select
        * except (cdc_reason),
        case
            when cdc_reason is not null then cdc_reason
            when cdc_bad is not null then 'bad_value'
            when cdc_event_type = 4 then null
            when cdc_event_type <= 3 and not cdc_has_row and not array_contains(cdc_fields, cdc_column) then null
            when cdc_event_type in (5, 6) and cdc_is_answered then null
            when cdc_event_type in (7, 8) and cdc_is_answered and not cdc_has_row then null
            else 'precedence'
        end as cdc_reason
    from compared_windows
)
    {%- else %}

settled as (
    select * from active
)
    {%- endif %}
    {%- if spec.builds != 'quarantine' %},

remaining as (
    select * from settled
    where cdc_reason is null
),

{{ spark_cdc._netiq_parts(spec, carried) }},

-- an update that has only undeclared columns is no event
events as (
    select
        {%- if spec.builds == 'events' %}
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
        case
            when cdc_kind in ('add', 'modify') then transform(cdc_rows, one -> one.cdc_column)
        end as cdc_names,
        case
            when cdc_kind in ('add', 'modify')
                then map_from_entries(transform(cdc_rows, one -> struct(one.cdc_column, one.cdc_new_value)))
        end as cdc_values,
        {%- if spec.lookups.snapshot %}
        transform(filter(cdc_rows, one -> one.cdc_event_type >= 7), one -> one.cdc_column) as cdc_asked,
        get(filter(cdc_rows, one -> one.cdc_answer is not null), 0).cdc_answer as cdc_answer,
        {%- endif %}
        {%- endif %}
        if(
            cdc_kind <> 'modify' or exists(cdc_rows, one -> one.cdc_column in ({{ known | join(', ') }})),
            'event',
            'no_op'
        ) as cdc_outcome,
        aggregate(cdc_rows, 0L, (total, one) -> total + one.cdc_raw_rows) as cdc_raw_rows
    from parts
)
    {%- endif %}
{%- endmacro -%}

{#- The rows of `settled` that are in no event, after the events. A refused row has its raw rows, one by one. -#}
{%- macro _netiq_and_settled(spec) -%}
    {%- set is_shown = spec.builds == 'quarantine' -%}
    {%- set detail -%}
case cdc_reason
    when 'no_snapshot' then concat('event_type is ', cdc_event_type, ', whose values only a snapshot has')
    {%- if spec.lookups.snapshot %}
    when 'bad_value'
        then concat(
            cdc_bad.name,
            ': \'',
            {{ spark_cdc._shown('cdc_bad.value') }},
            '\' in the snapshot is no ',
            {{ spark_cdc._netiq_type_of(spec, 'cdc_bad.name') | indent(12) }}
        )
    {%- endif %}
end
    {%- endset -%}
{{ spark_cdc._and_outcomes(spec, {
    'cdc_kind': "if(cdc_reason in ('waiting', 'precedence'), 'no_op', 'refused')",
    'cdc_reason': 'cdc_reason',
    'cdc_detail': spark_cdc._of_quarantine(spec, detail),
    'cdc_raw': spark_cdc._of_quarantine(spec, spark_cdc._raw_row_as_json('cdc_raw')),
    'cdc_raw_rows': '1L' if is_shown else 'cdc_raw_rows',
}, 'settled' ~ ('\n    lateral view explode(cdc_raws) raw_rows as cdc_raw' if is_shown), 'cdc_reason is not null') }}
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
