{#- The arguments of `gbase_capture`, checked, and the types of a column in the stream. -#}

{#- The spec of one table of a stream: a dict of what is known before any row is read. Wrong arguments stop here. -#}
{%- macro _spec_gbase_capture(
    relation, table_id, key, columns, gbase_encoding=none, gbase_rtrim_char=none, null_keys=false, before_image='row'
) -%}
    {%- set me = 'gbase_capture' -%}
    {%- set example = "{{ spark_cdc.gbase_capture(source('gbase', 'chunks'), table_id=7, key=['id'], columns={'id': 'int'}) }}" -%}
    {%- do spark_cdc._check_functions(me, ['spark_cdc_gbase_stretches', 'spark_cdc_gbase_records', 'spark_cdc_gbase_changes'], '4.1') -%}
    {%- set in_relation = spark_cdc._raw_columns_in(relation) -%}
    {%- set types = {} -%}
    {%- for name, data_type in in_relation.items() -%}{%- do types.update({name | lower: data_type | lower}) -%}{%- endfor -%}
    {%- set integers = 'bigint|int|smallint|tinyint|long|integer' -%}
    {#- a capture_id of another type has different texts in different time zones, or in JSON -#}
    {%- for name, accepted in [
        ('capture_id', '(string|varchar|char|date|' ~ integers ~ ')\\b.*'), ('chunk_number', integers), ('payload', 'binary')
    ] -%}
        {%- if not modules.re.fullmatch(accepted, types.get(name, '')) -%}
            {{ spark_cdc._stop(
                me, relation ~ ' has ' ~ (name ~ ' of type ' ~ types[name] if name in types else 'no column ' ~ name),
                'one row for each read of the capture: capture_id string, chunk_number bigint, payload binary',
                'create view chunks as select session as capture_id, n as chunk_number, unhex(bytes) as payload from …'
            ) }}
        {%- endif -%}
    {%- endfor -%}
    {%- if table_id is not integer or table_id is boolean or table_id | abs >= 2 ** 31 -%}
        {{ spark_cdc._stop(
            me, 'table_id is ' ~ table_id, 'the 32-bit number that was given to cdc_startcapture for this table', example
        ) }}
    {%- endif -%}
    {%- if columns is not mapping or not columns -%}
        {{ spark_cdc._stop(
            me, 'columns is ' ~ ('empty' if columns is mapping else columns), 'a dict of name -> Spark SQL type',
            "columns={'id': 'int', 'amount': 'decimal(12,2)'}"
        ) }}
    {%- endif -%}
    {%- do spark_cdc._check_table_columns(me, columns, in_relation, example) -%}
    {%- for name, data_type in columns.items() -%}{%- do spark_cdc._check_cast(me, name, 'string', data_type) -%}{%- endfor -%}
    {%- set encoding = var('spark_cdc_gbase_encoding', 'utf-8') if gbase_encoding is none else gbase_encoding -%}
    {%- if encoding is not string -%}
        {{ spark_cdc._stop(
            me, 'gbase_encoding is ' ~ encoding, "the name of a character set that Python knows, such as 'utf-8', 'gb18030', 'gbk', 'latin-1'",
            "gbase_encoding='gb18030'"
        ) }}
    {%- endif -%}
    {%- set rtrim_char = var('spark_cdc_gbase_rtrim_char', false) if gbase_rtrim_char is none else gbase_rtrim_char -%}
    {%- if rtrim_char is not boolean -%}
        {{ spark_cdc._stop(me, 'gbase_rtrim_char is ' ~ rtrim_char, 'true or false', 'gbase_rtrim_char=true') }}
    {%- endif -%}
    {%- do spark_cdc._check_null_keys(me, null_keys) -%}
    {{ return(dict({
        'relation': relation,
        'table_id': table_id,
        'key': spark_cdc._resolve_key(me, key, columns | list, example),
        'null_keys': null_keys,
        'columns': columns,
        'raw_columns': in_relation,
        'encoding': encoding,
        'rtrim_char': rtrim_char,
    }, **spark_cdc._before_image(me, before_image))) }}
{%- endmacro -%}

{#- How the Python functions give the values of a type: as numbers of one kind if possible, else as text. -#}
{%- macro _gbase_family(data_type) -%}
    {%- set facts = spark_cdc._type_facts(data_type) -%}
    {%- if facts.family in ('integer', 'date') -%}
        {{ return(facts.family) }}
    {%- elif facts.family == 'floating' -%}
        {{ return('float') }}
    {%- elif facts.family == 'decimal' and facts.scale <= 18 -%}
        {{ return('decimal:' ~ facts.scale) }}
    {%- elif data_type | lower | trim in ('timestamp', 'timestamp_ltz') -%}
        {{ return('timestamp') }}
    {%- endif -%}
    {{ return('text') }}
{%- endmacro -%}

{#- A number of a family as a value of its type. -#}
{%- macro _gbase_native(number, family, data_type) -%}
    {%- if family == 'date' -%}
        {{ return('date_from_unix_date(cast(' ~ number ~ ' as int))') }}
    {%- elif family == 'timestamp' -%}
        {{ return('timestamp_micros(' ~ number ~ ')') }}
    {%- elif family.startswith('decimal:') -%}
        {{ return('try_cast(' ~ spark_cdc._gbase_scaled(number, family) ~ ' as ' ~ spark_cdc._spaced(data_type) ~ ')') }}
    {%- endif -%}
    {{ return(spark_cdc._typed(number, 'double' if family == 'float' else 'bigint', data_type)) }}
{%- endmacro -%}

{#- Digits without their point as a decimal. -#}
{%- macro _gbase_scaled(number, family) -%}
    {%- set scale = family[8:] | int -%}
    {%- set unit = ('0.' ~ '0' * (scale - 1) ~ '1BD') if scale else '1BD' -%}
    {{ return('cast(' ~ number ~ ' as decimal(19, 0)) * ' ~ unit) }}
{%- endmacro -%}

{#- The settings of the function that makes change events: JSON in SQL, one column in each line. -#}
{%- macro _gbase_settings(spec) -%}
    {%- set families = [] -%}
    {%- for name, data_type in spec.columns.items() -%}
        {%- do families.append(tojson(name) ~ ': ' ~ tojson(spark_cdc._gbase_family(data_type))) -%}
    {%- endfor -%}
    {%- set given = {'table_id': spec.table_id, 'encoding': spec.encoding, 'rtrim_char': spec.rtrim_char} -%}
    {#- the function checks that no key column is null -#}
    {%- set lines = [tojson(given)[1:-1], '"key": ' ~ tojson([] if spec.null_keys else spec.key)] -%}
    {{ return(spark_cdc._literal('{' ~ lines | join(',\n') ~ ',\n"columns": {\n' ~ families | join(',\n') ~ '\n}}')) }}
{%- endmacro -%}
