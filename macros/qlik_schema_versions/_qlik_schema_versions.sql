{#- How metadata messages become versions of tables. -#}

{#- A CTE, `described`, on top of `opened`: of metadata messages the parts of a version, and what is bad in one. -#}
{%- macro _qlik_described() -%}
{%- set parts, typed = {'cdc_lineage': spark_cdc._qlik_member('cdc_inner', 'lineage', 'variant')}, {} -%}
{%- for name, data_type in spark_cdc._qlik_lineage().items() -%}
    {%- set text = 'cdc_lineage_' ~ name | lower -%}
    {%- do parts.update({text: spark_cdc._qlik_member('cdc_inner', 'lineage.' ~ name)}) -%}
    {%- do typed.update({'cdc_source_' ~ name | lower: spark_cdc._typed(text, 'string', data_type)}) -%}
{%- endfor -%}
{{ spark_cdc._qlik_steps('described', 'opened', [
    dict(parts,
        cdc_schema_text=spark_cdc._qlik_member('cdc_inner', 'schemaId'),
        cdc_lineage_timestamp=spark_cdc._qlik_member('cdc_inner', 'lineage.timestamp'),
        cdc_structure=spark_cdc._qlik_member('cdc_inner', 'tableStructure', 'variant'),
        cdc_schema=spark_cdc._qlik_member('cdc_inner', 'dataSchema', 'variant'),
    ),
    {
        'cdc_is_metadata': spark_cdc._qlik_is_metadata('cdc_structure', 'cdc_schema'),
        'cdc_version_id': "if(cdc_schema_text = '', null, cdc_schema_text)",
        'cdc_has_structure': spark_cdc._qlik_is_there('cdc_structure'),
        'cdc_has_data_schema': spark_cdc._qlik_is_there('cdc_schema'),
        'cdc_data_schema': "try_variant_get(cdc_schema, '$', 'string')",
        'cdc_members': spark_cdc._qlik_members_of_columns(),
    },
    {
        'cdc_parsed_schema': spark_cdc._call('if', [
            'cdc_is_metadata and not cdc_has_structure', spark_cdc._qlik_wrapped('cdc_data_schema'), 'null'
        ]),
        'cdc_columns_as_text': spark_cdc._qlik_columns_as_text(),
    },
    {'cdc_fields': spark_cdc._qlik_fields_of_data()},
    {'cdc_typed_columns': spark_cdc._qlik_typed_columns()},
    dict(typed,
        cdc_written_at=spark_cdc._call('coalesce', ['cdc_timestamp', spark_cdc._typed('cdc_lineage_timestamp', 'string', 'timestamp')]),
        cdc_sorted_columns=spark_cdc._call('coalesce', ['array_sort(cdc_typed_columns)', spark_cdc._qlik_fields_as_columns()]),
    ),
    {'cdc_columns': spark_cdc._qlik_columns_of_version(), 'cdc_bad_metadata': spark_cdc._qlik_bad_metadata()},
]) }}
{%- endmacro -%}

{#- Whether a record is a metadata message; one without an envelope is known by its members. -#}
{%- macro _qlik_is_metadata(structure, schema) -%}
if(
    cdc_has_envelope,
    coalesce(cdc_type = 'MD', false),
    {{ structure }} is not null or {{ schema }} is not null
)
{%- endmacro -%}

{#- The columns of tableStructure by name, each with its members as texts. -#}
{%- macro _qlik_members_of_columns() -%}
try_variant_get(
    cdc_structure,
    '$.tableColumns',
    'map<string, struct<{{ spark_cdc._qlik_column_members() | join(': string, ') }}: string>>'
)
{%- endmacro -%}

{#- The field that has a member of a column while it is read; the usual name would make lines too long. -#}
{%- macro _qlik_column_field(name) -%}
    {{ return('key_position' if name == 'primaryKeyPosition' else name) }}
{%- endmacro -%}

{#- The columns of tableStructure, with texts. -#}
{%- macro _qlik_columns_as_text() -%}
    {%- set fields = ["'name', one.key"] -%}
    {%- for name in spark_cdc._qlik_column_members() -%}
        {%- set member = '`' ~ name ~ '`' if name != name | lower else name -%}
        {%- do fields.append("'" ~ spark_cdc._qlik_column_field(name) ~ "', one.value." ~ member) -%}
    {%- endfor -%}
transform(
    map_entries(cdc_members),
    one -> named_struct(
        {{ fields | join(',\n') | indent(8) }}
    )
)
{%- endmacro -%}

{#- The columns of tableStructure, with values of their types. -#}
{%- macro _qlik_typed_columns() -%}
    {%- set fields = [] -%}
    {%- for name, data_type in spark_cdc._qlik_column_members().items() -%}
        {%- set field = spark_cdc._qlik_column_field(name) -%}
        {%- do fields.append("'" ~ field ~ "', " ~ spark_cdc._typed('one.' ~ field, 'string', data_type)) -%}
    {%- endfor -%}
    {%- do fields.insert(1, "'name', one.name") -%}
transform(
    cdc_columns_as_text,
    one -> named_struct(
        {{ fields | join(',\n') | indent(8) }}
    )
)
{%- endmacro -%}

{#- The fields of dataSchema as columns without types; NULL where there is a tableStructure. -#}
{%- macro _qlik_fields_as_columns() -%}
    {%- set types = [] -%}
    {%- for name, data_type in spark_cdc._qlik_column_members().items() -%}
        {%- do types.append(spark_cdc._qlik_column_field(name) ~ ': ' ~ data_type) -%}
    {%- endfor -%}
    {%- do types.insert(1, 'name: string') -%}
transform(
    cdc_fields,
    (name, position) -> cast(
        struct(position + 1, name, null, null, null, null, null, null) as struct<
            {{ types | join(',\n            ') }}
        >
    )
)
{%- endmacro -%}

{#- The columns of a version as `qlik_schema_versions` gives them. -#}
{%- macro _qlik_columns_of_version() -%}
    {%- set fields = ["'name', one.name"] -%}
    {%- for name in spark_cdc._qlik_column_members() -%}
        {%- set given = 'primary_key_position' if name == 'primaryKeyPosition' else name -%}
        {%- do fields.append("'" ~ given ~ "', one." ~ spark_cdc._qlik_column_field(name)) -%}
    {%- endfor -%}
transform(
    cdc_sorted_columns,
    one -> named_struct(
        {{ fields | join(',\n') | indent(8) }}
    )
)
{%- endmacro -%}

{#- What is wrong in a metadata message, in words. -#}
{%- macro _qlik_bad_metadata() -%}
case
    when not cdc_is_metadata then null
    when not {{ spark_cdc._qlik_is_object('cdc_inner') }}
        then 'the message is no object'
    when cdc_version_id is null or left(cdc_version_id, 1) in ('{', '[')
        then 'schemaId is missing or no text'
    when
        {{ spark_cdc._qlik_is_there('cdc_lineage') | indent(8) }}
        and not {{ spark_cdc._qlik_is_object('cdc_lineage') }}
        then 'lineage is no object'
    {%- for name, data_type in spark_cdc._qlik_lineage().items() %}
    {%- set text, value = 'cdc_lineage_' ~ name | lower, 'cdc_source_' ~ name | lower %}
    when {{ 'left(' ~ text ~ ", 1) in ('{', '[')" if data_type == 'string' else text ~ ' is not null and ' ~ value ~ ' is null' }}
        then concat('{{ name }}: \'', left({{ text }}, 100), '\' is no {{ data_type }}')
    {%- endfor %}
    when cdc_has_data_schema and schema_of_variant(cdc_schema) rlike '^(OBJECT|ARRAY)<'
        then 'dataSchema is no text'
    when not cdc_has_structure and not cdc_has_data_schema
        then 'there is no tableStructure and no dataSchema'
    when not cdc_has_structure and cdc_fields is null
        then 'dataSchema has no record data'
    when cdc_has_structure and coalesce(size(cdc_members) = 0, true)
        then 'tableStructure has no tableColumns, or no object in them'
    when
        exists(
            cdc_sorted_columns,
            one -> one.ordinal is null or one.ordinal < 1
        )
        or size(array_distinct(cdc_sorted_columns.ordinal)) < size(cdc_sorted_columns)
        then 'an ordinal is missing, is no whole number from 1 on, or is there twice'
    when
        exists(
            cdc_columns_as_text,
            one -> left(one.type, 1) in ('{', '[')
            {%- for name, data_type in spark_cdc._qlik_column_members().items() if data_type != 'string' and name != 'ordinal' %}
            {%- set text = 'one.' ~ spark_cdc._qlik_column_field(name) %}
            or (
                {{ text }} is not null
                and {{ spark_cdc._typed(text, 'string', data_type) | indent(16) }} is null
            )
            {%- endfor %}
        )
        then 'a value of tableColumns is of another type'
end
{%- endmacro -%}

{#- A condition that holds of every record that can be a metadata message, and of few others. -#}
{%- macro _qlik_may_be_metadata(text, reads_avro) -%}
{{ text }} rlike '"(?i:MD|tableStructure|dataSchema)"|\\\\u{{ '|^atMSG\\u0004MD' if reads_avro }}'
{%- endmacro -%}

{#- The names of the fields of the record `data` in an Avro schema, in order; NULL where it has none. -#}
{%- macro _qlik_fields_of_data() -%}
get(
    filter(
        flatten(
            transform(
                try_variant_get(cdc_parsed_schema, '$[0].fields', 'array<variant>'),
                field -> if(
                    lower(try_variant_get(field, '$.name', 'string')) = 'data',
                    coalesce(
                        transform(
                            try_variant_get(field, '$.type', 'array<variant>'),
                            choice -> try_variant_get(choice, '$.fields', 'array<struct<name: string>>').name
                        ),
                        array(try_variant_get(field, '$.type.fields', 'array<struct<name: string>>').name)
                    ),
                    array()
                )
            )
        ),
        names -> names is not null
    ),
    0
)
{%- endmacro -%}

{#- A CTE, `versions`: one row for each version. Messages that differ in times only tell the same one. -#}
{%- macro _qlik_version_rows() -%}
versions as (
    select
        cdc_version_id as schema_id,
        cdc_source_schema as source_schema,
        cdc_source_table as source_table,
        cdc_source_tableversion as table_version,
        min(cdc_written_at) as written_at,
        cdc_source_server as `server`,
        cdc_source_task as `task`,
        cdc_columns as `columns`,
        cdc_data_schema as data_schema
    from described
    where
        cdc_is_metadata
        and cdc_bad_metadata is null
        and cdc_envelope_reason is null
    group by
        cdc_version_id,
        cdc_source_schema,
        cdc_source_table,
        cdc_source_tableversion,
        cdc_source_server,
        cdc_source_task,
        cdc_columns,
        cdc_data_schema
)
{%- endmacro -%}
