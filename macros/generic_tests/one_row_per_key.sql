{#- No two rows of a relation have the same key, and no key has a NULL, unless NULL is a value of keys. See
    _generic_tests.yml. -#}
{%- test one_row_per_key(model, key, null_keys=false) -%}
{%- if execute and spark_cdc._test_is_untold(model) -%}
{{ spark_cdc._untold(model) }}
{%- elif execute -%}
{%- set names = spark_cdc._resolve_key(
    'one_row_per_key', key, spark_cdc.columns_of(model) | list, 'one_row_per_key: {arguments: {key: [order_id]}}'
) -%}
{%- do spark_cdc._check_null_keys('one_row_per_key', null_keys) -%}
{%- set nulls = [] -%}
{%- for name in names -%}{%- do nulls.append(spark_cdc._quote(name) ~ ' is null') -%}{%- endfor -%}
with counted as (
    select
        {%- for name in names %}
        {{ spark_cdc._quote(name) }},
        {%- endfor %}
        count(*) as cdc_rows,
        {{ 'false' if null_keys else nulls | join(' or ') }} as cdc_key_is_null
    from {{ model }}
    group by
        {%- for name in names %}
        {{ spark_cdc._quote(name) }}{{ ',' if not loop.last }}
        {%- endfor %}
)

select
    *,
    if(cdc_key_is_null, 'a column of the key is null', concat(cdc_rows, ' rows have this key')) as cdc_problem
from counted
where cdc_rows > 1 or cdc_key_is_null
{%- endif -%}
{%- endtest -%}
