{#- The rows of a full load are as they were at the time of the load. See _generic_tests.yml. -#}
{%- test full_load_is_static(model, key, minutes=60) -%}
{%- if execute and spark_cdc._test_is_untold(model) -%}
{{ spark_cdc._untold(model) }}
{%- elif execute -%}
{%- set me, example = 'full_load_is_static', 'full_load_is_static: {arguments: {key: [order_id], minutes: 60}}' -%}
{%- set names, types = [], spark_cdc.columns_of(model) -%}
{%- for name in types if not (name | lower).startswith('cdc_') -%}
    {%- do names.append(name) -%}
{%- endfor -%}
{%- set key = spark_cdc._resolve_key(me, key, names, example) -%}
{%- if minutes is not integer or minutes is boolean or minutes < 0 -%}
    {{ spark_cdc._stop(me, 'minutes is ' ~ minutes, 'how long a load takes, as a whole number of minutes', example) }}
{%- endif -%}
{%- set moved, differing = [], [] -%}
{%- for name in spark_cdc._names_before(types, names) -%}
    {%- set there = 'cdc_next.before.' ~ spark_cdc._quote(name) -%}
    {%- set differs = there ~ ' is not null and not ' ~ spark_cdc._bytewise(there, types[name]) ~ ' <=> '
        ~ spark_cdc._bytewise(spark_cdc._quote(name), types[name]) -%}
    {%- do (moved if name in key else differing).append(differs) -%}
{%- endfor -%}
with followed as (
    select
        *,
        lead(
            named_struct(
                'operation', cdc_operation,
                'sequence', cdc_sequence,
                'commit_at', cdc_commit_at,
                'before', cdc_before
            )
        ) over (
            partition by {{ spark_cdc._column_list(key) }}
            order by cdc_commit_sequence, cdc_sequence
        ) as cdc_next
    from {{ model }}
    where cdc_operation <> 'truncate'
),

judged as (
    select
        {{ spark_cdc._column_list(key) }},
        cdc_commit_at,
        cdc_next.sequence as cdc_next_sequence,
        case
            when cdc_next.operation = 'insert' then 'the row was inserted after the load that has it'
            when
                cdc_next.operation = 'update'
                and (
                    {{ moved | join('\nor ') | indent(20) }}
                )
                then 'the row came to its key after the load that has it'
            {%- if differing %}
            when
                cdc_next.operation = 'update'
                and (
                    {{ differing | join('\nor ') | indent(20) }}
                )
                then 'the next change was made to another row than the loaded one'
            {%- endif %}
        end as cdc_problem
    from followed
    where
        cdc_operation = 'load'
        -- changes while the load was made may be in it
        and (
            cdc_commit_at is null
            or cdc_next.commit_at > cdc_commit_at + make_dt_interval(0, 0, {{ minutes }})
        )
)

select * from judged
where cdc_problem is not null
{%- endif -%}
{%- endtest -%}
