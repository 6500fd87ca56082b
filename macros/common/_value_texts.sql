{#- How a text is read as a value. docs/values.md has the grammar of each type, and says where it comes from.

    A pattern accepts the whole text, and only what it captures reaches a cast, which then checks ranges and the calendar. A
    text that is not accepted becomes '', of which a cast makes NULL. The cast also judges where the point of a number is.
    Patterns are anchored. Their repetitions are possessive or short, so that their time is proportional to the length of the
    text. -#}

{#- A text as `data_type`; NULL if it is not exactly a value of that type. `forms` are further forms of a source: `dots`, times
    as in 2024-05-06-07.08.09; `midnight`, the hour 24 as the end of a day; `base64`, for binary. -#}
{%- macro _typed_text(text, data_type, forms=()) -%}
    {%- set kind = spark_cdc._kind_of(data_type) -%}
    {%- if kind == 'integer' -%}
        {{ return(spark_cdc._call('coalesce', [
            spark_cdc._captured(text, '([+-]?\\d{1,400}+)([.]0{0,400}+)?', data_type),
            'try_cast(' ~ spark_cdc._exact_number(text, 'decimal(38, 0)') ~ ' as ' ~ data_type ~ ')',
        ])) }}
    {%- elif kind == 'decimal' -%}
        {%- set plain = '([+-]?\\d{0,400}+([.]\\d{0,' ~ spark_cdc._type_facts(data_type).scale ~ '}+0{0,400}+)?)' -%}
        {{ return(spark_cdc._call('coalesce', [
            spark_cdc._captured(text, plain, data_type), spark_cdc._exact_number(text, data_type)
        ])) }}
    {%- elif kind == 'floating' -%}
        {{ return(spark_cdc._nearest_number(text, data_type)) }}
    {%- elif kind == 'boolean' -%}
        {{ return(spark_cdc._captured(
            text, '(true|false|t|f|yes|no|y|n|[01])((?<=[01])[.]0{0,400}+)?', data_type, ignores_case=true
        )) }}
    {%- elif kind == 'binary' -%}
        {{ return(spark_cdc._bytes_of_base64(text) if 'base64' in forms else spark_cdc._bytes_of_hex(text)) }}
    {%- elif kind == 'interval' -%}
        {{ return(spark_cdc._captured(text, spark_cdc._interval_pattern(data_type), data_type)) }}
    {%- elif kind in ('date', 'timestamp', 'timestamp_ntz', 'time') and 'dots' in forms -%}
        {{ return(spark_cdc._once(
            spark_cdc._with_colons(text, kind), spark_cdc._typed_time('text', data_type, kind, 'midnight' in forms)
        )) }}
    {%- elif kind in ('date', 'timestamp', 'timestamp_ntz', 'time') -%}
        {{ return(spark_cdc._typed_time(text, data_type, kind, 'midnight' in forms)) }}
    {%- endif -%}
    {{ return(text) }}
{%- endmacro -%}

{#- What the first group of a pattern captures, cast to a type. The pattern has to accept the whole text. Blanks at its ends
    pad CHAR columns. -#}
{%- macro _captured(text, pattern, data_type, ignores_case=false) -%}
    {%- set whole = ('(?i)' if ignores_case else '') ~ '^ *+' ~ pattern ~ ' *+\\z' -%}
    {{ return(
        'try_cast(regexp_extract(\n    ' ~ (text | indent(4)) ~ ',\n    ' ~ spark_cdc._literal(whole) ~ '\n) as '
        ~ spark_cdc._spaced(data_type) ~ ')'
    ) }}
{%- endmacro -%}

{#- A number in any form, with an exponent too, as an integer or a decimal. The cast may round it. It has not if the result has
    the same digits, apart from zeros at both ends. -#}
{%- macro _exact_number(text, data_type) -%}
    {%- set value = spark_cdc._captured(text, '([+-]?[\\d.]{1,900}+([eE][+-]?\\d{1,4}+)?)', data_type) -%}
case
    when
        {{ spark_cdc._digits('cast(' ~ value ~ ' as string)') | indent(8) }}
        = {{ spark_cdc._digits(text) | indent(8) }}
        then {{ value | indent(8) }}
end
{%- endmacro -%}

{#- The digits of a number from the first to the last that is not 0. -#}
{%- macro _digits(number) -%}
    {{ return('btrim(regexp_replace(' ~ number ~ ", '[eE].*|\\\\D', ''), '0')") }}
{%- endmacro -%}

{#- The float or double that is nearest to a number. A number that is so large that it becomes infinite, or so small that it
    becomes 0, has none. -#}
{%- macro _nearest_number(text, data_type) -%}
    {%- set number = '([+-]?([\\d.]++(e[+-]?\\d++)?|inf(inity)?)|nan)' -%}
    {%- set value = spark_cdc._captured(text, number, data_type, ignores_case=true) -%}
case
    when
        {{ spark_cdc._is_finite(value) | indent(8) }}
        or {{ text }} rlike '^[^1-9eE]*+([eE]|\\z)'
        then {{ value | indent(8) }}
end
{%- endmacro -%}

{#- Whether a float or double is neither 0 nor infinite nor NaN: then it has a logarithm. `between` would compute a long
    expression in a plan of its own, which a generator cannot have. -#}
{%- macro _is_finite(number) -%}
    {{ return('ln(abs(' ~ number ~ ')) < 1000') }}
{%- endmacro -%}

{#- Bytes from two hexadecimal digits each: CAFE, 0xCAFE, x'CAFE'. -#}
{%- macro _bytes_of_hex(text) -%}
case
    when
        {{ text }}
        rlike '^(0[xX])?([0-9a-fA-F]{2})*+\\z|^[xX]\'([0-9a-fA-F]{2})*+\'\\z'
        then unhex(regexp_replace({{ text | indent(8) }}, '^0[xX]|[xX]?\'', ''))
end
{%- endmacro -%}

{#- Bytes from base64 with its padding. White space may be anywhere, as in lines. -#}
{%- macro _bytes_of_base64(text) -%}
    {%- set signs = 'regexp_replace(' ~ text ~ ", '[ \\\\t\\\\r\\\\n\\\\f]', '')" -%}
case
    when
        {{ signs | indent(8) }}
        rlike '^([A-Za-z0-9+/]{4})*+([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?\\z'
        then unbase64({{ signs | indent(8) }})
end
{%- endmacro -%}

{#- The pattern of an interval: its first field has any number of digits, each other field has two. -#}
{%- macro _interval_pattern(data_type) -%}
    {%- set fields = modules.re.findall('year|month|day|hour|minute|second', data_type | lower) -%}
    {%- set all = ['year', 'month', 'day', 'hour', 'minute', 'second'] -%}
    {%- set before = {'month': '-', 'hour': ' ', 'minute': ':', 'second': ':'} -%}
    {%- set parts = ['[+-]?\\d{1,9}'] -%}
    {%- for name in all[all.index(fields[0]) + 1:all.index(fields[-1]) + 1] -%}{%- do parts.append(before[name] ~ '\\d{2}') -%}{%- endfor -%}
    {{ return('(' ~ parts | join ~ ('([.]\\d{1,9})?' if fields[-1] == 'second') ~ ')') }}
{%- endmacro -%}

{#- A text with dots in its time of day, 2024-05-06-07.08.09, with blank and colons instead. -#}
{%- macro _with_colons(text, kind) -%}
    {%- set patterns = ('^( *+\\d\\d)[.](\\d\\d)[.](\\d\\d)', '$1:$2:$3') if kind == 'time'
        else ('^( *+\\d{4}-\\d\\d-\\d\\d)-(\\d\\d)[.](\\d\\d)[.](\\d\\d)', '$1 $2:$3:$4') -%}
    {{ return(
        'regexp_replace(\n    ' ~ (text | indent(4)) ~ ',\n    ' ~ spark_cdc._literal(patterns[0]) ~ ',\n    '
        ~ spark_cdc._literal(patterns[1]) ~ '\n)'
    ) }}
{%- endmacro -%}

{#- A text as a date, a time, or both. A `timestamp` without a zone is in UTC; a `timestamp_ntz` has no zone. The years are 1 to
    9999. With `has_midnight` the hour 24 is the beginning of the next day. -#}
{%- macro _typed_time(text, data_type, kind, has_midnight) -%}
    {%- set day = '(?!0000)\\d{4}-[\\d-]{5}' -%}
    {%- if kind == 'time' -%}
        {{ return(spark_cdc._captured(text, '(\\d\\d:\\d\\d(:\\d\\d([.]\\d{1,6})?)?)', data_type)) }}
    {%- endif -%}
    {%- set next_day = 'date_add('
        ~ spark_cdc._captured(text, '((?!0000|9999-12-31)\\d{4}-[\\d-]{5})[T ]24:00:00([.]0{1,12})?', 'date') ~ ', 1)' -%}
    {%- if kind == 'date' -%}
        {%- set date = spark_cdc._captured(text, '(' ~ day ~ ')([T ]00(:00(:00([.]0{1,12})?(Z|[+]00:?00)?)?)?)?', data_type) -%}
        {{ return(spark_cdc._call('coalesce', [date, next_day]) if has_midnight else date) }}
    {%- endif -%}
    {%- set readings = [spark_cdc._captured(text, '(' ~ day ~ '([T ]\\d\\d(:\\d\\d){0,2}([.]\\d{1,12})?)?)', 'timestamp_ntz')] -%}
    {%- if has_midnight -%}{%- do readings.append(spark_cdc._time_as(next_day, 'date', kind)) -%}{%- endif -%}
    {%- if kind == 'timestamp_ntz' -%}
        {{ return(spark_cdc._call('coalesce', readings) if has_midnight else readings[0]) }}
    {%- endif -%}
    {%- set zoned = spark_cdc._captured(
        text, '(\\d{4}-[\\d-]{5}[T ][\\d:]{8}([.]\\d{1,12})? ?(Z|UTC|[+-]\\d\\d(:?\\d\\d)?))', data_type
    ) -%}
    {#- the seconds at which the years 1 and 10000 begin -#}
    {%- do readings.append(spark_cdc._call('if', [
        'width_bucket(unix_seconds(' ~ zoned ~ '), -62135596800, 253402300800, 1) = 1', zoned, 'null'
    ])) -%}
    {{ return(spark_cdc._call('coalesce', [spark_cdc._clock_in_utc(readings[0])] + readings[1:])) }}
{%- endmacro -%}
