{#- Whether a row is in a sample of the keys. See _macros.yml. -#}
{%- macro in_sample(relation, key, sample) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- set me, example = 'in_sample', "spark_cdc.in_sample(source('erp', 'orders'), key=['order_id'], sample=0.01)" -%}
    {%- set types, values = spark_cdc.columns_of(relation), {} -%}
    {%- for name in spark_cdc._resolve_key(me, key, types | list, example) -%}
        {%- do values.update({name: spark_cdc._quote(name)}) -%}
    {%- endfor -%}
    {%- do spark_cdc._check_sample(me, sample, example) -%}
    {{ return(spark_cdc._is_in_sample(sample, values, types)) }}
{%- endmacro -%}

{#- Stops unless a sample is a part of 1, or a condition. -#}
{%- macro _check_sample(me, sample, example) -%}
    {%- set is_part = sample is number and sample is not boolean and 0 < sample <= 1 -%}
    {%- set is_condition = sample is string and not modules.re.fullmatch('\\s*([-+.0-9][-+.0-9eE_]*)?\\s*', sample) -%}
    {%- if not is_part and not is_condition or (is_part and not (sample * 4294967296) | int) -%}
        {{ spark_cdc._stop(
            me, 'sample is ' ~ ('empty' if sample is string and not sample | trim else sample if sample is not string else 'the text ' ~ sample),
            "the part of the keys, a number above 0 up to 1, or an SQL condition over the columns of the key as text, such as"
            ~ " 'order_id % 100 = 7'", example
        ) }}
    {%- endif -%}
{%- endmacro -%}

{#- The condition of a sample. `values` is a dict of the key's columns to SQL. The first eight digits of an md5 are evenly
    spread, and every database that has md5 gives the same. Keys with a NULL are in every sample. -#}
{%- macro _is_in_sample(sample, values, types) -%}
    {%- if sample is string -%}
        {{ return('(' ~ sample | trim ~ ('\n)' if '--' in sample else ')')) }}
    {%- endif -%}
    {%- if sample >= 1 -%}{{ return('true') }}{%- endif -%}
    {%- set limit = '%08x' | format((sample * 4294967296) | int) -%}
    {#- a key with a NULL has no md5 -#}
    {{ return('coalesce(' ~ spark_cdc._call('md5', [spark_cdc._key_as_text(values, types)]) ~ " < '" ~ limit ~ "', true)") }}
{%- endmacro -%}
