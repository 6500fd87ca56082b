{#- What became of the raw rows of a decoder, in numbers. See _macros.yml. -#}
{%- macro raw_counts(decoder, relation) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- set counts = spark_cdc._of_decoder('raw_counts', decoder) -%}
    {{ return(counts(spark_cdc._layout_of('raw_counts', decoder, relation, *varargs, **kwargs))) }}
{%- endmacro -%}
