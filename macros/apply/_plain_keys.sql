{#- Plain keys: after each event other than a removal the key exists, with the row of that event. -#}

{#- CTEs to `plain_versions`: the versions of plain keys. `windows` are those of _versions. With `has_truncates` the CTE
    `truncates` exists, and may have rows. -#}
{%- macro _plain_versions(table, granularity, windows, source, has_truncates) -%}
    {%- set row_window, transaction_window, so_far = windows.row, windows.transaction, windows.so_far -%}
    {%- set by_commit = granularity == 'commit' -%}
    {#- the row before an effect, and before its transaction, was there after the last effect; a truncate may have come since -#}
    {%- set is_there = 'cdc_truncates_last <=> cdc_truncates' if has_truncates -%}
    {%- set found = 'case when cdc_truncates_last = cdc_truncates_before then cdc_after_before end' if has_truncates
        else 'cdc_after_before' -%}
    {%- set continues = 'cdc_truncates_before < cdc_truncates\nand '
        ~ spark_cdc._is_same_row('cdc_after.cdc_row', 'cdc_after_found.cdc_row', table.collated) if has_truncates and by_commit -%}
    {%- set begins = 'cdc_row_delta >= 0' ~ (' and not (\n    ' ~ continues | indent(4) ~ '\n)' if continues) -%}
{%- if has_truncates -%}
{{ spark_cdc._plain_positions(source, granularity) }},

{% endif -%}
plain_rows_with_previous as (
    select
        *,
        {%- if has_truncates %}
        lag(cdc_truncates) over (
            {{ row_window | indent(12) }}
        ) as cdc_truncates_last,
        {%- endif %}
        lag(cdc_after) over (
            {{ row_window | indent(12) }}
        ) as cdc_after_before
    from {{ 'plain_positions' if has_truncates else source }}
),

-- Rule 9: an event that changes no value makes no version.
plain_changes as (
    select *
    from plain_rows_with_previous
    where
        {{ spark_cdc._plain_change(table, 'cdc_after_before', is_there) | indent(8) }}
),
{%- if by_commit %}

-- The last change of a transaction counts, if it leaves another row than the transaction found.
plain_transactions as (
    select
        *,
        first_value({{ found }}) over (
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
        {{ begins | indent(8) }} as cdc_begins,
        {%- if continues %}
        -- If a transaction truncates the table and loads the same row again, no other transaction sees the truncate.
        {{ continues | indent(8) }} as cdc_continues,
        {%- endif %}
        struct(cdc_commit_sequence, cdc_sequence, cdc_commit_at, cdc_operation) as cdc_step
    {%- if by_commit %}
    from plain_transactions
    where
        cdc_is_last_of_transaction
        and (
            {{ 'cdc_truncates_before < cdc_truncates\n            or ' if has_truncates }}{{
                spark_cdc._plain_change(table, 'cdc_after_found') | indent(12) }}
        )
    {%- else %}
    from plain_changes
    {%- endif %}
),

{% if has_truncates -%}
plain_intervals as (
    select
        *,
        {%- if continues %}
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
        {%- else %}
        cdc_step as cdc_begin,
        {%- endif %}
        lead(cdc_step) over (
            {{ row_window | indent(12) }}
        ) as cdc_next_step,
        lead({{ 'cdc_truncates_before' if by_commit else 'cdc_truncates' }}) over (
            {{ row_window | indent(12) }}
        ) as cdc_truncates_next,
        {{ spark_cdc._no_begin_follows(row_window) | indent(8) }} as cdc_is_last
    from plain_steps
),

plain_versions as (
    select /*+ broadcast(truncates) */
        plain_intervals.*,
        {{ spark_cdc._end_of_version() | indent(8) }} as cdc_end
    from plain_intervals
    cross join truncates
    where {{ '(cdc_begins or cdc_continues) and not cdc_goes_on' if continues else 'cdc_begins' }}
)
{%- else -%}
plain_intervals as (
    select
        *,
        cdc_step as cdc_begin,
        lead(cdc_step) over (
            {{ row_window | indent(12) }}
        ) as cdc_end,
        {{ spark_cdc._no_begin_follows(row_window) | indent(8) }} as cdc_is_last
    from plain_steps
),

plain_versions as (
    select *
    from plain_intervals
    where cdc_begins
)
{%- endif -%}
{%- endmacro -%}

{#- For an effect on a plain key with the row `found`, or null: whether the key then has another row or none. With
    `is_there`, a condition, the row is there only if it is met. -#}
{%- macro _plain_change(table, found, is_there=none) -%}
(
    cdc_row_delta >= 0
    and not ({{ is_there ~ ' and ' if is_there }}{{
        spark_cdc._is_same_row('cdc_after.cdc_row', found ~ '.cdc_row', table.collated) | indent(8) }})
)
or (cdc_row_delta < 0 and {{ is_there ~ ' and ' if is_there }}{{ found }} is not null)
{%- endmacro -%}
