{#- The header columns of a change table: operation, sequence and time. -#}

{#- A header column as text; NULL if the task did not write it. -#}
{%- macro _qlik_header(spec, header, trimmed=true) -%}
    {%- if header not in spec.headers -%}
        cast(null as string)
    {%- elif trimmed -%}
        rtrim(cast({{ spark_cdc._quote(spec.headers[header]) }} as string))
    {%- elif spec.raw_columns[spec.headers[header]] | lower == 'binary' -%}
        hex({{ spark_cdc._quote(spec.headers[header]) }})
    {%- else -%}
        cast({{ spark_cdc._quote(spec.headers[header]) }} as string)
    {%- endif -%}
{%- endmacro -%}

{#- The operation of a row, from two headers given as SQL. The letter has precedence over the word, except for a
    truncate. -#}
{%- macro _qlik_operation(letter, word) -%}
case
    when {{ word }} = 'TRUNCATE' then 'truncate'
    when coalesce({{ letter }}, '') <> ''
        then {{ spark_cdc._qlik_operation_in(letter, 'letter') | indent(8) }}
    else {{ spark_cdc._qlik_operation_in(word, 'name') | indent(4) }}
end
{%- endmacro -%}

{#- The operation for each letter of change_oper and each word of operation. -#}
{%- macro _qlik_operation_in(expression, form) -%}
    {%- set operations = [
        {'letter': 'I', 'name': 'INSERT', 'operation': 'insert'},
        {'letter': 'U', 'name': 'UPDATE', 'operation': 'update'},
        {'letter': 'D', 'name': 'DELETE', 'operation': 'delete'},
        {'letter': 'B', 'name': 'BEFOREIMAGE', 'operation': 'before image'},
    ] -%}
case {{ expression }}
    {%- for row in operations %}
    when '{{ row[form] }}' then '{{ row.operation }}'
    {%- endfor %}
end
{%- endmacro -%}

{#- 35 digits; the first 16 are a time. Only days 29 to 31 need a look at the calendar. -#}
{%- macro _qlik_change_seq_is_good(change_seq) -%}
octet_length({{ change_seq }}) = 35
and (
    {{ change_seq }} rlike
    '^(?!0000)\\d{4}(0[1-9]|1[0-2])(0[1-9]|1\\d|2[0-8])([01]\\d|2[0-3])([0-5]\\d){2}\\d{21}$'
    or (
        {{ change_seq }} rlike
        '^(?!0000)\\d{4}(0[1-9]|1[0-2])(29|3[01])([01]\\d|2[0-3])([0-5]\\d){2}\\d{21}$'
        and try_cast(
            concat_ws(
                '-',
                left({{ change_seq }}, 4),
                substr({{ change_seq }}, 5, 2),
                substr({{ change_seq }}, 7, 2)
            ) as date
        ) is not null
    )
)
{%- endmacro -%}

{#- The first 16 digits of a good change sequence, YYYYMMDDHHmmSS and hundredths, as a UTC timestamp in every session. It
    uses arithmetic: formatting them as text for a cast takes four times as long. -#}
{%- macro _qlik_time_part(change_seq) -%}
    {%- set digits = 'cast(left(' ~ change_seq ~ ', 16) as bigint)' -%}
    {%- set part = {} -%}
    {%- for name, power, modulus in [
        ('year', 12, 10000), ('month', 10, 100), ('day', 8, 100), ('hour', 6, 100), ('minute', 4, 100), ('second', 2, 100),
        ('hundredth', 0, 100)
    ] -%}
        {%- do part.update({name: digits ~ ' div ' ~ 10 ** power ~ ' % ' ~ modulus}) -%}
    {%- endfor -%}
timestamp_micros(
    cast(
        unix_date(
            make_date(
                cast({{ part.year }} as int),
                cast({{ part.month }} as int),
                cast({{ part.day }} as int)
            )
        ) as bigint
    ) * 86400000000
    + {{ part.hour }} * 3600000000
    + {{ part.minute }} * 60000000
    + {{ part.second }} * 1000000
    + {{ part.hundredth }} * 10000
)
{%- endmacro -%}
