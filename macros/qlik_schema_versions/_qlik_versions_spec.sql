{#- The argument of `qlik_schema_versions`, checked, and the members of metadata messages. -#}

{#- The columns of `qlik_schema_versions` that are members of a metadata message, by the part of the message that they are in. -#}
{%- macro _qlik_column_type() -%}
    {{ return(
        'struct<name: string, ordinal: int, type: string, length: bigint, precision: int, scale: int, primary_key_position: int,'
        ~ ' nullable: boolean>'
    ) }}
{%- endmacro -%}

{#- The facts of a relation with metadata messages, as a dict; a relation that cannot be one stops. It has the parts of a decoder's spec,
    for `quarantine` and `raw_counts`. -#}
{%- macro _spec_qlik_schema_versions(metadata) -%}
    {%- set in_relation = spark_cdc._raw_columns_in(metadata) -%}
    {%- set found = spark_cdc._qlik_find_record_columns('qlik_schema_versions', 'metadata', metadata, in_relation) -%}
    {%- set reads_avro = spark_cdc._qlik_reads_avro(found, in_relation) -%}
    {{ return({
        'relation': metadata,
        'raw_columns': in_relation,
        'key': ['schema_id'],
        'columns': {
            'schema_id': 'string', 'source_schema': 'string', 'source_table': 'string', 'table_version': 'bigint',
            'written_at': 'timestamp', 'server': 'string', 'task': 'string', 'columns': 'array<' ~ spark_cdc._qlik_column_type() ~ '>',
            'data_schema': 'string',
        },
        'found': found,
        'reads_avro': reads_avro,
        'functions': ['spark_cdc_qlik_avro'] if reads_avro else [],
    }) }}
{%- endmacro -%}

{#- The members of a metadata message's lineage, and those of one of its columns, each with its type. -#}
{%- macro _qlik_lineage() -%}
    {{ return({'schema': 'string', 'table': 'string', 'tableVersion': 'bigint', 'server': 'string', 'task': 'string'}) }}
{%- endmacro -%}

{%- macro _qlik_column_members() -%}
    {{ return({
        'ordinal': 'int', 'type': 'string', 'length': 'bigint', 'precision': 'int', 'scale': 'int', 'primaryKeyPosition': 'int',
        'nullable': 'boolean',
    }) }}
{%- endmacro -%}
