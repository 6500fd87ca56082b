{#- Where the values of the columns are in each image of a message. -#}

{#- A CTE, `aligned`: where the members of each image have the values of the columns. -#}
{%- macro _qlik_aligned(spec) -%}
    {%- set places, before_places = [], [] -%}
    {%- for name in spec.columns -%}
        {%- for image, into in [('', places), ('before_', before_places)] -%}
            {%- do into.append(spark_cdc._qlik_place_in(
                'cdc_' ~ image ~ 'names', spark_cdc._literal(name),
                'array_position(cdc_' ~ image ~ 'lower_names, ' ~ spark_cdc._literal(name | lower) ~ ')'
            )) -%}
        {%- endfor -%}
    {%- endfor -%}
{{ spark_cdc._qlik_steps('aligned', 'data_messages', [
    {
        'cdc_names': 'map_keys(cdc_written)',
        'cdc_lower_names': spark_cdc._qlik_lower('map_keys(cdc_written)'),
        'cdc_values': 'map_values(cdc_written)',
        'cdc_before_names': 'map_keys(cdc_before_data)',
        'cdc_before_lower_names': 'cdc_before_data_names',
        'cdc_before_values': 'map_values(cdc_before_data)',
        'cdc_variants': spark_cdc._qlik_variants_if_nested('cdc_written', ['data', 'beforeData']),
        'cdc_before_variants': spark_cdc._qlik_variants_if_nested('cdc_before_data', ['beforeData']),
        'cdc_own_names': spark_cdc._qlik_names(spec, is_lower=true),
        'cdc_names_in_order': spark_cdc._qlik_names_if_needed(spec),
    },
    {
        'cdc_places': spark_cdc._call('array', places),
        'cdc_before_places': spark_cdc._call('array', before_places),
        'cdc_list': spark_cdc._qlik_list_of_names(spec.reads_avro),
    },
]) }}
{%- endmacro -%}

{#- The place of a name in an array, or another one if it is not there. -#}
{%- macro _qlik_place_in(names, name, other) -%}
cast(
    if(
        array_position({{ names }}, {{ name }}) > 0,
        array_position({{ names }}, {{ name }}),
        {{ other }}
    ) as int
)
{%- endmacro -%}

{#- The values of an image as variants, if one of them can be an object or an array: of the first member that is an object. -#}
{%- macro _qlik_variants_if_nested(texts, members) -%}
    {%- set images = [] -%}
    {%- for name in members -%}{%- do images.append(spark_cdc._qlik_member('cdc_inner', name, 'map<string, variant>')) -%}{%- endfor -%}
case
    when array_join(map_values({{ texts }}), ' ') rlike '[{\\[]'
        then map_values({{ spark_cdc._call('coalesce', images + ['null']) | indent(8) }})
end
{%- endmacro -%}

{#- The names in the order of the message, if it has masks and no version tells the order. -#}
{%- macro _qlik_names_if_needed(spec) -%}
case
    {%- if spec.reads_avro %}
    when cdc_form = 'avro' then {{ spark_cdc._qlik_lower('cdc_field_names') }}
    {%- endif %}
    when
        (cdc_changed_bits is not null or cdc_column_bits is not null)
        and map_keys(cdc_written) <> {{ spark_cdc._qlik_names(spec, is_sorted=true) | indent(8) }}
        {%- if 'metadata' in spec.lookups %}
        and cdc_id is null
        and cdc_schema_id is null
        {%- endif %}
        then {{ spark_cdc._qlik_written_names() | indent(8) }}
end
{%- endmacro -%}


{#- A CTE, `placed`: all that a row says by itself. -#}
{%- macro _qlik_placed(spec, as_delivered) -%}
-- messages that belong together have one place: changes by the time part of their sequence,
-- loads by their record
placed as (
    select
        {%- if as_delivered %}
        cdc_raw,
        cdc_type,
        cdc_value,
        {%- endif %}
        md5(cdc_value) as cdc_hash,
        cdc_topic,
        cdc_partition,
        cdc_offset,
        cdc_timestamp,
        cdc_first_reason,
        cdc_operation,
        {%- for name in spark_cdc._qlik_headers() %}
        {{ spark_cdc._qlik_header_column(name) }},
        {%- endfor %}
        cdc_change_seq,
        cdc_transaction_id,
        cdc_schema_id,
        cdc_message_id,
        cdc_table_schema,
        cdc_table_name,
        {%- if 'metadata' in spec.lookups %}
        cdc_id is not null as cdc_has_version,
        sort_array(cdc_lower_names) as cdc_written_names,
        cdc_number,
        -- a message that names no table is of the only one
        coalesce(cdc_table_name, if(cdc_number = 1, cdc_one_name, null)) as cdc_table_of_versions,
        {%- endif %}
        cdc_changed_bits,
        cdc_column_bits,
        cdc_list,
        {{ spark_cdc._qlik_names_outside() }} as cdc_names_outside,
        {%- if spec.reads_avro %}
        cdc_form = 'avro' as cdc_is_avro,
        {%- endif %}
        {%- if spec.reads_avro and as_delivered %}
        cdc_avro_detail,
        {%- endif %}
        {%- for image in ('', 'before_') %}
        {%- set there, texts, nested = [], [], [] %}
        {%- for name in spec.columns %}
        {%- set place = 'get(cdc_' ~ image ~ 'places, ' ~ loop.index0 ~ ')' %}
        {%- do there.append(place ~ ' > 0') %}
        {%- do texts.append('get(cdc_' ~ image ~ 'values, ' ~ place ~ ' - 1)') %}
        {%- do nested.append(spark_cdc._qlik_is_nested('cdc_' ~ image ~ 'values', 'cdc_' ~ image ~ 'variants', place ~ ' - 1')) %}
        {%- endfor %}
        {{ spark_cdc._call('array', texts) | indent(8) }} as cdc_{{ image or 'row_' }}texts,
        {{ spark_cdc._call('array', there) | indent(8) }} as cdc_{{ image }}there,
        {{ spark_cdc._call('array', nested) | indent(8) }} as cdc_{{ image }}nested,
        {%- endfor %}
        cdc_before_data is not null as cdc_has_before,
        {%- if 'offset' in spec.found %}
        if(
            cdc_operation = 'load' and cdc_offset is not null,
            concat_ws('.', cdc_offset, cdc_topic),
            md5(cdc_value)
        ) as cdc_message,
        {%- else %}
        md5(cdc_value) as cdc_message,
        {%- endif %}
        -- among records of a place: loads by their partition
        if(cdc_operation = 'load', cast(cdc_partition as string), cdc_change_seq) as cdc_position,
        if(
            cdc_operation = 'load' or cdc_first_reason is not null,
            xxhash64(cdc_partition, coalesce(cast(cdc_offset as string), cdc_value)),
            xxhash64(left(cdc_change_seq, 16))
        ) as cdc_place
    from aligned
    where {{ spark_cdc._qlik_once() }}
    distribute by cdc_place
)
{%- endmacro -%}

{#- Whether a value is an object or an array. -#}
{%- macro _qlik_is_nested(values, variants, place) -%}
coalesce(left(get({{ values }}, {{ place }}), 1) in ('{', '['), false)
and coalesce(
    regexp_like(
        schema_of_variant(get({{ variants }}, {{ place }})),
        '^(OBJECT|ARRAY)<'
    ),
    false
)
{%- endmacro -%}
