{#- Local times of a database, without a zone. Each is a timestamp that shows the local time when it is read in UTC. -#}

{#- The time zone in which a database writes its times: the argument, or else the project's variable. -#}
{%- macro _source_timezone(me, source_timezone, column) -%}
    {%- set zone = var('spark_cdc_source_timezone', 'UTC') if source_timezone is none else source_timezone -%}
    {%- if zone is not string or zone not in modules.pytz.all_timezones -%}
        {{ spark_cdc._stop(
            me, 'source_timezone is ' ~ zone, 'the name of the time zone in which the database writes ' ~ column,
            "source_timezone='Europe/Berlin'"
        ) }}
    {%- endif -%}
    {{ return(zone) }}
{%- endmacro -%}

{#- Whether the numbers of a text (year, month, day, hour, minute, second) are a time. -#}
{%- macro _is_time(numbers) -%}
    {%- set year, month, day = numbers[:3] -%}
    {%- set is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) -%}
    {%- set days = [31, 29 if is_leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] -%}
    {{ return(
        year >= 1 and 1 <= month <= 12 and 1 <= day <= days[month - 1] and numbers[3] < 24 and numbers[4] < 60 and numbers[5] < 60
    ) }}
{%- endmacro -%}

{#- The time that an SQL expression of the user's gives, as a timestamp. A time without a zone is in UTC. -#}
{%- macro _time_given(expression) -%}
    {#- the line break ends a comment -#}
    {%- set given = '(' ~ expression | trim ~ ('\n)' if '--' in expression else ')') -%}
    {%- set value = expression if modules.re.fullmatch('\\w+', expression) else given -%}
    {{ return(spark_cdc._call('if', [
        'typeof' ~ given ~ " = 'timestamp'", 'try_cast(' ~ value ~ ' as timestamp)',
        spark_cdc._typed('cast(' ~ value ~ ' as string)', 'string', 'timestamp'),
    ])) }}
{%- endmacro -%}

{#- Whether a local time is in the years 1 to 9999, as in databases. -#}
{%- macro _is_local_time(expression) -%}
coalesce(
    {{ expression }} >= timestamp '0001-01-01 00:00:00Z'
    and {{ expression }} <= timestamp '9999-12-31 23:59:59.999999Z',
    false
)
{%- endmacro -%}

{#- A local time in UTC; NULL if it is then not in the years 1 to 9999, as at the end of 9999 west of Greenwich. -#}
{%- macro _utc_of_local_time(expression, zone) -%}
    {%- set value = 'to_utc_timestamp(' ~ expression ~ ', ' ~ spark_cdc._literal(zone) ~ ')' -%}
    {{ return(value if zone == 'UTC' else spark_cdc._time_of_years(value)) }}
{%- endmacro -%}

{#- A time, or NULL if it is not in the years 1 to 9999. -#}
{%- macro _time_of_years(expression) -%}
    {{ return('case\n    when\n        ' ~ (spark_cdc._is_local_time(expression) | indent(8)) ~ '\n        then ' ~ expression ~ '\nend') }}
{%- endmacro -%}

{#- A timestamp_ntz, a time in UTC, as a timestamp. A cast would take it as a time in the zone of the session. -#}
{%- macro _clock_in_utc(expression) -%}
    {{ return('try_cast(concat(cast(' ~ expression ~ " as string), 'Z') as timestamp)") }}
{%- endmacro -%}

{#- A date, timestamp or timestamp_ntz as another of them; NULL if a date has a time of day. All of them are in UTC. -#}
{%- macro _time_as(expression, there, wanted) -%}
    {%- if there == 'date' and wanted == 'timestamp' -%}
        {{ return('timestamp_seconds(unix_date(' ~ expression ~ ') * 86400L)') }}
    {%- elif there == 'date' -%}
        {{ return('cast(' ~ expression ~ ' as timestamp_ntz)') }}
    {%- elif there == 'timestamp_ntz' and wanted == 'timestamp' -%}
        {{ return(spark_cdc._clock_in_utc(expression)) }}
    {%- elif there == 'timestamp' and wanted == 'timestamp_ntz' -%}
        {{ return("timestamp_ntz '1970-01-01 00:00:00'\n+ make_dt_interval(\n    0, 0, 0,\n    try_cast(unix_micros("
            ~ expression ~ ') * 0.000001BD as decimal(18, 6))\n)') }}
    {%- elif there == 'timestamp_ntz' -%}
        {%- set date = 'cast(' ~ expression ~ ' as date)' -%}
        {{ return('case\n    when ' ~ date ~ ' = ' ~ expression ~ '\n        then ' ~ date ~ '\nend') }}
    {%- endif -%}
    {%- set micros = 'unix_micros(' ~ expression ~ ')' -%}
    {{ return('case\n    when ' ~ micros ~ ' % 86400000000 = 0\n        then date_from_unix_date(cast(' ~ micros
        ~ ' div 86400000000 as int))\nend') }}
{%- endmacro -%}

{#- A value that is computed from an expression, which is evaluated once. In `value` its name is text. -#}
{%- macro _once(expression, value) -%}
get(transform(array(
    {{ expression | indent(4) }}
), text -> {{ value }}), 0)
{%- endmacro -%}

{#- A text, given as an expression, as a value. If the value needs the text several times, the expression is evaluated once. -#}
{%- macro _typed_once(expression, data_type, forms=()) -%}
    {%- set value = spark_cdc._typed('text', 'string', data_type, forms) -%}
    {%- if modules.re.findall('\\btext\\b', value) | length == 1 or value.startswith('get(') -%}
        {{ return(spark_cdc._typed(expression, 'string', data_type, forms)) }}
    {%- endif -%}
    {{ return(spark_cdc._once(expression, value)) }}
{%- endmacro -%}

{#- A time as yyyy-MM-dd HH:mm:ss.SSSSSS, in UTC or without a zone. date_format would use the session's zone. -#}
{%- macro _time_text(expression, data_type) -%}
    {%- if data_type | lower | trim == 'timestamp_ntz' -%}
        {%- set text = 'cast(' ~ expression ~ ' as string)' -%}
        {{ return(spark_cdc._call('concat', [
            'split_part(' ~ text ~ ", '.', 1)", "'.'", 'rpad(split_part(' ~ text ~ ", '.', 2), 6, '0')"
        ])) }}
    {%- endif -%}
    {%- set second = "timestamp_ntz '1970-01-01 00:00:00'\n+ make_dt_interval(\n    0, 0, 0,\n    try_cast(unix_seconds("
        ~ expression ~ ') as decimal(18, 6))\n)' -%}
    {{ return(spark_cdc._call('concat', [
        spark_cdc._call('cast', [second ~ '\nas string']), "'.'",
        'lpad(cast(pmod(unix_micros(' ~ expression ~ "), 1000000) as string), 6, '0')",
    ])) }}
{%- endmacro -%}

{#- A timestamp as yyyyMMddHHmmssSSSSSS in UTC, for sequences. -#}
{%- macro _time_digits(expression) -%}
    {{ return(spark_cdc._call('translate', [spark_cdc._time_text(expression, 'timestamp'), "'- :.'", "''"])) }}
{%- endmacro -%}
