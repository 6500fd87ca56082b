{#- The masks of a message: which columns it carries, and which of them changed. -#}

{#- The digits of a mask with the lowest byte last. Masks in Avro may have it first: their order is not known. -#}
{%- macro _qlik_digits_in_order(digits) -%}
if(
    cdc_form = 'avro',
    regexp_replace(reverse({{ digits }}), '(.)(.)', '$2$1'),
    {{ digits }}
)
{%- endmacro -%}

{#- A mask, given as hexadecimal digits, as text: a character for each bit, the lowest first, l where it is set. NULL where it
    is NULL or not hexadecimal. The pattern finds the bits of each digit in a list at the end of the text. -#}
{%- macro _qlik_bits(digits) -%}
    {%- set bits = [] -%}
    {%- for value in range(16) -%}
        {%- do bits.append(('%X' | format(value)) ~ ('{:04b}'.format(value) | replace('0', 'o') | replace('1', 'l'))) -%}
    {%- endfor -%}
case
    when unhex({{ digits }}) is null then null
    when length({{ digits }}) between 1 and 16
        then translate(
            reverse(lpad(conv({{ digits }}, 16, 2), length({{ digits }}) * 4, '0')),
            '01',
            'ol'
        )
    else reverse(
        regexp_replace(
            concat(
                upper({{ digits }}),
                ':{{ bits | join }}'
            ),
            '([0-9A-F])(?=[0-9A-F]*+:(?:[0-9A-F][ol]{4})*?\\1([ol]{4}))|:.*',
            '$2'
        )
    )
end
{%- endmacro -%}

{#- Whether a bit is set, of the column at `index`; NULL where the version has no such column. -#}
{%- macro _qlik_bit_of(bits, index) -%}
    {{ return('substr(' ~ bits ~ ', get(cdc_bits, ' ~ index ~ "), 1) = 'l'") }}
{%- endmacro -%}

{#- Whether a mask has a bit for which there is no column. -#}
{%- macro _qlik_has_bit_outside(bits) -%}
coalesce(
    length(replace({{ bits }}, 'o', ''))
    > size(
        filter(
            cdc_ordinals,
            place -> substr({{ bits }}, place, 1) = 'l'
        )
    ),
    false
)
{%- endmacro -%}

{#- The names of the members of the row image in the order of the message, in lower case. -#}
{%- macro _qlik_written_names() -%}
    {%- set object -%}
json_object_keys(
    case
        when cdc_data is not null and cdc_has_envelope
            then get_json_object(cdc_value, '$.message.data')
        when cdc_data is not null
            then get_json_object(cdc_value, '$.data')
        when cdc_before_data is not null and cdc_has_envelope
            then get_json_object(cdc_value, '$.message.beforeData')
        when cdc_before_data is not null
            then get_json_object(cdc_value, '$.beforeData')
        else cdc_key
    end
)
    {%- endset -%}
    {{ return(spark_cdc._qlik_lower(object)) }}
{%- endmacro -%}

{#- The order of columns where no version tells it. In Avro, the order of the fields. In JSON, the members of the row image in
    the order of the message, if all columns of the call are among them, in the order of the call. Else the columns of the
    call: they are those of the table, in its order. All names are in lower case. -#}
{%- macro _qlik_list_of_names(reads_avro) -%}
if(
    {% if reads_avro -%}
    cdc_form = 'avro'
    or {% endif -%}
    array_intersect(cdc_names_in_order, cdc_own_names) = cdc_own_names,
    cdc_names_in_order,
    cdc_own_names
)
{%- endmacro -%}

{#- Members that contradict this order: the table has columns that the call does not name, so nothing tells the places. -#}
{%- macro _qlik_names_outside() -%}
    {{ return('array_except(cdc_names_in_order, cdc_list)') }}
{%- endmacro -%}

{#- Names in lower case, without a lambda: each one takes Spark another round of resolving. -#}
{%- macro _qlik_lower(names) -%}
    {%- if '\n' not in names -%}
        {{ return('split(lower(array_join(' ~ names ~ ", chr(31))), chr(31))") }}
    {%- endif -%}
    {%- set joined = spark_cdc._call('array_join', [names, 'chr(31)']) -%}
    {{ return(spark_cdc._call('split', [spark_cdc._call('lower', [joined]), 'chr(31)'])) }}
{%- endmacro -%}

{#- The names of the table's columns as an array, in order. -#}
{%- macro _qlik_names(spec, is_lower=false, is_sorted=false) -%}
    {%- set names = [] -%}
    {%- for name in (spec.columns | sort(case_sensitive=true) if is_sorted else spec.columns) -%}
        {%- do names.append(spark_cdc._literal(name | lower if is_lower else name)) -%}
    {%- endfor -%}
    {{ return(spark_cdc._call('array', names)) }}
{%- endmacro -%}

{#- Of an update: the names of the columns that have their bit in the change mask. -#}
{%- macro _qlik_changed_names(spec) -%}
    {%- set conditions = {} -%}
    {%- for name in spec.columns -%}
        {%- do conditions.update({name: spark_cdc._qlik_bit_of('cdc_changed_bits', loop.index0)}) -%}
    {%- endfor -%}
case
    when cdc_operation = 'update' and cdc_changed_bits is not null
        then {{ spark_cdc._qlik_names_where(conditions) | indent(8) }}
end
{%- endmacro -%}

{#- The columns that a message carries, or whose value its before image tells; NULL if it tells all columns. -#}
{%- macro _qlik_present_names(spec) -%}
    {%- set conditions = {} -%}
    {%- for name in spec.columns -%}
        {%- set bit = spark_cdc._qlik_bit_of('cdc_column_bits', loop.index0) -%}
        {%- do conditions.update({
            name: 'get(cdc_texts, ' ~ loop.index0 ~ ') is not null\nor (\n    get(cdc_there, ' ~ loop.index0 ~ ')\n    and coalesce(' ~ bit ~ ', true)\n)'
        }) -%}
    {%- endfor -%}
nullif(
    {{ spark_cdc._qlik_names_where(conditions) | indent(4) }},
    {{ spark_cdc._qlik_names(spec) | indent(4) }}
)
{%- endmacro -%}
