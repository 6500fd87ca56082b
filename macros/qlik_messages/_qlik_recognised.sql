{#- From opened records to data messages: their members, their tables, and why a record is no such message. -#}

{#- CTEs to `recognised`: of data messages their members, and the reason why a record cannot be one (rules 1 to 10). -#}
{%- macro _qlik_recognised(spec, as_delivered=false) -%}
{%- set headers = {} -%}
{%- for name in spark_cdc._qlik_headers() -%}
    {%- do headers.update({spark_cdc._qlik_header_column(name): "try_element_at(cdc_headers, '" ~ name ~ "')"}) -%}
{%- endfor -%}
{%- set digits, in_order = 'digits', [] -%}
{%- if spec.reads_avro and spec.avro_mask_byte_order == 'little' -%}
    {%- set digits = 'ordered' -%}
    {%- do in_order.append({
        'cdc_changed_ordered': spark_cdc._qlik_digits_in_order('cdc_changed_digits'),
        'cdc_column_ordered': spark_cdc._qlik_digits_in_order('cdc_column_digits'),
    }) -%}
{%- endif -%}
{%- set source = 'identified' -%}
{%- if 'metadata' in spec.lookups -%}
    {%- set source = source ~ '\nleft join versions_by_id\n    on identified.cdc_message_id = versions_by_id.cdc_id' -%}
{%- endif -%}
{{ spark_cdc._qlik_opened(spec.relation, spec.found, spec.raw_columns, spec.reads_avro, as_delivered=as_delivered,
    has_versions='metadata' in spec.lookups) }},

{{ spark_cdc._qlik_known_tables(spec) }},

{{ spark_cdc._qlik_steps('identified', 'opened\ncross join known_tables', [
    dict(headers,
        cdc_structure=spark_cdc._qlik_member('cdc_inner', 'tableStructure', 'variant'),
        cdc_data_schema=spark_cdc._qlik_member('cdc_inner', 'dataSchema', 'variant'),
        cdc_record_schema='lower(' ~ spark_cdc._qlik_member('cdc_inner', 'schema') ~ ')',
        cdc_record_table='lower(' ~ spark_cdc._qlik_member('cdc_inner', 'table') ~ ')',
        cdc_data=spark_cdc._qlik_member('cdc_inner', 'data', 'map<string, string>'),
        cdc_before_data=spark_cdc._qlik_member('cdc_inner', 'beforeData', 'map<string, string>'),
    ),
    {
        'cdc_is_metadata': spark_cdc._qlik_is_metadata('cdc_structure', 'cdc_data_schema'),
        'cdc_data_names': spark_cdc._qlik_lower('map_keys(cdc_data)'),
        'cdc_before_data_names': spark_cdc._qlik_lower('map_keys(cdc_before_data)'),
        'cdc_change_seq': 'cdc_header_change_sequence',
        'cdc_operation': spark_cdc._qlik_operation_of_message(),
        'cdc_message_id': spark_cdc._call(
            'coalesce', ['cdc_schema_id', "if(cdc_header_external_schema_id = '', null, cdc_header_external_schema_id)"]
        ),
        'cdc_transaction_id': "if(cdc_header_transaction_id = '', null, cdc_header_transaction_id)",
        'cdc_changed_digits': spark_cdc._call('if', [
            "cdc_header_operation <=> 'DELETE'", 'null', spark_cdc._qlik_mask_digits('trim(cdc_header_change_mask)')
        ]),
        'cdc_column_digits': spark_cdc._qlik_mask_digits('trim(cdc_header_column_mask)'),
        'cdc_key_data': spark_cdc._qlik_key_if_needed(),
    },
] + in_order + [
    {
        'cdc_changed_bits': spark_cdc._qlik_bits('cdc_changed_' ~ digits),
        'cdc_column_bits': spark_cdc._qlik_bits('cdc_column_' ~ digits),
        'cdc_written': spark_cdc._qlik_row_image(),
        'cdc_has_good_change_seq': spark_cdc._qlik_change_seq_is_good('cdc_change_seq'),
    },
]) }},

{{ spark_cdc._qlik_steps('recognised', source, [
    {'columns': ['cdc_table_schema', 'cdc_table_name'], 'of_struct': spark_cdc._qlik_table_of_message(spec)},
    {'cdc_first_reason': spark_cdc._qlik_first_reason(spec)},
]) }}
{%- endmacro -%}

{#- The operation of a message in our words; NULL for others. -#}
{%- macro _qlik_operation_of_message() -%}
case cdc_header_operation
    when 'REFRESH' then 'load'
    when 'INSERT' then 'insert'
    when 'UPDATE' then 'update'
    when 'DELETE' then 'delete'
end
{%- endmacro -%}

{#- The key of a record whose message is a delete without a row. -#}
{%- macro _qlik_key_if_needed() -%}
case
    when cdc_header_operation = 'DELETE' and cdc_data is null and cdc_before_data is null
        then {{ spark_cdc._qlik_wrapped('cdc_key') | indent(8) }}
end
{%- endmacro -%}

{#- The row image of a message: the after image, of a delete the before image or the key of the record. -#}
{%- macro _qlik_row_image() -%}
coalesce(
    cdc_data,
    if(cdc_header_operation = 'DELETE', cdc_before_data, null),
    try_variant_get(
        {{ spark_cdc._qlik_unwrapped('cdc_key_data', 'cdc_key') | indent(8) }},
        '$',
        'map<string, string>'
    )
)
{%- endmacro -%}


{#- The table that the key of a record names. -#}
{%- macro _qlik_table_of_key() -%}
get(
    filter(
        try_element_at(
            cdc_by_key,
            regexp_replace(lower(cdc_key), '[^\\p{L}\\p{N}]', '.')
        ),
        one -> lower(cdc_key) = concat(
            one.schema,
            substr(lower(cdc_key), length(one.schema) + 1, 1),
            one.name
        )
        and substr(cdc_key, length(one.schema) + 1, 1) rlike '[^\\p{L}\\p{N}]'
    ),
    0
)
{%- endmacro -%}

{#- The table that the topic of a record names. -#}
{%- macro _qlik_table_of_topic() -%}
try_element_at(
    cdc_by_topic,
    if(
        map_contains_key(cdc_by_topic, lower(cdc_topic)),
        lower(cdc_topic),
        regexp_extract(lower(cdc_topic), cdc_end_of_topic, 1)
    )
)
{%- endmacro -%}

{#- The table that the namespace of an Avro record ends in. -#}
{%- macro _qlik_table_of_namespace() -%}
try_element_at(
    cdc_by_topic,
    regexp_extract('.' || lower(cdc_namespace), cdc_end_of_topic, 1)
)
{%- endmacro -%}

{#- The table of a message (rule 6): a schema and a name in lower case. -#}
{%- macro _qlik_table_of_message(spec) -%}
case
    when
        cdc_record_table is not null
        and (
            cdc_record_schema is not null
            or not coalesce(map_contains_key(cdc_by_name, cdc_record_table), false)
        )
        then named_struct('schema', cdc_record_schema, 'name', cdc_record_table)
    when cdc_record_table is not null then try_element_at(cdc_by_name, cdc_record_table)
    {%- if 'metadata' in spec.lookups %}
    when size(cdc_tables_of_id) = 1 then cdc_tables_of_id[0]
    {%- endif %}
    else coalesce(
        {%- if spec.reads_avro %}
        {{ spark_cdc._qlik_table_of_namespace() | indent(8) }},
        {%- endif %}
        {{ spark_cdc._qlik_table_of_key() | indent(8) }},
        {{ spark_cdc._qlik_table_of_topic() | indent(8) }}
    )
end
{%- endmacro -%}

{#- Whether a message is of another table than the call's. -#}
{%- macro _qlik_is_of_other_table(spec) -%}
    {%- set differences = [] -%}
    {%- for part, column in [(spec.table, 'cdc_table_name'), (spec.schema, 'cdc_table_schema')] if part -%}
        {%- do differences.append('coalesce(' ~ column ~ ' <> ' ~ spark_cdc._literal(part) ~ ', false)') -%}
    {%- endfor -%}
    {{ return('(' ~ differences | join(' or ') ~ ')') }}
{%- endmacro -%}


{#- Why a record is no data message that can be read: rules 1 to 10. -#}
{%- macro _qlik_first_reason(spec) -%}
{%- set no_table = "'unknown_table'" -%}
{%- if 'metadata' in spec.lookups -%}
    {%- set no_table = "if(cdc_schema_id is not null and cdc_id is null, 'unknown_schema', 'unknown_table')" -%}
{%- endif -%}
case
    when cdc_envelope_reason is not null then cdc_envelope_reason
    when cdc_form = 'tombstone' then null
    when cdc_is_metadata then null
    when
        cdc_headers is null
        and not {{ spark_cdc._qlik_is_object('cdc_inner') }}
        then 'bad_message'
    when cdc_headers is null
        then {{ spark_cdc._qlik_layout_reason() | indent(8) }}
    when
        (
            cdc_data is null
            and {{ spark_cdc._qlik_is_there(spark_cdc._qlik_member('cdc_inner', 'data', 'variant')) | indent(12) }}
        )
        or (
            cdc_before_data is null
            and {{ spark_cdc._qlik_is_there(spark_cdc._qlik_member('cdc_inner', 'beforeData', 'variant')) | indent(12) }}
        )
        or {{ spark_cdc._qlik_row_is_ambiguous(spec, 'cdc_data') | indent(8) }}
        or {{ spark_cdc._qlik_row_is_ambiguous(spec, 'cdc_before_data') | indent(8) }}
        then 'bad_message'
    {%- if spec.table or spec.schema %}
    when cdc_table_schema is null and cdc_table_name is null
        then {{ no_table }}
    when {{ spark_cdc._qlik_is_of_other_table(spec) }}
        then null
    {%- endif %}
    when cdc_operation is null then 'unknown_operation'
    when cdc_written is null
        then if(
            {{ spark_cdc._qlik_member('cdc_inner', 'data', 'variant') }} is null
            and {{ spark_cdc._qlik_member('cdc_inner', 'beforeData', 'variant') }} is null,
            'unsupported_layout',
            'missing_data'
        )
    when cdc_operation <> 'load' and not coalesce(cdc_has_good_change_seq, false)
        then 'bad_change_seq'
    when
        (
            cdc_header_change_mask is not null
            and cdc_operation <> 'delete'
            and cdc_changed_bits is null
        )
        or (cdc_header_column_mask is not null and cdc_column_bits is null)
        then 'bad_mask'
end
{%- endmacro -%}

{#- Whether several members of a row have a column's name in other capitals, and no member has the name itself. -#}
{%- macro _qlik_row_is_ambiguous(spec, members) -%}
    {%- set lower_names, ambiguous = members ~ '_names', [] -%}
    {%- for name in spec.columns -%}
        {%- do ambiguous.append(
            '(\n    not map_contains_key(' ~ members ~ ', ' ~ spark_cdc._literal(name) ~ ')\n    and size(array_remove(' ~ lower_names ~ ', '
            ~ spark_cdc._literal(name | lower) ~ ')) < size(' ~ members ~ ') - 1\n)'
        ) -%}
    {%- endfor -%}
coalesce(
    size({{ members }}) > size(array_distinct({{ lower_names }}))
    and (
        {{ ambiguous | join('\nor ') | indent(8) }}
    ),
    false
)
{%- endmacro -%}
