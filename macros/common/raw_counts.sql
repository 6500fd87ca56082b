{#- How many raw rows of a decoder were used, were no-ops, or are in quarantine. See _macros.yml. -#}
{%- macro raw_counts(decoder=none, relation=none) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- if spark_cdc._call_is_untold(relation, kwargs.get('of')) -%}{{ return(spark_cdc._untold(kwargs.get('of', relation))) }}{%- endif -%}
    {%- set select = spark_cdc._declared_select(spark_cdc._call_for('raw_counts', decoder, relation, *varargs, **kwargs)) -%}
    {{ return(spark_cdc._fit_for_view('raw_counts', select)) }}
{%- endmacro -%}
