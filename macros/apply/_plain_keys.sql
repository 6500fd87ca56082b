{#- Plain keys: after each event other than a removal the key exists, with the row of that event. -#}

{#- CTEs to `plain_intervals`: the versions of plain keys. `windows` are those of _versions. -#}
{%- macro _plain_intervals(table, granularity, windows, source) -%}
    {%- set row_window, transaction_window, so_far = windows.row, windows.transaction, windows.so_far -%}
plain_rows_with_previous as (
    select
        *,
        lag(cdc_after) over (
            {{ row_window | indent(12) }}
        ) as cdc_after_before
    from {{ source }}
),

-- Rule 9: an event that changes no value makes no version.
plain_changes as (
    select *
    from plain_rows_with_previous
    where
        {{ spark_cdc._plain_change(table, 'cdc_after_before') | indent(8) }}
),
{%- if granularity == 'commit' %}

-- The last change of a transaction counts, if it leaves another row than the transaction found.
plain_transactions as (
    select
        *,
        first_value(cdc_after_before) over (
            {{ transaction_window | indent(12) }}
            {{ so_far }}
        ) as cdc_after_found,
        lead(cdc_sequence) over (
            {{ transaction_window | indent(12) }}
        ) is null as cdc_is_last_of_transaction
    from plain_changes
),
{%- endif %}

plain_steps as (
    select
        *,
        cdc_row_delta >= 0 as cdc_begins,
        struct(cdc_commit_sequence, cdc_sequence, cdc_commit_at, cdc_operation) as cdc_begin
    {%- if granularity == 'commit' %}
    from plain_transactions
    where
        cdc_is_last_of_transaction
        and (
            {{ spark_cdc._plain_change(table, 'cdc_after_found') | indent(12) }}
        )
    {%- else %}
    from plain_changes
    {%- endif %}
),

plain_intervals as (
    select
        *,
        lead(cdc_begin) over (
            {{ row_window | indent(12) }}
        ) as cdc_end,
        {{ spark_cdc._no_begin_follows(row_window) | indent(8) }} as cdc_is_last
    from plain_steps
)
{%- endmacro -%}

{#- For an effect on a plain key with the row `found`, or null: whether the key then has another row or none. -#}
{%- macro _plain_change(table, found) -%}
(
    cdc_row_delta >= 0
    and not ({{ spark_cdc._is_same_row('cdc_after.cdc_row', found ~ '.cdc_row', table.collated) | indent(8) }})
)
or (cdc_row_delta < 0 and {{ found }} is not null)
{%- endmacro -%}
