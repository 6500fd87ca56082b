{#- Moves and deletes after which the key still has a row: within one transaction another row arrived there before. -#}

{#- CTEs that end in `departures_that_leave_a_row`: the sequences of these events. Keys are counted as for current state (rule
    4). They read the keys alone, and only the keys with a transaction that both adds and removes rows are counted. -#}
{%- macro _feed_departures(spec) -%}
    {%- set table, same_key = spec.key_table, [] -%}
    {%- set group = spark_cdc._effect_group(table) -%}
    {%- for name in group -%}
        {%- do same_key.append('effects.' ~ spark_cdc._quote(name) ~ ' <=> complex_keys.' ~ spark_cdc._quote(name)) -%}
    {%- endfor -%}
{{ spark_cdc._effects(spec.relation, table) }},

truncates as (
    select
        array_sort(
            collect_list(struct(cdc_commit_sequence, cdc_sequence, cdc_commit_at, cdc_operation))
        ) as cdc_list
    from changes
    where cdc_operation = 'truncate'
),

-- keys with a transaction that both adds and removes rows
complex_keys as (
    select distinct {{ spark_cdc._column_list(group) }}
    from (
        select {{ spark_cdc._column_list(group) }}
        from effects
        where cdc_row_delta <> 0
        group by {{ spark_cdc._column_list(group) }}, cdc_commit_sequence
        having max(cdc_row_delta) > 0 and min(cdc_row_delta) < 0
    ) as complex_transactions
),

complex_effects as (
    select effects.*
    from effects
    left semi join complex_keys
        on {{ same_key | join(' and ') }}
),

{{ spark_cdc._complex_counts(spark_cdc._effect_windows(table)) }},

departures_that_leave_a_row as (
    select cdc_sequence
    from counted
    where cdc_row_delta < 0 and cdc_exists_after
)
{%- endmacro -%}
