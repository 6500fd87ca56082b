{#- The intervals of a key neither overlap nor leave two current versions. See _generic_tests.yml. -#}
{%- test history_is_consistent(model, key) -%}
{%- if execute and spark_cdc._test_is_untold(model) -%}
{{ spark_cdc._untold(model) }}
{%- elif execute -%}
{%- set key_names = spark_cdc._resolve_key(
    'history_is_consistent', key, spark_cdc.columns_of(model) | list,
    'history_is_consistent: {arguments: {key: [order_id]}}'
) -%}
with versions as (
    select
        *,
        lead(cdc_valid_from_sequence) over (
            partition by {{ spark_cdc._column_list(key_names) }}
            order by cdc_valid_from_sequence, cdc_valid_to_sequence nulls last
        ) as cdc_next_valid_from_sequence
    from {{ model }}
),

judged as (
    select
        {%- for name in key_names %}
        {{ spark_cdc._quote(name) }},
        {%- endfor %}
        cdc_valid_from_sequence,
        cdc_valid_to_sequence,
        cdc_is_current,
        cdc_next_valid_from_sequence,
        case
            when cdc_valid_from_sequence is null then 'has no beginning'
            when cdc_valid_to_sequence <= cdc_valid_from_sequence then 'does not end after its beginning'
            when not (cdc_is_current <=> (cdc_valid_to_sequence is null))
                then 'cdc_is_current and cdc_valid_to_sequence differ'
            when cdc_is_current <> (cdc_ended_by is null) then 'cdc_ended_by and cdc_is_current differ'
            when cdc_is_current and cdc_next_valid_from_sequence is not null
                then 'is current although a later version follows'
            when cdc_next_valid_from_sequence < cdc_valid_to_sequence then 'overlaps the next version'
        end as cdc_problem
    from versions
)

select * from judged
where cdc_problem is not null
{%- endif -%}
{%- endtest -%}
