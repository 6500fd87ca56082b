{#- Full loads are whole, and not many that end each other. See _generic_tests.yml. -#}
{%- test full_loads_are_apart(model, key, minutes=10) -%}
{%- if execute and spark_cdc._test_is_untold(model) -%}
{{ spark_cdc._untold(model) }}
{%- elif execute -%}
{%- set me, example = 'full_loads_are_apart', 'full_loads_are_apart: {arguments: {key: [order_id], minutes: 10}}' -%}
{%- set key = spark_cdc._resolve_key(me, key, spark_cdc.columns_of(model) | list, example) -%}
{%- if minutes is not integer or minutes is boolean or minutes < 0 -%}
    {{ spark_cdc._stop(me, 'minutes is ' ~ minutes, 'the time between two loads, as a whole number of minutes', example) }}
{%- endif -%}
with loaded_rows as (
    select
        cdc_commit_sequence,
        cdc_commit_at,
        lead(cdc_commit_sequence) over (
            partition by {{ spark_cdc._column_list(key) }}
            order by cdc_commit_sequence
        ) as cdc_next_of_key
    from {{ model }}
    where cdc_operation = 'load' and cdc_commit_at is not null
),

loads as (
    select
        cdc_commit_sequence,
        max(cdc_commit_at) as cdc_commit_at,
        count(*) as cdc_rows
    from loaded_rows
    group by cdc_commit_sequence
),

loads_in_order as (
    select
        *,
        lead(struct(cdc_commit_sequence, cdc_commit_at)) over (order by cdc_commit_sequence) as cdc_next
    from loads
),

-- the rows of each load that the next load has too
kept_rows as (
    select
        loaded_rows.cdc_commit_sequence,
        count(*) as cdc_kept
    from loaded_rows
    inner join loads_in_order
        on
            loaded_rows.cdc_commit_sequence = loads_in_order.cdc_commit_sequence
            and loaded_rows.cdc_next_of_key = loads_in_order.cdc_next.cdc_commit_sequence
    group by loaded_rows.cdc_commit_sequence
),

truncates as (
    select distinct cdc_commit_sequence
    from {{ model }}
    where cdc_operation = 'truncate'
),

judged as (
    select
        loads_in_order.cdc_commit_sequence,
        loads_in_order.cdc_commit_at,
        cdc_rows,
        cdc_next.cdc_commit_at as cdc_next_load_at,
        coalesce(cdc_kept, 0) as cdc_rows_in_next_load,
        case
            when truncates.cdc_commit_sequence is null then 'too few rows of the load could be read, so it ended no rows'
            when
                cdc_next.cdc_commit_at <= loads_in_order.cdc_commit_at + make_dt_interval(0, 0, {{ minutes }})
                and coalesce(cdc_kept, 0) * 2 < cdc_rows
                then 'the next load follows at once and lacks most of the rows: full_load_at may differ within one load'
        end as cdc_problem
    from loads_in_order
    left join kept_rows
        on loads_in_order.cdc_commit_sequence = kept_rows.cdc_commit_sequence
    left join truncates
        on loads_in_order.cdc_commit_sequence = truncates.cdc_commit_sequence
)

select * from judged
where cdc_problem is not null
{%- endif -%}
{%- endtest -%}
