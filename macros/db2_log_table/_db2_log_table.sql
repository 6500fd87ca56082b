{#- The parts of the decoder of log tables: from log rows to keys, and from keys to events.

    An event keeps the last answer of `base` until its key has a new row. So an increment tells new rows from rows that are
    delivered again. For a key without new rows, it takes the answer from the model. Only keys with bad values in `base` are
    in a side table: each run asks for them again. -#}

{#- OPERATION as a number: 0 insert, 1 update, 2 delete. -#}
{%- macro _db2_log_operation(spec) -%}
    {%- set column, type_there = spark_cdc._quote(spec.log.operation), spec.raw_columns[spec.log.operation] -%}
    {%- set number = spark_cdc._typed(column, type_there, 'int') -%}
    {%- if spark_cdc._type_facts(type_there).family != 'text' -%}
        {{ return(number) }}
    {%- endif -%}
case trim({{ spark_cdc._bytewise(column, type_there) }})
    when 'I' then 0
    when 'U' then 1
    when 'D' then 2
    else {{ number | indent(4) }}
end
{%- endmacro -%}

{#- A key column of the log as a value of its type. -#}
{%- macro _db2_log_key_value(spec, name) -%}
    {%- set there = spec.key_columns[name] -%}
    {{ return(spark_cdc._key_value(spark_cdc._quote(there), spec.raw_columns[there], spec.columns[name])) }}
{%- endmacro -%}

{#- CTEs to `log_rows`: each delivery, with the reason if it is refused on its own. In an increment, each new delivery occurs a
    second time, marked with cdc_is_new. -#}
{%- macro _db2_log_rows(spec) -%}
    {%- set operation, time = spark_cdc._quote(spec.log.operation), spark_cdc._quote(spec.log.time) -%}
    {%- set keys, null_keys, bad_keys, logged = [], [], [], [] -%}
    {%- for name, there in spec.key_columns.items() -%}
        {%- do keys.append(spark_cdc._literal(name) ~ ', ' ~ spark_cdc._db2_log_key_value(spec, name)) -%}
        {%- do null_keys.append(spark_cdc._quote(there) ~ ' is null') -%}
        {%- do bad_keys.append('cdc_key.' ~ spark_cdc._quote(name) ~ ' is null') -%}
    {%- endfor -%}
    {%- for there in [spec.log.operation, spec.log.time] + spec.key_columns.values() | list -%}
        {%- do logged.append(spark_cdc._as_text(spark_cdc._quote(there), spec.raw_columns[there])) -%}
    {%- endfor -%}
with {% if spec.built -%}
deliveries_read as (
    select
        *,
        false as cdc_is_new
    from {{ spec.relation }}
    {%- if spec.new_rows %}
    union all
    select
        *,
        true as cdc_is_new
    from {{ spec.new_rows }}
    {%- endif %}
),

{% endif -%}
typed_rows as (
    select
        {{ spark_cdc._db2_log_operation(spec) | indent(8) }} as cdc_operation,
        {{ spark_cdc._typed(time, spec.raw_columns[spec.log.time], 'timestamp', ['dots']) | indent(8) }} as cdc_time,
        named_struct(
            {{ keys | join(',\n') | indent(12) }}
        ) as cdc_key,
        {{ operation }} is null
        and {{ null_keys | join('\nand ') | indent(8) }} as cdc_is_information,
        {{ null_keys | join('\nor ') | indent(8) }} as cdc_has_null_key,
        {{ time }} is null as cdc_has_no_time,
        array(
            {{ logged | join(',\n') | indent(12) }}
        ) as cdc_logged,
        {{ spark_cdc._of_quarantine(spec, spark_cdc.raw_json(spec.raw_columns)) | indent(8) }} as cdc_raw
        {%- if spec.built %},
        cdc_is_new
        {%- endif %}
    from {{ 'deliveries_read' if spec.built else spec.relation }}
),

log_rows as (
    select
        *,
        case
            when cdc_is_information then null
            when coalesce(cdc_operation not between 0 and 2, true) then 'unknown_operation'
            when cdc_has_null_key then 'null_key'
            when cdc_has_no_time then 'missing_time'
            when
                not {{ spark_cdc._is_local_time('cdc_time') | indent(16) }}
                or {{ bad_keys | join('\nor ') | indent(16) }}
                then 'bad_value'
        end as cdc_reason,
        {{ spark_cdc._is_local_time('cdc_time') | indent(8) }} as cdc_is_time
    from typed_rows
)
{%- endmacro -%}

{#- CTEs to `logged_keys`, one row for each key. A log row is one number of microseconds and operation; the greatest has the
    last time. Turned numbers have the operations in reverse order, and give the other end of the rows at one time. In an
    increment, cdc_is_changed says whether the key has a row that was not read before. -#}
{%- macro _db2_log_keys(spec) -%}
used_rows as (
    select
        cdc_key,
        unix_micros(cdc_time) * 4 + cdc_operation as cdc_row_number,
        unix_micros(cdc_time) * 4 + 2 - cdc_operation as cdc_turned_number
        {%- if spec.built %},
        cdc_is_new
        {%- endif %}
    from log_rows
    where
        cdc_reason is null
        and not cdc_is_information
),

{% if spec.built -%}
distinct_rows as (
    select
        cdc_key,
        cdc_row_number,
        cdc_turned_number,
        count_if(not cdc_is_new) as cdc_raw_rows,
        count_if(cdc_is_new) = cdc_raw_rows as cdc_is_first
    from used_rows
    group by cdc_key, cdc_row_number, cdc_turned_number
),

{% endif -%}
logged_keys as (
    select
        cdc_key,
        max(cdc_row_number) as cdc_last,
        max(cdc_turned_number) as cdc_last_turned,
        min(cdc_turned_number) as cdc_first_turned,
        {%- if spec.built %}
        bool_or(cdc_is_first) as cdc_is_changed,
        {%- endif %}
        {{ 'sum(cdc_raw_rows)' if spec.built else 'count(*)' }} as cdc_raw_rows
    from {{ 'distinct_rows' if spec.built else 'used_rows' }}
    group by cdc_key
)
{%- endmacro -%}

{#- The CTE `refused`: each delivery that is refused, also if the reason is its row in `base`. -#}
{%- macro _db2_log_refused(spec) -%}
    {%- set is_asked = spark_cdc._uncertain_columns(spec) -%}
    {%- if is_asked and not spec.answers -%}
{{ spark_cdc._db2_log_bad_keys() }},
{{ '\n' }}
    {%- endif -%}
refused as (
    select
        log_rows.* except (cdc_reason),
        {%- if is_asked %}
        case when log_rows.cdc_reason is null then bad_keys.cdc_bad_base end as cdc_bad_base,
        coalesce(log_rows.cdc_reason, 'bad_value') as cdc_reason
    from log_rows
    left join {{ spec.answers ~ ' as ' if spec.answers }}bad_keys
        on log_rows.cdc_key = bad_keys.cdc_key
    where
        (
            log_rows.cdc_reason is not null
            or (bad_keys.cdc_key is not null and not log_rows.cdc_is_information)
        )
        {%- else %}
        log_rows.cdc_reason
    from log_rows
    where
        log_rows.cdc_reason is not null
        {%- endif %}
)
{%- endmacro -%}

{#- The text of `detail`: what a person needs to see with the reason. -#}
{%- macro _db2_log_detail(spec) -%}
    {%- set null_keys = [] -%}
    {%- set bad_values = [
        {'name': spec.log.time, 'type': 'timestamp', 'text': 'cdc_logged[1]', 'is_bad': 'not cdc_is_time'}
    ] -%}
    {%- for name, there in spec.key_columns.items() -%}
        {%- set logged = 'cdc_logged[' ~ (loop.index + 1) ~ ']' -%}
        {%- do null_keys.append('when ' ~ logged ~ ' is null then ' ~ spark_cdc._literal(there ~ ' is NULL')) -%}
        {%- do bad_values.append({
            'name': there, 'type': spec.columns[name], 'text': logged, 'is_bad': 'cdc_key.' ~ spark_cdc._quote(name) ~ ' is null',
        }) -%}
    {%- endfor -%}
case cdc_reason
    when 'unknown_operation' then concat('OPERATION is ', coalesce({{ spark_cdc._shown('cdc_logged[0]') }}, 'NULL'))
    when 'null_key'
        then case
            {{ null_keys | join('\n') | indent(12) }}
        end
    when 'missing_time' then 'TIME is NULL'
    {%- if spark_cdc._uncertain_columns(spec) %}
    when 'bad_value'
        then coalesce(
            cdc_bad_base,
            {{ spark_cdc._bad_value_detail(bad_values) | indent(12) }}
        )
    {%- else %}
    when 'bad_value'
        then {{ spark_cdc._bad_value_detail(bad_values) | indent(8) }}
    {%- endif %}
end
{%- endmacro -%}
