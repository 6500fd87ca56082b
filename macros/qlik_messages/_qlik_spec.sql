{#- The arguments of `qlik_messages`, checked. -#}

{#- The facts of one table in a relation of messages, as a dict; bad arguments stop here. -#}
{%- macro _spec_qlik_messages(
    messages, key, columns, table=none, schema=none, metadata=none, versions=none, before_image='row'
) -%}
    {%- set me = 'qlik_messages' -%}
    {%- set example = "{{ spark_cdc.qlik_messages(source('kafka', 'orders'), key=['order_id'],"
        ~ " columns={'order_id': 'bigint', 'amount': 'decimal(12,2)'}, metadata=source('kafka', 'metadata')) }}" -%}
    {%- set in_relation, computed = spark_cdc._raw_columns_in(messages), {} -%}
    {%- if 'cdc_message' in in_relation -%}
        {%- set computed = spark_cdc._qlik_computed(in_relation) -%}
        {%- for name in computed -%}{%- do in_relation.pop(name) -%}{%- endfor -%}
        {%- if metadata is not none or versions is not none -%}
            {{ spark_cdc._stop(
                me, messages ~ ' is a log of messages, and ' ~ ('metadata' if versions is none else 'versions') ~ ' is given',
                'neither metadata nor versions: the messages of such a log have been read', "spark_cdc.qlik_messages_log(…, versions=ref('erp_versions'))"
            ) }}
        {%- endif -%}
    {%- endif -%}
    {%- for name, value in {'table': table, 'schema': schema}.items() -%}
        {%- if value is not none and (value is not string or not value | trim) -%}
            {{ spark_cdc._stop(
                me, name ~ ' is ' ~ (value if value is not string else 'empty'), 'a text, or none', name ~ "='" ~ ('ORDERS' if name == 'table' else 'APP') ~ "'"
            ) }}
        {%- endif -%}
    {%- endfor -%}
    {%- if columns is not mapping or not columns -%}
        {{ spark_cdc._stop(
            me, 'columns is ' ~ ('empty' if columns is mapping else columns), 'a dict of name -> Spark SQL type', example
        ) }}
    {%- endif -%}
    {%- do spark_cdc._check_table_columns(me, columns, in_relation, example) -%}
    {%- for name, data_type in columns.items() -%}{%- do spark_cdc._check_cast(me, name, 'string', data_type) -%}{%- endfor -%}
    {%- if metadata is not none and versions is not none -%}
        {{ spark_cdc._stop(me, 'metadata and versions are both given', 'one of them', "versions=ref('erp_versions')") }}
    {%- endif -%}
    {%- do spark_cdc._check_qlik_versions(me, versions) -%}
    {%- do spark_cdc._check_functions(me, ['spark_cdc_qlik_message'], '4.0') -%}
    {%- set lookups, in_metadata = {}, spark_cdc.columns_of(metadata) if metadata is not none else {} -%}
    {%- if metadata is not none -%}{%- do lookups.update({'metadata': metadata}) -%}{%- endif -%}
    {%- if versions is not none -%}{%- do lookups.update({'versions': versions}) -%}{%- endif -%}
    {{ return(dict({
        'relation': messages,
        'lookups': lookups,
        'raw_columns': in_relation,
        'computed': computed,
        'is_delivered': 'cdc_resolved_id is null' if computed else none,
        'found': spark_cdc._qlik_find_record_columns(me, 'messages', messages, in_relation),
        'avro_mask_byte_order': spark_cdc._qlik_mask_byte_order(me),
        'metadata_columns': in_metadata,
        'metadata_found': spark_cdc._qlik_find_record_columns(me, 'metadata', metadata, in_metadata) if metadata is not none else {},
        'key': spark_cdc._resolve_key(me, key, columns | list, example),
        'columns': columns,
        'table': table | trim | lower if table is not none else none,
        'schema': schema | trim | lower if schema is not none else none,
    }, **spark_cdc._before_image(me, before_image))) }}
{%- endmacro -%}


{#- Stops if a relation does not have the columns of `qlik_schema_versions`. -#}
{%- macro _check_qlik_versions(me, versions) -%}
    {%- set there = spark_cdc.columns_of(versions) if versions is not none else none -%}
    {%- for name in spark_cdc._qlik_version_columns() if there is not none and name not in there -%}
        {{ spark_cdc._stop(
            me, 'versions ' ~ versions ~ ' has no column ' ~ name ~ '; it has ' ~ there | join(', '),
            'a relation that qlik_schema_versions made', "versions=ref('erp_versions')"
        ) }}
    {%- endfor -%}
{%- endmacro -%}

{#- The order of the bytes of a mask in Avro messages, `big` or `little`. -#}
{%- macro _qlik_mask_byte_order(me) -%}
    {%- set byte_order = var('spark_cdc_qlik_avro_mask_byte_order', 'big') -%}
    {%- if byte_order not in ('big', 'little') -%}
        {{ spark_cdc._stop(
            me, 'the var spark_cdc_qlik_avro_mask_byte_order is ' ~ byte_order, 'big, or little, the order of the bytes of a mask in Avro messages',
            'vars: {spark_cdc_qlik_avro_mask_byte_order: little}'
        ) }}
    {%- endif -%}
    {{ return(byte_order) }}
{%- endmacro -%}
