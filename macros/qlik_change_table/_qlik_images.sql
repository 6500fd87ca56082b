{#- The columns of an event: which changed, which are there, and the row after it. -#}

{#- For an update: the names of the columns whose bit is set. -#}
{%- macro _qlik_changed_columns(spec) -%}
    {%- set conditions = {} -%}
    {%- for name in spec.columns -%}
        {%- do conditions.update({name: spark_cdc._qlik_has_bit(spec, name)}) -%}
    {%- endfor -%}
case
    when cdc_mask_0 is not null
        then {{ spark_cdc._qlik_names_where(conditions) | indent(8) }}
end
{%- endmacro -%}

{#- The columns that an event carries; null if all. A delete carries the columns that are not NULL or whose bit is set. An
    update carries the same of its sparse columns, the sparse columns of its before image, and all other columns. -#}
{%- macro _qlik_present_columns(spec) -%}
    {%- set operations = ['delete', 'update'] if spec.sparse else ['delete'] -%}
    {%- set conditions = {} -%}
    {%- for name in spec.columns -%}
        {%- do conditions.update({name: spark_cdc._qlik_is_present(spec, name)}) -%}
    {%- endfor -%}
case
    when
        cdc_operation in ('{{ operations | join("', '") }}')
        and not (
            {{ conditions.values() | join('\nand ') | indent(12) }}
        )
        then {{ spark_cdc._qlik_names_where(conditions) | indent(8) }}
end
{%- endmacro -%}

{#- The names whose condition holds, in order. It uses `filter`, which Spark evaluates outside the code that it generates for
    the whole stage. With so many conditions the JVM could not compile that code. -#}
{%- macro _qlik_names_where(conditions) -%}
filter(
    array(
        {%- for name, condition in conditions.items() %}
        if(
            {{ condition | indent(12) }},
            {{ spark_cdc._literal(name) }},
            null
        ){{ ',' if not loop.last }}
        {%- endfor %}
    ),
    name -> name is not null
)
{%- endmacro -%}

{%- macro _qlik_is_present(spec, name) -%}
(
    cdc_row.{{ spark_cdc._quote(name) }} is not null
    or coalesce({{ spark_cdc._qlik_has_bit(spec, name) }}, false)
    {%- if name in spec.sparse %}
    or cdc_before.{{ spark_cdc._quote(name) }} is not null
    {%- elif spec.sparse %}
    or cdc_operation = 'update'
    {%- endif %}
    {%- if name in spec.key and spec.null_keys %}
    or cdc_operation = 'delete'
    {%- endif %}
)
{%- endmacro -%}

{#- A column of the event. A sparse column comes from the before image if the update does not carry it and its bit is not
    set. -#}
{%- macro _qlik_after_image(spec, name) -%}
    {%- set column = spark_cdc._quote(name) -%}
    {%- if name in spec.sparse -%}
case
    when
        cdc_operation = 'update'
        and cdc_row.{{ column }} is null
        and not coalesce({{ spark_cdc._qlik_has_bit(spec, name) }}, false)
        then cdc_before.{{ column }}
    else cdc_row.{{ column }}
end
    {%- else -%}
    cdc_row.{{ column }}
    {%- endif -%}
{%- endmacro -%}

{#- The row of the table that a raw row holds: `fields`, a struct. `sources` names the columns in the raw row, `types` has their
    types. `casts` and `null_keys` are conditions on the raw row: a value is not of its type, or a column of the key is NULL.
    `bad_values` tells of the former; `collated` are texts as bytes, if their columns have a collation. -#}
{%- macro _qlik_row_of(spec, sources, types) -%}
    {%- set fields, casts, bad_values, null_keys, collated = [], [], [], [], [] -%}
    {%- for name, data_type in spec.columns.items() -%}
        {%- set value = 'cast(null as ' ~ spark_cdc._spaced(data_type) ~ ')' -%}
        {%- if name in sources -%}
            {%- set there, type_there = spark_cdc._quote(sources[name]), types[sources[name]] -%}
            {%- set value = spark_cdc._typed(there, type_there, data_type) -%}
            {%- if spark_cdc._can_be_bad(type_there, data_type) -%}
                {%- do casts.append(there ~ ' is not null and ' ~ value ~ ' is null') -%}
                {%- do bad_values.append({
                    'name': name, 'type': data_type, 'text': spark_cdc._as_text(there, type_there),
                    'is_bad': there ~ ' is not null and cdc_row.' ~ spark_cdc._quote(name) ~ ' is null',
                }) -%}
            {%- endif -%}
            {%- if ' collate ' in data_type | lower -%}{%- do collated.append(spark_cdc._bytewise(value, data_type)) -%}{%- endif -%}
            {%- if name in spec.key and not spec.null_keys -%}{%- do null_keys.append(value ~ ' is null') -%}{%- endif -%}
        {%- endif -%}
        {%- do fields.append(spark_cdc._literal(name) ~ ', ' ~ value) -%}
    {%- endfor -%}
    {{ return({
        'fields': spark_cdc._call('named_struct', fields), 'casts': casts, 'bad_values': bad_values, 'null_keys': null_keys,
        'collated': collated,
    }) }}
{%- endmacro -%}

{#- The text that explains the reason to a person. -#}
{%- macro _qlik_detail(spec) -%}
case cdc_reason
    when 'bad_change_seq' then concat('change_seq is ', coalesce(cdc_change_seq, 'NULL'))
    when 'unknown_operation'
        then concat(
            'change_oper is ',
            coalesce(cdc_change_oper, 'NULL'),
            ', operation is ',
            coalesce(cdc_operation_name, 'NULL')
        )
    when 'operation_mismatch'
        then concat('change_oper is ', cdc_change_oper, ', operation is ', cdc_operation_name)
    when 'bad_mask'
        then concat(
            'change_mask is ',
            cdc_mask_as_written,
            '; bits {{ spec.first_bit }} to {{ spec.end_bit - 1 }} are data columns, read {{ spec.byte_order }}-endian'
        )
    when 'sequence_conflict' then concat('another row has change_seq ', cdc_change_seq)
    when 'orphan_before_image' then concat('no update has change_seq ', cdc_change_seq)
    when 'null_key'
        then {{ spark_cdc._qlik_null_key_detail(spec) | indent(8) }}
    when 'bad_value' then cdc_bad_values
end
{%- endmacro -%}

{#- The columns of the key that are NULL. -#}
{%- macro _qlik_null_key_detail(spec) -%}
    {%- set nulls = [] -%}
    {%- for name in spec.key -%}
        {%- do nulls.append('if(cdc_row.' ~ spark_cdc._quote(name) ~ ' is null, ' ~ spark_cdc._literal(name) ~ ', null)') -%}
    {%- endfor -%}
concat(
    array_join(
        filter(
            array(
                {{ nulls | join(',\n') | indent(16) }}
            ),
            name -> name is not null
        ),
        ', '
    ),
    ' of the key is NULL'
)
{%- endmacro -%}
