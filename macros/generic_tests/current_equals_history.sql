{#- Current rows are the open versions of the history, cell by cell. See _generic_tests.yml. -#}
{%- test current_equals_history(model, history, columns=none) -%}
{%- if execute and spark_cdc._test_is_untold(model) -%}
{{ spark_cdc._untold(model) }}
{%- elif execute -%}
{%- set there = spark_cdc.columns_of(model) -%}
{%- set names = [] -%}
{%- for name in there if not (name | lower).startswith('cdc_') -%}
    {%- do names.append(name) -%}
{%- endfor -%}
{%- if columns is not none -%}
    {%- set names = spark_cdc._resolve_names(
        'current_equals_history', 'columns', columns, names,
        "current_equals_history: {arguments: {history: ref('orders__history'), columns: [order_id, status]}}"
    ) -%}
{%- endif -%}
{%- set has_deleted = 'cdc_is_deleted' in there | map('lower') -%}
with current_rows as (
    select
        {%- for name in names %}
        {{ spark_cdc._quote(name) }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ model }}
    {%- if has_deleted %}
    where not cdc_is_deleted
    {%- endif %}
),

open_versions as (
    select
        {%- for name in names %}
        {{ spark_cdc._quote(name) }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ history }}
    where cdc_is_current
),

-- `except all` treats two nulls as equal and counts repeated rows
only_current as (
    select * from current_rows
    except all
    select * from open_versions
),

only_history as (
    select * from open_versions
    except all
    select * from current_rows
)

select
    'in the current state only' as cdc_problem,
    *
from only_current
union all
select
    'in the history only' as cdc_problem,
    *
from only_history
{%- endif -%}
{%- endtest -%}
