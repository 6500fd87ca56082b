{#- The schemas of a feed in Kafka Connect's JSON, and the texts with them. -#}

{#- The schema of a type, as a dict. -#}
{%- macro _connect_type(data_type, optional=true, field=none) -%}
    {%- set parts, of, fields = spark_cdc._connect_parts(data_type), {}, [] -%}
    {%- if parts is none -%}
        {%- do of.update(spark_cdc._connect_simple(data_type)) -%}
    {%- elif parts.kind == 'array' -%}
        {%- do of.update({'type': 'array', 'items': spark_cdc._connect_type(parts.of[0][1])}) -%}
    {%- else -%}
        {%- for name, inner in parts.of -%}{%- do fields.append(spark_cdc._connect_type(inner, true, name)) -%}{%- endfor -%}
        {%- do of.update({'type': 'struct', 'fields': fields}) -%}
    {%- endif -%}
    {%- do of.update({'optional': optional}) -%}
    {%- if field is not none -%}{%- do of.update({'field': field}) -%}{%- endif -%}
    {{ return(of) }}
{%- endmacro -%}

{#- A struct with a name, as a dict. -#}
{%- macro _connect_struct(fields, name, optional=false, field=none) -%}
    {%- set of = {'type': 'struct', 'fields': fields, 'optional': optional, 'name': name, 'version': 1} -%}
    {%- if field is not none -%}{%- do of.update({'field': field}) -%}{%- endif -%}
    {{ return(of) }}
{%- endmacro -%}

{#- The schemas of the named columns. Only a key is never NULL. -#}
{%- macro _connect_columns(spec, names) -%}
    {%- set fields = [] -%}
    {%- for name in names -%}
        {%- do fields.append(spark_cdc._connect_type(spec.types[name], name not in spec.key or spec.null_keys, name)) -%}
    {%- endfor -%}
    {{ return(fields) }}
{%- endmacro -%}

{%- macro _connect_key_schema(spec) -%}
    {{ return(spark_cdc._connect_struct(spark_cdc._connect_columns(spec, spec.key), spec.names ~ '.Key')) }}
{%- endmacro -%}

{%- macro _connect_envelope_schema(spec) -%}
    {%- set row = spark_cdc._connect_columns(spec, spec.columns) -%}
    {%- set times, source = [], [] -%}
    {%- for name in ('ts_ms', 'ts_us', 'ts_ns') -%}{%- do times.append(spark_cdc._connect_type('bigint', true, name)) -%}{%- endfor -%}
    {%- for name, value in spec.source.items() -%}{%- do source.append(spark_cdc._connect_type(value.type, true, name)) -%}{%- endfor -%}
    {{ return(spark_cdc._connect_struct(
        [
            spark_cdc._connect_struct(row, spec.names ~ '.Value', true, 'before'),
            spark_cdc._connect_struct(row, spec.names ~ '.Value', true, 'after'),
            spark_cdc._connect_struct(
                source + times + [
                    spark_cdc._connect_type('string', false, 'snapshot'),
                    spark_cdc._connect_type('string', false, 'sequence'),
                    spark_cdc._connect_type('array<string>', true, 'unavailable_columns'),
                ],
                spec.names ~ '.Source', false, 'source'
            ),
            spark_cdc._connect_type('string', false, 'op'),
        ] + times + [
            spark_cdc._connect_struct(
                [
                    spark_cdc._connect_type('string', false, 'id'),
                    spark_cdc._connect_type('bigint', true, 'total_order'),
                    spark_cdc._connect_type('bigint', true, 'data_collection_order'),
                ],
                'event.block', true, 'transaction'
            ),
        ],
        spec.names ~ '.Envelope'
    )) }}
{%- endmacro -%}

{#- A struct as JSON text, in an object with its schema if there is one. The schema is cut into lines: it is one long text. -#}
{%- macro _connect_text(value, schema=none) -%}
    {%- set payload = spark_cdc._call('to_json', [value, "map('ignoreNullFields', 'false')"]) -%}
    {%- if not schema -%}{{ return(payload) }}{%- endif -%}
    {%- set lines, line = [], namespace(text='') -%}
    {%- for part in modules.re.findall('[^,]*,?', '{"schema":' ~ spark_cdc._connect_json(schema) ~ ',"payload":') -%}
        {%- if line.text and line.text | length + part | length > 80 -%}
            {%- do lines.append(spark_cdc._literal(line.text)) -%}
            {%- set line.text = '' -%}
        {%- endif -%}
        {%- set line.text = line.text ~ part -%}
    {%- endfor -%}
    {%- do lines.append(spark_cdc._literal(line.text)) -%}
    {{ return(spark_cdc._call('concat', lines + [payload, "'}'"])) }}
{%- endmacro -%}

{#- Compact JSON of dicts, lists and simple values. -#}
{%- macro _connect_json(value) -%}
    {%- set parts = [] -%}
    {%- if value is mapping -%}
        {%- for name, inner in value.items() -%}{%- do parts.append(tojson(name) ~ ':' ~ spark_cdc._connect_json(inner)) -%}{%- endfor -%}
        {{ return('{' ~ parts | join(',') ~ '}') }}
    {%- elif value is sequence and value is not string -%}
        {%- for inner in value -%}{%- do parts.append(spark_cdc._connect_json(inner)) -%}{%- endfor -%}
        {{ return('[' ~ parts | join(',') ~ ']') }}
    {%- endif -%}
    {{ return(tojson(value)) }}
{%- endmacro -%}
