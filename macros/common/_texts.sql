{#- Values as text and as JSON, and how values are compared. -#}

{#- A raw value that is not NULL, as text to show. It is the same in each session. -#}
{%- macro _as_text(expression, data_type) -%}
    {%- set family = spark_cdc._type_facts(data_type).family -%}
    {%- if family == 'text' -%}
        {{ return(spark_cdc._bytewise(expression, data_type)) }}
    {%- elif family == 'timestamp' -%}
        {%- set form = "'yyyy-MM-dd HH:mm:ss.SSSSSS" -%}
        {%- set options = spark_cdc._call('map', [
            "'timeZone', 'UTC'", "'timestampFormat', " ~ form ~ "XXX'", "'timestampNTZFormat', " ~ form ~ "'"
        ]) -%}
        {%- set json = spark_cdc._call('to_json', ['array(' ~ expression ~ ')', options]) -%}
        {{ return(spark_cdc._call('get_json_object', [json, "'$[0]'"])) }}
    {%- elif data_type | lower == 'binary' -%}
        {{ return('hex(' ~ expression ~ ')') }}
    {%- endif -%}
    {{ return('cast(' ~ expression ~ ' as string)') }}
{%- endmacro -%}

{#- Bytes as base64 in one line. Spark breaks it into lines of 76 signs. -#}
{%- macro _base64(expression) -%}
    {{ return("translate(base64(" ~ expression ~ "), concat(chr(13), chr(10)), '')") }}
{%- endmacro -%}

{#- The beginning of a text, for `detail`. Bytes that are no UTF-8 become U+FFFD: after half of a character, `left` would
    read on after the end of the text. -#}
{%- macro _shown(text) -%}
left(make_valid_utf8({{ text }}), 100)
{%- endmacro -%}

{#- The `detail` of a bad_value: the column and the value of the first bad value, and how many there are. `values` is a list
    of {`name`, `type`, `is_bad`: SQL, `text`: SQL}. Spark evaluates it outside of its generated code. -#}
{%- macro _bad_value_detail(values) -%}
    {%- if not values -%}{{ return('cast(null as string)') }}{%- endif -%}
    {%- set lines = [] -%}
    {%- for value in values -%}
        {%- do lines.append(spark_cdc._call('named_struct', [
            "'name', " ~ spark_cdc._literal(value.name),
            "'type', " ~ spark_cdc._literal(value.type),
            "'value', case\n    when\n        " ~ (value.is_bad | indent(8)) ~ '\n        then ' ~ (value.text | indent(8)) ~ '\nend',
        ])) -%}
    {%- endfor -%}
get(
    transform(
        array(
            filter(
                {{ spark_cdc._call('array', lines) | indent(16) }},
                one -> one.value is not null
            )
        ),
        bad -> concat(
            bad[0].name,
            ': \'',
            {{ spark_cdc._shown('bad[0].value') }},
            if(length(bad[0].value) > 100, '...', ''),
            '\' is no ',
            bad[0].type,
            if(size(bad) > 1, concat('; the first of ', size(bad), ' such values'), '')
        )
    ),
    0
)
{%- endmacro -%}

{#- The raw row as JSON: binary as hexadecimal text, times with microseconds, NULLs kept. `columns` is what columns_of
    returns. -#}
{%- macro raw_json(columns) -%}
{{ spark_cdc._raw_row_as_json(spark_cdc._raw_row(columns)) }}
{%- endmacro -%}

{#- A raw row as a struct, and the JSON of one. -#}
{%- macro _raw_row(columns) -%}
    {%- set fields = [] -%}
    {%- for name, data_type in columns.items() -%}
        {%- set value = spark_cdc._with_hex(spark_cdc._quote(name), data_type) -%}
        {%- do fields.append(spark_cdc._literal(name) ~ ', ' ~ (spark_cdc._quote(name) if value is none else value)) -%}
    {%- endfor -%}
    {{ return(spark_cdc._call('named_struct', fields)) }}
{%- endmacro -%}

{%- macro _raw_row_as_json(row) -%}
to_json(
    {{ row | indent(4) }},
    map(
        'ignoreNullFields', 'false',
        {{ spark_cdc._json_times() | indent(8) }}
    )
)
{%- endmacro -%}

{#- The options of to_json that keep times complete, and the same in each session. -#}
{%- macro _json_times() -%}
    {%- set time = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS" -%}
'timeZone', 'UTC',
'timestampFormat', {{ spark_cdc._literal(time ~ 'XXX') }},
'timestampNTZFormat', {{ spark_cdc._literal(time) }}
{%- endmacro -%}

{#- A value in which all binary is hexadecimal text, also in structs, arrays and maps. to_json would write base64. None if
    the type cannot be parsed: Spark writes names of fields without quotes. -#}
{%- macro _with_hex(value, data_type, depth=0) -%}
    {%- set nested = modules.re.fullmatch('(?is)\\s*(array|map|struct)\\s*<(.*)>\\s*', data_type) -%}
    {%- if modules.re.fullmatch('(?is)\\s*binary(\\s+not\\s+null)?(\\s+comment\\b.*)?', data_type) -%}
        {{ return('hex(' ~ value ~ ')') }}
    {%- elif nested is none and not modules.re.fullmatch('(?is)\\s*\\w[\\w ]*(\\([\\d, ]*\\)[\\w ]*)?(\\bcomment\\b.*)?', data_type) -%}
        {{ return(none) }}
    {%- elif nested is none or not modules.re.search('(?i)\\bbinary\\b', data_type) -%}
        {{ return(value) }}
    {%- endif -%}
    {%- set kind, inner = nested.group(1) | lower, spark_cdc._split_type(nested.group(2)) -%}
    {%- set parts = [] -%}
    {%- if kind == 'struct' -%}
        {%- for field in inner -%}
            {%- set found = modules.re.fullmatch('(?s)\\s*(`(?:[^`]|``)*`|[^:]*?)\\s*:(.*)', field) -%}
            {%- if found is none -%}{{ return(none) }}{%- endif -%}
            {%- set name = found.group(1) -%}
            {%- set name = name[1:-1] | replace('``', '`') if name.startswith('`') else name -%}
            {#- not with a dot: a column may have the name of its relation -#}
            {%- set part = spark_cdc._with_hex(value ~ '[' ~ spark_cdc._literal(name) ~ ']', found.group(2), depth) -%}
            {%- do parts.append(none if part is none else spark_cdc._literal(name) ~ ', ' ~ part) -%}
        {%- endfor -%}
    {%- else -%}
        {%- for item_type in inner -%}
            {%- do parts.append(spark_cdc._with_hex(['key_', 'item_'][loop.index0 - inner | length] ~ depth, item_type, depth + 1)) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- if not parts or none in parts or (kind == 'array' and parts | length > 1) or (kind == 'map' and parts | length != 2) -%}
        {{ return(none) }}
    {%- elif kind == 'struct' -%}
        {{ return(spark_cdc._call('if', [value ~ ' is null', 'null', spark_cdc._call('named_struct', parts)])) }}
    {%- elif kind == 'array' -%}
        {{ return(spark_cdc._call('transform', [value, 'item_' ~ depth ~ ' -> ' ~ parts[0]])) }}
    {%- endif -%}
    {%- set entry = '(key_' ~ depth ~ ', item_' ~ depth ~ ') -> ' -%}
    {{ return(spark_cdc._call(
        'transform_values', [spark_cdc._call('transform_keys', [value, entry ~ parts[0]]), entry ~ parts[1]]
    )) }}
{%- endmacro -%}

{#- A value of `data_type` for exact comparison: texts that are equal only under their collation differ. -#}
{%- macro _bytewise(expression, data_type) -%}
    {{ return('cast(' ~ expression ~ ' as string collate utf8_binary)' if ' collate ' in data_type | lower else expression) }}
{%- endmacro -%}

{#- Whether two rows hold the same values. Rows are structs, and `types` is a dict of column -> type. -#}
{%- macro _is_same_row(left, right, types) -%}
{{ left }} <=> {{ right }}
    {%- for name, data_type in types.items() if ' collate ' in data_type | lower %}
        {%- set column = '.' ~ spark_cdc._quote(name) %}
and {{ spark_cdc._bytewise(left ~ column, data_type) }}
<=> {{ spark_cdc._bytewise(right ~ column, data_type) }}
    {%- endfor %}
{%- endmacro -%}
