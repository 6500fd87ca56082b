{#- The versions that began or ended between two moments. See _macros.yml. -#}
{%- macro versions_between(history, from_at=none, to_at=none, from_sequence=none, to_sequence=none) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- if spark_cdc._is_untold(history) -%}{{ return(spark_cdc._untold(history)) }}{%- endif -%}
    {%- set me, example = 'versions_between',
        "{{ spark_cdc.versions_between(ref('orders__history'), from_at='2026-03-01', to_at='2026-03-02') }}" -%}
    {%- do spark_cdc._columns_in_history(me, history, example) -%}
    {%- set begin = spark_cdc._one_moment(me, {'from_at': from_at, 'from_sequence': from_sequence}, example) -%}
    {%- set moments, end = [begin], none -%}
    {%- if to_at is not none or to_sequence is not none -%}
        {%- set end = spark_cdc._one_moment(me, {'to_at': to_at, 'to_sequence': to_sequence}, example) -%}
        {%- do moments.append(end) -%}
        {%- if end.by != begin.by -%}
            {{ spark_cdc._stop(
                me, 'it has ' ~ begin.argument ~ ' and ' ~ end.argument, 'two times, or two sequences', example
            ) }}
        {%- elif begin.value is not none and end.value is not none and begin.zone == end.zone and begin.value > end.value -%}
            {{ spark_cdc._stop(
                me, begin.argument ~ ' is ' ~ begin.given ~ ', which is after ' ~ end.argument ~ ', ' ~ end.given,
                'two moments in their order', example
            ) }}
        {%- endif -%}
    {%- endif -%}
{{ spark_cdc._with_moments(moments) -}}
select * from {{ history }}
where
    {%- for bound in ('cdc_valid_from', 'cdc_valid_to') %}
    {%- set column = bound ~ ('_sequence' if begin.by == 'sequence') %}
    {%- if end is none %}
    {{ 'or ' if not loop.first }}{{ column }} > {{ begin.sql }}
    {%- else %}
    {{ 'or ' if not loop.first }}(
        {{ column }} > {{ begin.sql }}
        and {{ column }} <= {{ end.sql }}
    )
    {%- endif %}
    {%- endfor %}
{%- endmacro -%}
