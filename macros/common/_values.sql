{#- Values of raw rows: to the declared types, and verbatim for quarantine. -#}

{#- A raw value as `data_type`; null if it is not one. Text without a zone is UTC. char and varchar are strings, as in every
    select: a table that is made of it then takes longer values too. -#}
{%- macro _typed(expression, type_there, data_type) -%}
    {%- set wanted, there = data_type | lower | replace(' ', ''), type_there | lower | replace(' ', '') -%}
    {%- if wanted.startswith(('char(', 'varchar(')) -%}
        {%- set wanted, data_type = 'string', 'string' -%}
    {%- endif -%}
    {%- if wanted == there -%}
        {{ return(expression) }}
    {%- elif wanted == 'timestamp' and there.startswith(('string', 'varchar', 'char')) -%}
        {%- set text = 'trim(' ~ expression ~ ')' -%}
        {#- Spark reads a time without a date as one of today -#}
        {{ return(
            "case\n    when " ~ text ~ " rlike '^[+-]?[0-9]{4}'\n        then coalesce(\n            try_cast(concat(" ~ text
            ~ ", 'Z') as timestamp),\n            try_cast(concat(" ~ text
            ~ ", 'T00:00:00Z') as timestamp),\n            try_cast(" ~ text ~ " as timestamp)\n        )\nend"
        ) }}
    {%- elif wanted == 'binary' and there.startswith(('string', 'varchar', 'char')) -%}
        {{ return('unhex(' ~ expression ~ ')') }}
    {%- endif -%}
    {{ return('try_cast(' ~ expression ~ ' as ' ~ data_type ~ ')') }}
{%- endmacro -%}

{#- A value of `data_type` as what equals another only if it is the same, where a collation calls more texts equal. -#}
{%- macro _bytewise(expression, data_type) -%}
    {{ return('cast(' ~ expression ~ ' as string collate utf8_binary)' if ' collate ' in data_type | lower else expression) }}
{%- endmacro -%}

{#- Whether two rows, structs with columns of these types, a dict, hold the same values. -#}
{%- macro _is_same_row(left, right, types) -%}
{{ left }} <=> {{ right }}
    {%- for name, data_type in types.items() if ' collate ' in data_type | lower %}
        {%- set column = '.' ~ spark_cdc._quote(name) %}
and {{ spark_cdc._bytewise(left ~ column, data_type) }}
<=> {{ spark_cdc._bytewise(right ~ column, data_type) }}
    {%- endfor %}
{%- endmacro -%}

{#- The raw row as JSON, binary as hex, NULLs kept. `columns` as columns_of gives them. -#}
{%- macro _raw_json(columns) -%}
    {%- set fields = [] -%}
    {%- for name, data_type in columns.items() -%}
        {%- set value = spark_cdc._quote(name) -%}
        {%- do fields.append(
            spark_cdc._literal(name) ~ ', ' ~ ('hex(' ~ value ~ ')' if data_type | lower == 'binary' else value)
        ) -%}
    {%- endfor -%}
to_json(
    named_struct(
        {{ fields | join(',\n') | indent(8) }}
    ),
    map('ignoreNullFields', 'false')
)
{%- endmacro -%}

{#- The run that writes: later runs compare greater. -#}
{%- macro _batch() -%}
    {{ return(run_started_at.strftime('%Y-%m-%dT%H:%M:%S.%fZ')) }}
{%- endmacro -%}
