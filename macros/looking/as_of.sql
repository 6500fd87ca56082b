{#- The table as it was at a moment. See _macros.yml. -#}
{%- macro as_of(history, at=none, sequence=none) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- if spark_cdc._is_untold(history) -%}{{ return(spark_cdc._untold(history)) }}{%- endif -%}
    {%- set me, example = 'as_of', "{{ spark_cdc.as_of(ref('orders__history'), at='2026-03-02T08:30:00Z') }}" -%}
    {%- set columns = spark_cdc._columns_in_history(me, history, example) -%}
    {%- set moment = spark_cdc._one_moment(me, {'at': at, 'sequence': sequence}, example) -%}
{{ spark_cdc._with_moments([moment]) -}}
select
    {%- for name in columns %}
    {{ spark_cdc._quote(name) }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ history }}
where
    {{ spark_cdc._is_valid_at(moment) | indent(4) }}
{%- endmacro -%}
