{#- The raw rows that a decoder can make nothing of. See _macros.yml. -#}
{%- macro quarantine(decoder, relation) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- set rows = spark_cdc._of_decoder('quarantine', decoder) -%}
    {%- set layout = spark_cdc._layout_of('quarantine', decoder, relation, *varargs, **kwargs) -%}
    {%- do spark_cdc._declare({'builds': 'quarantine', 'decoder': decoder, 'layout': layout, 'definition': dict(layout, relation='')}) -%}
    {{ return(rows(layout)) }}
{%- endmacro -%}

{#- A decoder's own part of `quarantine` or `raw_counts`: the macro _quarantine_<decoder>, _raw_counts_<decoder>. -#}
{%- macro _of_decoder(part, decoder) -%}
    {%- set prefix = '_' ~ part ~ '_' -%}
    {%- set decoders = [] -%}
    {%- for name in spark_cdc if name.startswith(prefix) -%}
        {%- do decoders.append(name[prefix | length:]) -%}
    {%- endfor -%}
    {%- if decoder not in decoders -%}
        {{ spark_cdc._stop(
            part, 'decoder is ' ~ decoder, 'the name of a decoder: ' ~ decoders | sort | join(', '),
            "{{ spark_cdc." ~ part ~ "('qlik_change_table', source('erp', 'orders__ct'), key=['order_id']) }}"
        ) }}
    {%- endif -%}
    {{ return(spark_cdc[prefix ~ decoder]) }}
{%- endmacro -%}

{#- What a decoder makes of its arguments, which `quarantine` and `raw_counts` are given, too. -#}
{%- macro _layout_of(me, decoder, relation) -%}
    {%- set accepted = spark_cdc[decoder].macro.arguments | map(attribute='name') | list -%}
    {%- for name in kwargs if name not in accepted -%}
        {{ spark_cdc._stop(
            me, 'there is an argument ' ~ name, 'what ' ~ decoder ~ ' has: ' ~ accepted | join(', '),
            "{{ spark_cdc." ~ me ~ "('" ~ decoder ~ "', source('erp', 'orders'), key=['order_id']) }}"
        ) }}
    {%- endfor -%}
    {{ return(spark_cdc['_layout_' ~ decoder](relation, *varargs, **kwargs)) }}
{%- endmacro -%}
