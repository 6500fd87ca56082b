{#- From data messages to rows: values of their types, images, and why a message cannot be one. -#}

{#- CTEs to `contents`: each delivery of a message of the table, decoded as its first delivery says (rules 10 to 15). -#}
{%- macro _qlik_decoded(spec, as_delivered=false) -%}
{%- set has_metadata = 'metadata' in spec.lookups -%}
{{ spark_cdc._qlik_recognised(spec, as_delivered) }},

data_messages as (
    select *
    from recognised
    where
        {% if as_delivered -%}
        cdc_first_reason is not null
        or {% endif -%}
        (
            cdc_first_reason is null
            and cdc_form <> 'tombstone'
            and not cdc_is_metadata
            {%- if spec.table or spec.schema %}
            and not {{ spark_cdc._qlik_is_of_other_table(spec) }}
            {%- endif %}
        )
),

{{ spark_cdc._qlik_aligned(spec) }},

{{ spark_cdc._qlik_placed(spec, as_delivered) }},

delivered as (
    select
        *,
        row_number() over in_order as cdc_delivery_number,
        first_value(cdc_timestamp) over in_order as cdc_first_timestamp
    from placed
    window in_order as (
        partition by cdc_place, cdc_position, cdc_message
        order by cdc_timestamp asc nulls last, cdc_topic asc, cdc_partition asc, cdc_offset asc
    )
),
{% if has_metadata %}
{{ spark_cdc._qlik_versioned(spec) }},
{% endif %}
{{ spark_cdc._qlik_typed(spec, 'versioned' if has_metadata else 'delivered') }},

{{ spark_cdc._qlik_steps('judged_alone', 'typed', [{'cdc_reason': spark_cdc._qlik_reason(spec)}]) }},

{{ spark_cdc._qlik_contents(spec, as_delivered) }}
{%- endmacro -%}


{#- A CTE, `typed`: the values of both images with the types of the columns. -#}
{%- macro _qlik_typed(spec, source) -%}
    {%- set typed, listed, texts = {}, [], [] -%}
    {%- for name, data_type in spec.columns.items() -%}
        {%- set place = 'array_position(cdc_list, ' ~ spark_cdc._literal(name | lower) ~ ')' -%}
        {%- do listed.append(spark_cdc._call('if', [place ~ ' > 0', 'cast(' ~ place ~ ' as int)', 'null'])) -%}
        {%- do texts.append(spark_cdc._qlik_text_of_column(loop.index0)) -%}
        {%- do typed.update({
            'cdc_value_' ~ loop.index0: spark_cdc._typed('get(cdc_texts, ' ~ loop.index0 ~ ')', 'string', data_type),
            'cdc_old_' ~ loop.index0: spark_cdc._typed('get(cdc_before_texts, ' ~ loop.index0 ~ ')', 'string', data_type),
        }) -%}
    {%- endfor -%}
    {%- set ordinals = spark_cdc._call('if', ['size(cdc_names_outside) > 0', 'array()', 'sequence(1, size(cdc_list))']) -%}
    {%- set bits = spark_cdc._call('array', listed) -%}
    {%- if 'metadata' in spec.lookups -%}
        {%- set ordinals = spark_cdc._call('coalesce', ['cdc_version_ordinals', ordinals]) -%}
        {%- set bits = spark_cdc._call('coalesce', ['cdc_version_places', bits]) -%}
    {%- endif -%}
{{ spark_cdc._qlik_steps('typed', source, [
    {'cdc_ordinals': ordinals, 'cdc_bits': bits},
    {'cdc_texts': spark_cdc._call('array', texts)},
    typed,
]) }}
{%- endmacro -%}

{#- The text of the column at `index`: of the row image, else of the before image, if the change did not touch it. -#}
{%- macro _qlik_text_of_column(index) -%}
coalesce(
    get(cdc_row_texts, {{ index }}),
    case
        when
            (
                not get(cdc_there, {{ index }})
                or coalesce(not {{ spark_cdc._qlik_bit_of('cdc_column_bits', index) }}, false)
            )
            and not coalesce({{ spark_cdc._qlik_bit_of('cdc_changed_bits', index) }}, false)
            then get(cdc_before_texts, {{ index }})
    end
)
{%- endmacro -%}

{#- The values that may be bad, as `_bad_value_detail` takes them: for each column its value, then the one before. -#}
{%- macro _qlik_values_to_judge(spec) -%}
    {%- set values = [] -%}
    {%- for name, data_type in spec.columns.items() -%}
        {%- set index = loop.index0 -%}
        {%- set text, old = 'get(cdc_texts, ' ~ index ~ ')', 'get(cdc_before_texts, ' ~ index ~ ')' -%}
        {%- do values.append({
            'name': name, 'type': data_type, 'text': text,
            'is_bad': text ~ ' is not null\nand (cdc_value_' ~ index ~ ' is null or get(cdc_nested, ' ~ index ~ '))',
        }) -%}
        {%- do values.append({
            'name': name, 'type': data_type, 'text': old,
            'is_bad': old ~ " is not null\nand cdc_operation in ('update', 'delete')\nand (cdc_old_" ~ index
                ~ ' is null or get(cdc_before_nested, ' ~ index ~ '))',
        }) -%}
    {%- endfor -%}
    {{ return(values) }}
{%- endmacro -%}

{#- Why a data message is in quarantine: rules 1 to 14. -#}
{%- macro _qlik_reason(spec) -%}
    {%- set is_bad, null_keys = [], [] -%}
    {%- for value in spark_cdc._qlik_values_to_judge(spec) -%}
        {%- do is_bad.append('(\n    ' ~ value.is_bad | indent(4) ~ '\n)') -%}
    {%- endfor -%}
    {%- for name in spec.columns if name in spec.key -%}
        {%- do null_keys.append('cdc_value_' ~ (spec.columns | list).index(name) ~ ' is null') -%}
    {%- endfor -%}
case
    when cdc_first_reason is not null then cdc_first_reason
    {%- if 'metadata' in spec.lookups %}
    when
        (cdc_changed_bits is not null or cdc_column_bits is not null)
        and cdc_schema_id is not null
        and not cdc_has_version
        {%- if spec.reads_avro %}
        and not cdc_is_avro
        {%- endif %}
        then 'unknown_schema'
    when
        (cdc_changed_bits is not null or cdc_column_bits is not null)
        and cdc_version_ordinals is null
        {%- if spec.reads_avro %}
        and not cdc_is_avro
        {%- endif %}
        and cdc_table_schema is null
        and cdc_table_name is null
        and cdc_number > 1
        then 'unknown_table'
    {%- endif %}
    when
        {{ spark_cdc._qlik_has_bit_outside('cdc_changed_bits') | indent(8) }}
        or {{ spark_cdc._qlik_has_bit_outside('cdc_column_bits') | indent(8) }}
        then 'bad_mask'
    when
        {{ is_bad | join('\nor ') | indent(8) }}
        then 'bad_value'
    when
        {{ null_keys | join('\nor ') | indent(8) }}
        then 'null_key'
end
{%- endmacro -%}

{#- A CTE, `contents`: what each delivery would change, as one struct. -#}
{%- macro _qlik_contents(spec, as_delivered) -%}
    {%- set row, before = [], [] -%}
    {%- for name in spec.columns -%}
        {%- do row.append(spark_cdc._literal(name) ~ ', cdc_value_' ~ loop.index0) -%}
        {%- do before.append(spark_cdc._literal(name) ~ ', cdc_old_' ~ loop.index0) -%}
    {%- endfor -%}
contents as (
    select
        *,
        {%- if as_delivered %}
        case
            when cdc_reason = 'bad_value'
                then {{ spark_cdc._bad_value_detail(spark_cdc._qlik_values_to_judge(spec)) | indent(16) }}
        end as cdc_bad_values,
        {%- endif %}
        case
            when cdc_reason is null
                then struct(
                    cdc_operation,
                    cdc_transaction_id,
                    {{ spark_cdc._call('named_struct', row) | indent(20) }} as cdc_row,
                    case
                        when cdc_operation in ('update', 'delete') and cdc_has_before
                            then {{ spark_cdc._call('named_struct', before) | indent(28) }}
                    end as cdc_before,
                    {{ spark_cdc._qlik_changed_names(spec) | indent(20) }} as cdc_changed_columns,
                    {{ spark_cdc._qlik_present_names(spec) | indent(20) }} as cdc_present_columns
                )
        end as cdc_content,
        lpad(cast(coalesce(cdc_partition, 0) as string), 10, '0') as cdc_partition_digits
    from judged_alone
    {%- if 'offset' in spec.found %}
    where {{ spark_cdc._qlik_once() }}
    distribute by cdc_place
    {%- endif %}
)
{%- endmacro -%}
