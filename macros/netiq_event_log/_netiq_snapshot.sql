{#- Query-back: events that are answered from the snapshot of the table. -#}

{#- CTEs to `snapshot_taken`: the snapshot's row of each key, unchanged but for collations. Of several rows the greatest is
    taken. -#}
{%- macro _netiq_snapshot_taken(spec) -%}
    {%- set there, keys = {}, [] -%}
    {%- for name, column in spec.snapshot_columns.items() -%}
        {%- do there.update({name: spark_cdc._bytewise(spark_cdc._quote(column.name), column.type)}) -%}
    {%- endfor -%}
    {%- for name in spec.key -%}
        {%- set value = spark_cdc._netiq_snapshot_value(spec, name, there[name]) -%}
        {%- do keys.append(spark_cdc._literal(name) ~ ', ' ~ spark_cdc._bytewise(value, spec.columns[name])) -%}
    {%- endfor -%}
snapshot_keyed as (
    select
        named_struct(
            {{ keys | join(',\n') | indent(12) }}
        ) as cdc_key,
        named_struct(
            {%- for name, value in there.items() %}
            {{ spark_cdc._literal(name) }}, {{ value }}{{ ',' if not loop.last }}
            {%- endfor %}
        ) as cdc_there
    from {{ spec.lookups.snapshot }}
),

snapshot_taken as (
    select
        cdc_key,
        max(cdc_there) as cdc_there
    from snapshot_keyed
    where
        {%- for name in spec.key %}
        {{ 'and ' if not loop.first }}cdc_key.{{ spark_cdc._quote(name) }} is not null
        {%- endfor %}
    group by cdc_key
)
{%- endmacro -%}

{#- CTEs to `snapshot_rows`: what the snapshot has for each key, with the columns whose values are not of their type. -#}
{%- macro _netiq_snapshot(spec) -%}
    {%- set values, bad, answer = [], [], [] -%}
    {%- for name, column in spec.snapshot_columns.items() -%}
        {%- set quoted, literal = spark_cdc._quote(name), spark_cdc._literal(name) -%}
        {%- set value = spark_cdc._netiq_snapshot_value(spec, name, 'cdc_there.' ~ quoted) -%}
        {%- do values.append(literal ~ ', ' ~ value) -%}
        {%- do answer.append(literal ~ ', cdc_values.' ~ quoted) -%}
        {%- if spark_cdc._can_be_bad(column.type, spec.columns[name]) -%}
            {%- do bad.append(spark_cdc._call('if', [
                'cdc_there.' ~ quoted ~ ' is not null and cdc_values.' ~ quoted ~ ' is null',
                spark_cdc._call('named_struct', [
                    "'name', " ~ spark_cdc._literal(name | lower), "'value', " ~ spark_cdc._as_text('cdc_there.' ~ quoted, column.type)
                ]),
                'null',
            ])) -%}
        {%- endif -%}
    {%- endfor -%}
{{ spark_cdc._netiq_snapshot_taken(spec) }},

snapshot_typed as (
    select
        cdc_key,
        cdc_there,
        named_struct(
            {{ values | join(',\n') | indent(12) }}
        ) as cdc_values
    from snapshot_taken
),

snapshot_rows as (
    select
        cdc_key,
        named_struct(
            {{ answer | join(',\n') | indent(12) }},
            'cdc_bad', {% if bad -%}
            filter(
                array(
                    {{ bad | join(',\n') | indent(20) }}
                ),
                one -> one is not null
            )
            {%- else -%}
            cast(array() as array<struct<name: string, value: string>>)
            {%- endif %}
        ) as cdc_answer
    from snapshot_typed
)
{%- endmacro -%}

{%- macro _netiq_snapshot_value(spec, name, expression) -%}
    {%- set type_there = spec.snapshot_columns[name].type -%}
    {%- if spark_cdc._type_facts(type_there).family == 'text' -%}
        {{ return(spark_cdc._netiq_value(expression, spec.columns[name])) }}
    {%- endif -%}
    {{ return(spark_cdc._typed(expression, type_there, spec.columns[name])) }}
{%- endmacro -%}

{#- CTEs to `answered`: the rows, with the snapshot's answers to query-back rows that are active, and the bad values in these
    answers. -#}
{%- macro _netiq_answered(spec) -%}
{{ spark_cdc._netiq_windows(spec) }}
    {%- if spec.lookups.snapshot %},
        {%- if not spec.answers %}

{{ spark_cdc._netiq_snapshot(spec) }},
        {%- endif %}

asked as (
    select
        windowed.*,
        {{ 'answers' if spec.answers else 'snapshot_rows' }}.cdc_answer
    from windowed
    {%- if spec.answers %}
    left join {{ spec.answers }} as answers
        on
            windowed.cdc_question = answers.cdc_question
            and windowed.cdc_reason is null
            and windowed.cdc_event_type >= 5
    {%- else %}
    left join snapshot_rows
        on
            windowed.cdc_key = snapshot_rows.cdc_key
            and windowed.cdc_reason is null
            and windowed.cdc_event_type >= 5
            and not windowed.cdc_is_overtaken
    {%- endif %}
),

answered as (
    select
        *,
        case
            when cdc_event_type in (5, 6) then get(cdc_answer.cdc_bad, 0)
            when cdc_event_type in (7, 8) then get(filter(cdc_answer.cdc_bad, one -> one.name = cdc_column), 0)
        end as cdc_bad
    from asked
)
    {%- endif -%}
{%- endmacro -%}
