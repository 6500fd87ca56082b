{#- Complex keys: transactions that add and remove rows of a key, events without the whole row, and truncates. -#}

{#- The transactions that make a key complex (see _versions), with the columns by which effects are grouped. Such a
    transaction both adds and removes the row of the key, does not carry the whole row, or has an effect that is
    `truncated`. -#}
{%- macro _complex_transactions(table, effects, truncated) -%}
    {%- set group = spark_cdc._column_list(spark_cdc._effect_group(table)) -%}
select {{ group }}
from {{ effects }}
where cdc_row_delta <> 0 or cdc_after.cdc_present_columns is not null or {{ truncated }}
group by {{ group }}, xxhash64(cdc_commit_sequence)
having
    (max(cdc_row_delta) > 0 and min(cdc_row_delta) < 0)
    or count(cdc_after.cdc_present_columns) > 0
    or count_if({{ truncated }}) > 0
{%- endmacro -%}

{#- CTEs to `counted`: how often a key is there before and after each effect (rule 4). -#}
{%- macro _complex_counts(windows) -%}
    {%- set row_window, transaction_window, so_far, before = windows.row, windows.transaction, windows.so_far, windows.before -%}
summed as (
    select
        *,
        sum(cdc_row_delta) over (
            {{ transaction_window | indent(12) }}
            {{ so_far }}
        ) as cdc_sum
    from complex_effects
),

listed as (
    select
        *,
        (select cdc_list from truncates) as cdc_truncate_list
    from summed
),

-- The number of truncates before this event, before its transaction, and before the next transaction. A truncate
-- sets every count to 0: it subtracts a huge number, after which the count is at least 0 again (rule 6).
effects_with_truncates as (
    select
        * except (cdc_truncate_list),
        case
            when (select size(cdc_list) > 0 from truncates)
                then {{ spark_cdc._count_truncates('cdc_truncate_list') | indent(16) }}
            else named_struct('here', 0, 'before_transaction', 0, 'after_transaction', 0)
        end as cdc_truncates
    from listed
),

gapped as (
    select
        * except (cdc_sum, cdc_truncates),
        cdc_sum
        - cast(1000000000000 as bigint) * (cdc_truncates.here - cdc_truncates.before_transaction) as cdc_sum,
        cdc_sum
        - cast(1000000000000 as bigint)
        * (cdc_truncates.after_transaction - cdc_truncates.before_transaction) as cdc_sum_at_end,
        cdc_truncates.here as cdc_truncates_here,
        cdc_truncates.before_transaction as cdc_truncates_before,
        cdc_truncates.after_transaction as cdc_truncates_after
    from effects_with_truncates
),

-- The count after an event is cdc_sum + greatest(count before the transaction, cdc_high). This is the closed form
-- of adding step by step with a floor under each step.
bounded as (
    select
        *,
        max(if(cdc_row_delta >= 0, 1, 0) - cdc_sum) over (
            {{ transaction_window | indent(12) }}
            {{ so_far }}
        ) as cdc_high,
        max(if(cdc_row_delta >= 0, 1, 0) - cdc_sum) over (
            {{ transaction_window | indent(12) }}
            {{ before }}
        ) as cdc_high_before,
        lead(cdc_sequence) over (
            {{ transaction_window | indent(12) }}
        ) is null as cdc_is_last_of_transaction
    from gapped
),

-- The result of a transaction if the key did not exist before it, and if it did.
outcomes as (
    select
        *,
        cdc_sum_at_end + greatest(0, cdc_high) >= 1 as cdc_exists_if_new,
        cdc_sum_at_end + greatest(1, cdc_high) >= 1 as cdc_exists_if_known
    from bounded
),

-- … and if both are the same, the result whatever the transaction found.
settled as (
    select
        * except (cdc_exists_if_new, cdc_exists_if_known),
        case
            when cdc_is_last_of_transaction and cdc_exists_if_new = cdc_exists_if_known
                then struct(cdc_exists_if_new as cdc_exists, cdc_truncates_after as cdc_truncates)
        end as cdc_outcome
    from outcomes
),

found as (
    select
        *,
        last_value(cdc_outcome, true) over (
            {{ row_window | indent(12) }}
            {{ before }}
        ) as cdc_last_outcome
    from settled
),

counts as (
    select
        * except (cdc_last_outcome),
        -- after a truncate between the transactions the key does not exist
        case
            when cdc_last_outcome.cdc_exists and cdc_last_outcome.cdc_truncates = cdc_truncates_before then 1
            else 0
        end as cdc_found
    from found
),

counted as (
    select
        * except (cdc_found),
        -- here, not where effects are shuffled: because of a lambda Spark does not compile a step with its
        -- neighbours
        transform(cdc_after.cdc_present_columns, name -> lower(name)) as cdc_present_columns,
        cdc_found = 1 as cdc_existed,
        greatest(0, cdc_sum - cdc_row_delta + greatest(cdc_found, cdc_high_before)) >= 1 as cdc_exists_before,
        cdc_exists_before or (cdc_operation = 'load' and cdc_existed) as cdc_keeps,
        cdc_sum + greatest(cdc_found, cdc_high) >= 1 as cdc_exists_after
    from counts
)
{%- endmacro -%}

{#- Three numbers of truncates in the sorted array `list`, as a struct: at or before the event, before its transaction, and
    at or before the end of its transaction. It is found by halving, so a table that is truncated every day costs no more: up
    to 2^24 truncates in 25 steps. -#}
{%- macro _count_truncates(list) -%}
    {%- set counts = {
        'here': '(
                candidate.cdc_commit_sequence,
                candidate.cdc_sequence
            ) <= (cdc_commit_sequence, cdc_sequence)',
        'before_transaction': 'candidate.cdc_commit_sequence
            < cdc_commit_sequence',
        'after_transaction': 'candidate.cdc_commit_sequence
            <= cdc_commit_sequence',
    } -%}
aggregate(
    transform(sequence(0, 24), exponent -> shiftright(16777216, exponent)),
    named_struct(
        'here', 0,
        'before_transaction', 0,
        'after_transaction', 0,
        'list', {{ list }}
    ),
    (found, step) -> named_struct(
        {%- for count, condition in counts.items() %}
        {%- set candidate = 'try_element_at(found.list, found.' ~ count ~ ' + step)' %}
        '{{ count }}', found.{{ count }} + if(
            {{ candidate }} is not null
            and {{ condition | replace('candidate', candidate) }},
            step,
            0
        ),
        {%- endfor %}
        'list', found.list
    ),
    found -> named_struct(
        {%- for count in counts %}
        '{{ count }}', found.{{ count }}{{ ',' if not loop.last }}
        {%- endfor %}
    )
)
{%- endmacro -%}
