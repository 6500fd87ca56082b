{#- No number of the last run of health is above its limit. See _generic_tests.yml. -#}
{%- test health_is_good(model, at_most) -%}
{%- if execute and spark_cdc._test_is_untold(model) -%}
{{ spark_cdc._untold(model) }}
{%- elif execute -%}
{%- set limits = spark_cdc._health_limits(at_most) -%}
with health_rows as (
    select * from {{ model }}
),

last_rows as (
    select *
    from health_rows
    where checked_at = (select max(every_row.checked_at) from health_rows as every_row)
),

watched as (
    select
        last_rows.table_name,
        last_rows.checked_at,
        limits.cdc_limit
    from last_rows
        lateral view explode(array(
            {%- for name, limit in limits.items() %}
            named_struct(
                'column_name', '{{ name }}',
                'value', cast({{ 'try_divide(quarantined_rows, raw_rows)' if name == 'quarantined_share' else name }} as double),
                'threshold', cast({{ limit }} as double)
            ){{ ',' if not loop.last }}
            {%- endfor %}
        )) limits as cdc_limit
)

-- NULL is above no limit
select
    table_name,
    checked_at,
    cdc_limit.column_name,
    cdc_limit.value,
    cdc_limit.threshold
from watched
where cdc_limit.value > cdc_limit.threshold
{%- endif -%}
{%- endtest -%}

{#- The limits, a dict of the name of a column -> number, as they were given. -#}
{%- macro _health_limits(at_most) -%}
    {%- set accepted = [
        'raw_rows', 'used_rows', 'no_op_rows', 'quarantined_rows', 'events', 'lag_seconds', 'events_in_future', 'orphaned_before_images',
        'updates_of_unknown_keys', 'inserts_over_existing_keys', 'deletes_of_unknown_keys', 'moves_without_before_image',
        'events_with_unknown_columns', 'open_transactions', 'unread_rows', 'waiting_rows', 'quarantined_share'
    ] -%}
    {%- set example = 'health_is_good: {arguments: {at_most: {lag_seconds: 3600, quarantined_share: 0.01}}}' -%}
    {%- if at_most is not mapping or not at_most -%}
        {{ spark_cdc._stop(
            'health_is_good', 'at_most is ' ~ ('not defined' if at_most is undefined else at_most or 'empty'),
            'a dict of the name of a column -> the greatest number that is good', example
        ) }}
    {%- endif -%}
    {%- for name, limit in at_most.items() if name not in accepted or limit is not number or limit is boolean -%}
        {{ spark_cdc._stop(
            'health_is_good', 'at_most has ' ~ name ~ ': ' ~ limit, 'a number for each of ' ~ accepted | join(', '), example
        ) }}
    {%- endfor -%}
    {{ return(at_most) }}
{%- endmacro -%}
