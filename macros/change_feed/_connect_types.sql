{#- Types and values as Kafka Connect's JSON converter has them, with Debezium's types of times. -#}

{#- The parts of a nested type: a dict with `kind` (array or struct) and `of` (a list of [name, type]). Other types have none. Nor
    have types that cannot be parsed, since Spark writes names of fields without quotes. -#}
{%- macro _connect_parts(data_type) -%}
    {%- set nested = modules.re.fullmatch('(?is)\\s*(array|struct)\\s*<(.*)>\\s*', data_type) -%}
    {%- if nested is none -%}{{ return(none) }}{%- endif -%}
    {%- set kind, of = nested.group(1) | lower, [] -%}
    {%- for part in spark_cdc._split_type(nested.group(2)) -%}
        {%- if kind == 'array' -%}
            {%- do of.append(['', part | trim]) -%}
        {%- else -%}
            {%- set end = '(.*?)(?:\\s+not\\s+null)?(?:\\s+comment\\s.*)?' -%}
            {%- set field = modules.re.fullmatch('(?is)\\s*(`(?:[^`]|``)*`|[^:`<(]+?)\\s*:\\s*' ~ end, part)
                or modules.re.fullmatch('(?is)\\s*(`(?:[^`]|``)*`|\\w+)\\s+' ~ end, part) -%}
            {%- if field is none -%}{{ return(none) }}{%- endif -%}
            {%- set name = field.group(1) -%}
            {%- do of.append([name[1:-1] | replace('``', '`') if name.startswith('`') else name, field.group(2)]) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return({'kind': kind, 'of': of} if of and (kind == 'struct' or of | length == 1) else none) }}
{%- endmacro -%}

{#- The schema of a type without nested types, as Kafka Connect writes it; or none. -#}
{%- macro _connect_simple(data_type) -%}
    {%- set of = spark_cdc._spelled(data_type) -%}
    {%- set plain = {
        'boolean': 'boolean', 'tinyint': 'int8', 'smallint': 'int16', 'int': 'int32', 'bigint': 'int64', 'float': 'float',
        'double': 'double', 'binary': 'bytes',
    } -%}
    {%- set named = {
        'date': ('int32', 'io.debezium.time.Date'),
        'timestamp': ('string', 'io.debezium.time.ZonedTimestamp'),
        'timestamp_ntz': ('int64', 'io.debezium.time.MicroTimestamp'),
        'timestampwithouttimezone': ('int64', 'io.debezium.time.MicroTimestamp'),
    } -%}
    {%- set number = modules.re.fullmatch('decimal\\((\\d+),(\\d+)\\)', of) -%}
    {%- if of in plain -%}
        {{ return({'type': plain[of]}) }}
    {%- elif of in named -%}
        {{ return({'type': named[of][0], 'name': named[of][1], 'version': 1}) }}
    {%- elif number -%}
        {{ return({
            'type': 'bytes', 'name': 'org.apache.kafka.connect.data.Decimal', 'version': 1,
            'parameters': {'scale': number.group(2), 'connect.decimal.precision': number.group(1)},
        }) }}
    {%- endif -%}
    {{ return({'type': 'string'} if spark_cdc._type_facts(data_type).family == 'text' else none) }}
{%- endmacro -%}

{#- Stops for a type that has no form in Kafka Connect. -#}
{%- macro _check_connect_type(me, what, data_type) -%}
    {%- if not spark_cdc._is_connect_type(data_type) -%}
        {{ spark_cdc._stop(
            me, what ~ ' is of type ' ~ data_type ~ ', which has no form in Kafka Connect',
            'boolean, numbers, text, binary, date, timestamp, timestamp_ntz, and arrays and structs of these; or schema=false, which keeps'
            ~ ' every type. Turn it into text in a view of the change events, in the row and in cdc_before',
            "{{ spark_cdc.change_feed(ref('orders__changes'), key=['order_id'], schema=false) }}"
        ) }}
    {%- endif -%}
{%- endmacro -%}

{%- macro _is_connect_type(data_type) -%}
    {%- set parts = spark_cdc._connect_parts(data_type) -%}
    {%- if parts is none -%}{{ return(spark_cdc._connect_simple(data_type) is not none) }}{%- endif -%}
    {%- for _, inner in parts.of if not spark_cdc._is_connect_type(inner) -%}{{ return(false) }}{%- endfor -%}
    {{ return(true) }}
{%- endmacro -%}

{#- A value for `to_json`. JSON has neither NaN nor infinite numbers: they are NULL. -#}
{%- macro _connect_value(value, data_type, depth=0) -%}
    {%- set parts, of = spark_cdc._connect_parts(data_type), spark_cdc._spelled(data_type) -%}
    {%- if parts is not none -%}
        {{ return(spark_cdc._connect_nested(value, parts, depth)) }}
    {%- elif of == 'binary' -%}
        {{ return(spark_cdc._base64(value)) }}
    {%- elif of.startswith('decimal') -%}
        {{ return(spark_cdc._connect_decimal(value, of)) }}
    {%- elif of == 'date' -%}
        {{ return('unix_date(' ~ value ~ ')') }}
    {%- elif of == 'timestamp' -%}
        {{ return(spark_cdc._call('concat', [
            spark_cdc._call('replace', [spark_cdc._time_text(value, 'timestamp'), "' '", "'T'"]), "'Z'"
        ])) }}
    {%- elif of.startswith('timestamp') -%}
        {{ return(spark_cdc._call('unix_micros', [spark_cdc._clock_in_utc(value)])) }}
    {%- elif of in ('float', 'double') -%}
        {{ return('case\n    when abs(' ~ value ~ ") < cast('infinity' as double)\n        then " ~ value ~ '\nend') }}
    {%- endif -%}
    {{ return(value) }}
{%- endmacro -%}

{%- macro _connect_nested(value, parts, depth) -%}
    {%- if parts.kind == 'array' -%}
        {%- set item = 'item_' ~ depth -%}
        {%- set inner = spark_cdc._connect_value(item, parts.of[0][1], depth + 1) -%}
        {{ return(value if inner == item else spark_cdc._call('transform', [value, item ~ ' -> ' ~ inner])) }}
    {%- endif -%}
    {%- set lines = [] -%}
    {%- for name, inner in parts.of -%}
        {#- not with a dot: a column may have the name of its relation -#}
        {%- do lines.append(spark_cdc._literal(name) ~ ', '
            ~ spark_cdc._connect_value(value ~ '[' ~ spark_cdc._literal(name) ~ ']', inner, depth)) -%}
    {%- endfor -%}
    {{ return('case\n    when ' ~ value ~ ' is not null\n        then ' ~ spark_cdc._call('named_struct', lines) | indent(8) ~ '\nend') }}
{%- endmacro -%}

{#- A decimal as Kafka Connect's Decimal: the unscaled number as bytes, the highest first, in base64. Its text has all digits of
    that number, also with an exponent. -#}
{%- macro _connect_decimal(value, of) -%}
    {%- set digits = spark_cdc._call('regexp_replace', ['cast(' ~ value ~ ' as string)', "'[.]|E.*$'", "''"]) -%}
    {%- if modules.re.match('decimal\\((\\d+)', of).group(1) | int <= 18 -%}
        {{ return(spark_cdc._call('base64', [
            spark_cdc._call('unhex', [spark_cdc._call('lpad', [
                spark_cdc._call('hex', [spark_cdc._call('cast', [digits ~ '\nas bigint'])]), '16', "'0'"
            ])])
        ])) }}
    {%- endif -%}
    {#- in base 2 ** 64: two parts, the lower one without a sign -#}
    {{ return(spark_cdc._call('base64', [spark_cdc._call('unhex', [spark_cdc._call('get', [spark_cdc._call('transform', [
        spark_cdc._call('array', [spark_cdc._call('cast', [digits ~ '\nas decimal(38, 0)'])]),
        'number -> ' ~ spark_cdc._call('concat', [
            "lpad(\n    hex(\n        number div 18446744073709551616\n"
            ~ "        - if(number < 0 and number % 18446744073709551616 <> 0, 1, 0)\n    ),\n    16,\n    '0'\n)",
            "lpad(hex(pmod(number, 18446744073709551616) div 4294967296), 8, '0')",
            "lpad(hex(cast(pmod(number, 4294967296) as bigint)), 8, '0')",
        ])
    ]), '0'])])])) }}
{%- endmacro -%}
