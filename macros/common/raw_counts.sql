{#- What became of the raw rows of a decoder, in numbers. See _macros.yml. -#}
{%- macro raw_counts(decoder=none, relation=none) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- set given = spark_cdc._decoder_call('raw_counts', decoder, relation, *varargs, **kwargs) -%}
    {{ return(spark_cdc._of_decoder('raw_counts', given.decoder)(given.layout)) }}
{%- endmacro -%}
