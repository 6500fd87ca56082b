{#- What became of the raw rows of a decoder, in numbers. See _macros.yml. -#}
{%- macro raw_counts(decoder=none, relation=none) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {{ return(spark_cdc._declared_select(spark_cdc._call_for('raw_counts', decoder, relation, *varargs, **kwargs))) }}
{%- endmacro -%}
