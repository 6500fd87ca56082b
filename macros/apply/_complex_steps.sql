{#- The rows and the steps of complex keys. -#}

{#- CTEs to `effects_with_outcome`: the whole row after each effect, and whether it sets a value. -#}
{%- macro _complex_rows(table, windows) -%}
    {%- set attributes, row_window, so_far = table.attributes or table.key, windows.row, windows.so_far -%}
-- The value that an event gives each column: a struct, or null if the column keeps its value. A column that the
-- event does not carry keeps its value, and is null if the row has just arrived at the key (rule 10). A row of a
-- full load has not just arrived if the key was there before the load's own truncate. This is a step of its own,
-- since Spark plans windows over fields of one struct much faster than over as many expressions.
carried as (
    select
        * except (cdc_after, cdc_present_columns, cdc_keeps),
        case
            when cdc_after is not null
                then named_struct(
                    {%- for name in attributes %}
                    {{ spark_cdc._literal(name) }}, case
                        when
                            cdc_present_columns is null
                            or array_contains(cdc_present_columns, {{ spark_cdc._literal(name | lower) }})
                            then struct(cdc_after.cdc_row.{{ spark_cdc._quote(name) }} as cdc_value)
                        when not cdc_keeps then named_struct('cdc_value', null)
                    end{{ ',' if not loop.last }}
                    {%- endfor %}
                )
        end as cdc_carried
    from counted
),

-- The whole row after each event, as one value, in which it is compared and passed on.
filled as (
    select
        * except (cdc_carried),
        cdc_carried is not null as cdc_arrives,
        named_struct(
            {%- for name in attributes %}
            {{ spark_cdc._literal(name) }}, last_value(cdc_carried.{{ spark_cdc._quote(name) }}, true) over (
                {{ row_window | indent(16) }}
                {{ so_far }}
            ).cdc_value{{ ',' if not loop.last }}
            {%- endfor %}
        ) as cdc_row
    from carried
),

rows_with_previous as (
    select
        *,
        lag(cdc_row) over (
            {{ row_window | indent(12) }}
        ) as cdc_row_before
    from filled
),

-- Rule 9: an event that changes no value makes no version.
effects_with_outcome as (
    select
        *,
        cdc_arrives
        and not (
            cdc_exists_before
            and {{ spark_cdc._is_same_row('cdc_row_before', 'cdc_row', table.collated) | indent(12) }}
        ) as cdc_sets_value,
        cdc_exists_before and not cdc_exists_after as cdc_takes_away,
        struct(cdc_commit_sequence, cdc_sequence, cdc_commit_at, cdc_operation) as cdc_event
    from rows_with_previous
)
{%- endmacro -%}

{#- CTEs to `intervals`: the steps of a key, and what ends each. -#}
{%- macro _complex_intervals(table, granularity, windows) -%}
    {%- set row_window, transaction_window, so_far, whole = windows.row, windows.transaction, windows.so_far, windows.whole -%}
    {%- set truncates = '(select cdc_list from truncates)' -%}
{% if granularity == 'commit' %}
-- One row for each key and transaction: the row with the last value, or else the last row. It also has the other
-- effects of the transaction on the key.
transactions as (
    select
        *,
        coalesce(
            max(case when cdc_sets_value then cdc_sequence end) over (
                {{ transaction_window | indent(16) }}
                {{ whole }}
            ),
            last_value(cdc_sequence) over (
                {{ transaction_window | indent(16) }}
                {{ whole }}
            )
        ) as cdc_kept_sequence,
        first_value(cdc_row_before) over (
            {{ transaction_window | indent(12) }}
            {{ whole }}
        ) as cdc_row_found,
        last_value(cdc_exists_after and cdc_truncates_here = cdc_truncates_after) over (
            {{ transaction_window | indent(12) }}
            {{ whole }}
        ) as cdc_exists_at_end,
        last_value(
            case
                when cdc_exists_after then struct(false as cdc_taken, cdc_truncates_here as cdc_truncates, cdc_event)
                when cdc_takes_away then struct(true as cdc_taken, cdc_truncates_here as cdc_truncates, cdc_event)
            end,
            true
        ) over (
            {{ transaction_window | indent(12) }}
            {{ whole }}
        ) as cdc_last_step
    from effects_with_outcome
),

steps as (
    select
        *,
        cdc_truncates_after as cdc_truncates_passed,
        cdc_exists_at_end
        and not (
            cdc_existed
            and {{ spark_cdc._is_same_row('cdc_row_found', 'cdc_row', table.collated) | indent(12) }}
        ) as cdc_begins,
        case
            when cdc_exists_at_end then cdc_event
            when cdc_last_step.cdc_taken then cdc_last_step.cdc_event
            else try_element_at(
                {{ truncates }},
                cast(coalesce(cdc_last_step.cdc_truncates, cdc_truncates_before) + 1 as int)
            )
        end as cdc_step,
        cdc_existed and not cdc_exists_at_end as cdc_ends,
        -- If a transaction truncates the table and inserts the same row again, no other transaction sees the
        -- truncate.
        cdc_existed and cdc_exists_at_end
        and {{ spark_cdc._is_same_row('cdc_row_found', 'cdc_row', table.collated) | indent(8) }}
        and cdc_truncates_before < cdc_truncates_after as cdc_continues
    from transactions
    -- not `=`: from an equality of two columns Spark infers others in every expression above, which takes minutes
    where cdc_sequence <=> cdc_kept_sequence
),
{% else %}
steps as (
    select
        *,
        cdc_truncates_here as cdc_truncates_passed,
        cdc_sets_value as cdc_begins,
        cdc_event as cdc_step,
        cdc_takes_away as cdc_ends,
        false as cdc_continues
    from effects_with_outcome
),
{% endif %}
-- A version lasts until the next step of its key, or until the first truncate if that is earlier. It is in the row
-- of the last step through which it continues.
intervals as (
    select
        *,
        last_value(case when cdc_begins then cdc_step end, true) over (
            {{ row_window | indent(12) }}
            {{ so_far }}
        ) as cdc_begin,
        coalesce(
            lead(cdc_continues) over (
                {{ row_window | indent(16) }}
            ),
            false
        ) as cdc_goes_on,
        lead(cdc_step) over (
            {{ row_window | indent(12) }}
        ) as cdc_next_step,
        {{ spark_cdc._no_begin_follows(row_window) | indent(8) }} as cdc_is_last,
        try_element_at({{ truncates }}, cast(cdc_truncates_passed + 1 as int)) as cdc_next_truncate
    from steps
    where cdc_begins or cdc_ends or cdc_continues
)
{%- endmacro -%}
