{#- The table of a model. See _macros.yml. -#}
{%- macro stored_table(relation) -%}
    {%- if not execute -%}{{ return(relation) }}{%- endif -%}
    {%- set identifier = spark_cdc._properties(relation).get('spark_cdc.stored_in') -%}
    {{ return(relation.incorporate(path={'identifier': identifier}, type='table') if identifier else relation) }}
{%- endmacro -%}
