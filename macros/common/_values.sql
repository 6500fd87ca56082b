{#- Values of raw rows, converted to the declared types. -#}

{#- A raw value as `data_type`; NULL if it is not exactly a value of that type. `_check_cast` has to accept the two types. Times
    without a zone are in UTC, whatever the zone of the session. Types char and varchar become strings, as in every select: a
    table made from it accepts longer values too. `_typed_text` says what `forms` are. -#}
{%- macro _typed(expression, type_there, data_type, forms=()) -%}
    {%- set there, wanted = spark_cdc._kind_of(type_there), spark_cdc._kind_of(data_type) -%}
    {%- if spark_cdc._spelled(type_there) == spark_cdc._spelled(data_type) -%}
        {{ return(expression) }}
    {%- elif there == 'text' and wanted == 'text' -%}
        {{ return('cast(' ~ expression ~ ' as ' ~ data_type ~ ')') }}
    {%- elif there == 'text' -%}
        {{ return(spark_cdc._typed_text(spark_cdc._bytewise(expression, type_there), data_type, forms)) }}
    {%- elif wanted == 'text' -%}
        {%- set text = spark_cdc._text_of(expression, type_there) -%}
        {{ return('cast(' ~ text ~ ' as ' ~ data_type ~ ')' if ' collate ' in data_type | lower else text) }}
    {%- elif there in ('date', 'timestamp', 'timestamp_ntz') -%}
        {{ return(spark_cdc._time_as(expression, there, wanted)) }}
    {%- elif wanted == 'boolean' -%}
        {{ return('case ' ~ expression ~ '\n    when 1 then true\n    when 0 then false\nend') }}
    {%- endif -%}
    {%- set value = 'try_cast(' ~ expression ~ ' as ' ~ spark_cdc._spaced(data_type) ~ ')' -%}
    {%- set is_exact = spark_cdc._is_exact(expression, type_there, value, data_type) -%}
    {%- if is_exact -%}
        {{ return('case\n    when\n        ' ~ (is_exact | indent(8)) ~ '\n        then ' ~ value ~ '\nend') }}
    {%- endif -%}
    {{ return(value) }}
{%- endmacro -%}

{#- Whether a value of one type can be no value of another. Every value has a text. -#}
{%- macro _can_be_bad(type_there, data_type) -%}
    {{ return(spark_cdc._spelled(type_there) != spark_cdc._spelled(data_type) and spark_cdc._kind_of(data_type) != 'text') }}
{%- endmacro -%}

{#- Whether the cast of a number to another number changes it, as SQL: false or NULL if it does. A float or double may be the
    nearest to a decimal or integer. Returns none if the cast never changes a number. -#}
{%- macro _is_exact(expression, type_there, value, data_type) -%}
    {%- set there, wanted = spark_cdc._type_facts(type_there), spark_cdc._type_facts(data_type) -%}
    {%- if there.family == 'floating' and wanted.family == 'floating' -%}
        {#- a number that is too large becomes infinite, and one that is too small 0 -#}
        {{ return(spark_cdc._is_finite(value) ~ '\nor ' ~ value ~ ' = ' ~ expression) }}
    {%- elif wanted.family != 'floating' and (
        there.family == 'floating' or (there.family == 'decimal' and there.scale > wanted.scale)
    ) -%}
        {%- set is_same = 'try_cast(\n    ' ~ value ~ ' as ' ~ spark_cdc._spaced(type_there) ~ '\n) = ' ~ expression -%}
        {#- Spark casts the first number that is too large for a bigint to the largest bigint -#}
        {%- set is_large = there.family == 'floating' and wanted.family == 'integer' -%}
        {{ return(is_same ~ ('\nand ' ~ expression ~ ' < 9223372036854775808D' if is_large)) }}
    {%- endif -%}
    {{ return(none) }}
{%- endmacro -%}

{#- A raw value that is no text, as text: the same in each session, with and without ANSI mode. -#}
{%- macro _text_of(expression, type_there) -%}
    {%- set kind, scale = spark_cdc._kind_of(type_there), spark_cdc._type_facts(type_there).scale -%}
    {%- if kind in ('timestamp', 'timestamp_ntz') -%}
        {{ return(spark_cdc._time_text(expression, type_there)) }}
    {%- elif kind == 'decimal' and scale > 6 -%}
        {#- without ANSI mode a cast writes small numbers with an exponent -#}
        {{ return("replace(format_number(" ~ expression ~ ', ' ~ scale ~ "), ',', '')") }}
    {%- endif -%}
    {{ return('cast(' ~ expression ~ ' as string)') }}
{%- endmacro -%}

{#- The value of cdc_batch for this run. Later runs have greater values. -#}
{%- macro _batch() -%}
    {{ return(run_started_at.strftime('%Y-%m-%dT%H:%M:%S.%fZ')) }}
{%- endmacro -%}

{#- A call of a function, with one argument on each line. -#}
{%- macro _call(name, arguments) -%}
    {%- set lines = arguments | join(',\n') -%}
    {{ return(name ~ '(\n    ' ~ (lines | indent(4)) ~ '\n)') }}
{%- endmacro -%}
