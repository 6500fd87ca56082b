{#- The rows of a full load are as they were at the time of the load. See _generic_tests.yml. -#}
{%- test full_load_is_static(model, key, minutes=60, null_keys=false) -%}
{%- if execute and spark_cdc._test_is_untold(model) -%}
{{ spark_cdc._untold(model) }}
{%- elif execute -%}
{%- set me, example = 'full_load_is_static', 'full_load_is_static: {arguments: {key: [order_id], minutes: 60}}' -%}
{%- set names, types = [], spark_cdc.columns_of(model) -%}
{%- for name in types if not (name | lower).startswith('cdc_') -%}
    {%- do names.append(name) -%}
{%- endfor -%}
{%- set key = spark_cdc._resolve_key(me, key, names, example) -%}
{%- do spark_cdc._check_null_keys(me, null_keys) -%}
{%- if minutes is not integer or minutes is boolean or minutes < 0 -%}
    {{ spark_cdc._stop(me, 'minutes is ' ~ minutes, 'how long a load takes, as a whole number of minutes', example) }}
{%- endif -%}
{%- set table, named, differing = {'key': key, 'null_keys': null_keys}, [], [] -%}
{%- for name in key -%}
    {%- do named.append(spark_cdc._named_key(table, name) ~ ' as ' ~ spark_cdc._quote(name)) -%}
{%- endfor -%}
{%- for name in spark_cdc._names_before(types, names) if name not in key -%}
    {%- set before, loaded = 'cdc_next.first.before.' ~ spark_cdc._quote(name), 'cdc_first.row.' ~ spark_cdc._quote(name) -%}
    {%- do differing.append(
        before ~ ' is not null and not ' ~ spark_cdc._bytewise(before, types[name]) ~ ' <=> ' ~ spark_cdc._bytewise(loaded, types[name])
        ~ '\nand (cdc_first.present is null or exists(cdc_first.present, name -> lower(name) = ' ~ spark_cdc._literal(name | lower) ~ '))'
    ) -%}
{%- endfor -%}
{%- set row = spark_cdc._struct(names | reject('in', key) | list or key) -%}
with events as (
    select
        *,
        {{ spark_cdc._is_move(table) | indent(8) }} as cdc_moved
    from {{ model }}
),

-- each event, for the key where it arrives and for the key that it leaves
effects as (
    select
        {{ named | join(',\n') | indent(8) }},
        cdc_commit_sequence,
        cdc_commit_at,
        cdc_sequence,
        cdc_operation,
        {{ row | indent(8) }} as cdc_row,
        cdc_before,
        cdc_present_columns,
        case
            when cdc_leaves or cdc_operation = 'delete' then -1
            when cdc_moved or cdc_operation = 'insert' then 1
            else 0
        end as cdc_row_delta
    from events
        lateral view explode(case when cdc_moved then array(false, true) else array(false) end) sides as cdc_leaves
    where cdc_operation <> 'truncate'
),

-- one row for each key and transaction: its first event, and what all of them add to the count of the key
transactions as (
    select
        {{ spark_cdc._column_list(key) }},
        cdc_commit_sequence,
        max(cdc_commit_at) as cdc_commit_at,
        sum(cdc_row_delta) as cdc_row_delta,
        min_by(
            named_struct(
                'operation', cdc_operation,
                'sequence', cdc_sequence,
                'row_delta', cdc_row_delta,
                'row', cdc_row,
                'before', cdc_before,
                'present', cdc_present_columns
            ),
            cdc_sequence
        ) as cdc_first
    from effects
    group by {{ spark_cdc._column_list(key) }}, cdc_commit_sequence
),

followed as (
    select
        *,
        lead(
            named_struct(
                'commit_sequence', cdc_commit_sequence,
                'commit_at', cdc_commit_at,
                'row_delta', cdc_row_delta,
                'first', cdc_first
            )
        ) over (
            partition by {{ spark_cdc._column_list(key) }}
            order by cdc_commit_sequence
        ) as cdc_next
    from transactions
),

-- the loads, and the first truncate after each: with it every row of the load has ended
load_commits as (
    select
        cdc_commit_sequence,
        bool_or(cdc_operation = 'truncate') as cdc_is_truncate
    from events
    where cdc_operation in ('load', 'truncate')
    group by cdc_commit_sequence
),

loads as (
    select
        cdc_commit_sequence,
        min(case when cdc_is_truncate then cdc_commit_sequence end) over (
            order by cdc_commit_sequence
            rows between 1 following and unbounded following
        ) as cdc_truncate
    from load_commits
),

judged as (
    select
        {{ spark_cdc._column_list(key, 'followed.') }},
        followed.cdc_commit_at,
        cdc_next.first.sequence as cdc_next_sequence,
        case
            when cdc_next.row_delta > 0 and cdc_next.first.operation = 'insert'
                then 'the row was inserted after the load that has it'
            when cdc_next.row_delta > 0 then 'the row came to its key after the load that has it'
            {%- if differing %}
            when
                cdc_next.first.operation = 'update'
                and cdc_next.first.row_delta <= 0
                and (
                    {{ differing | join('\nor ') | indent(20) }}
                )
                then 'the next change was made to another row than the loaded one'
            {%- endif %}
        end as cdc_problem
    from followed
    inner join loads
        on followed.cdc_commit_sequence = loads.cdc_commit_sequence
    where
        cdc_first.operation = 'load'
        and (loads.cdc_truncate is null or cdc_next.commit_sequence < loads.cdc_truncate)
        -- changes while the load was made may be in it
        and (
            followed.cdc_commit_at is null
            or cdc_next.commit_at > followed.cdc_commit_at + make_dt_interval(0, 0, {{ minutes }})
        )
)

select * from judged
where cdc_problem is not null
{%- endif -%}
{%- endtest -%}
