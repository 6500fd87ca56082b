{#- From messages to rows: values of their types, images, and why a message cannot be one. -#}

{#- CTEs to `contents`: each delivery of a message of the table, decoded as its first delivery says (rules 10 to 15). -#}
{%- macro _qlik_decoded(spec) -%}
{{ spark_cdc._qlik_messages_of_table(spec) }},

{{ spark_cdc._qlik_delivered(spec) }},

{{ spark_cdc._qlik_aligned(spec) }},

{{ spark_cdc._qlik_typed(spec) }},

{{ spark_cdc._qlik_steps('judged_alone', 'typed', [{'cdc_reason': spark_cdc._qlik_reason(spec)}]) }},

{{ spark_cdc._qlik_contents(spec) }}
{%- endmacro -%}


{#- A CTE, `aligned`: of the columns in their order the texts in each image, and where their bits are. -#}
{%- macro _qlik_aligned(spec) -%}
    {%- set places = {} -%}
    {%- for image in ('', 'before_') -%}
        {%- do places.update({
            'cdc_' ~ image ~ 'places': spark_cdc._qlik_places_in('cdc_' ~ image ~ 'names', 'cdc_' ~ image ~ 'lower_names'),
        }) -%}
    {%- endfor -%}
{{ spark_cdc._qlik_steps('aligned', 'told', [
    {'cdc_own': spark_cdc._qlik_names(spec), 'cdc_lower_own': spark_cdc._qlik_names(spec, is_lower=true)},
    dict(places, cdc_list=spark_cdc._qlik_list_of_names()),
    {
        'cdc_row_values': 'transform(cdc_places, place -> get(cdc_texts, place - 1))',
        'cdc_is_nested': 'transform(cdc_places, place -> array_contains(cdc_nested, place - 1))',
        'cdc_before_values': 'transform(cdc_before_places, place -> get(cdc_before_texts, place - 1))',
        'cdc_before_is_nested': 'transform(cdc_before_places, place -> array_contains(cdc_before_nested, place - 1))',
        'cdc_lower_list': 'transform(cdc_list, name -> lower(name))',
    },
    {'cdc_bits': spark_cdc._call('transform', [
        spark_cdc._qlik_places_in('cdc_list', 'cdc_lower_list'), 'place -> nullif(place, 0)'
    ])},
    {'cdc_values': spark_cdc._qlik_texts_of_columns()},
]) }}
{%- endmacro -%}

{#- The place of each column among names, from 1 on: exactly, else ignoring case. 0 if it is not there. -#}
{%- macro _qlik_places_in(names, lower_names) -%}
transform(
    cdc_own,
    name -> cast(
        if(
            array_position({{ names }}, name) > 0,
            array_position({{ names }}, name),
            array_position({{ lower_names }}, lower(name))
        ) as int
    )
)
{%- endmacro -%}

{#- The text of each column: of the row image, else of the before image, if the change did not touch it. -#}
{%- macro _qlik_texts_of_columns() -%}
transform(
    cdc_row_values,
    (value, i) -> coalesce(
        value,
        case
            when
                (
                    coalesce(get(cdc_places, i), 0) = 0
                    or not {{ spark_cdc._qlik_is_bit_set('cdc_carried_bits', 'true') }}
                )
                and not {{ spark_cdc._qlik_is_bit_set('cdc_changed_bits', 'false') }}
                then get(cdc_before_values, i)
        end
    )
)
{%- endmacro -%}


{#- A CTE, `typed`: the values of both images with the types of the columns. -#}
{%- macro _qlik_typed(spec) -%}
    {%- set typed = {} -%}
    {%- for name, data_type in spec.columns.items() -%}
        {%- do typed.update({
            'cdc_value_' ~ loop.index0: spark_cdc._typed('get(cdc_values, ' ~ loop.index0 ~ ')', 'string', data_type),
            'cdc_old_' ~ loop.index0: spark_cdc._typed('get(cdc_before_values, ' ~ loop.index0 ~ ')', 'string', data_type),
        }) -%}
    {%- endfor -%}
{{ spark_cdc._qlik_steps('typed', 'aligned', [typed]) }}
{%- endmacro -%}

{#- The values that may be bad, as `_bad_value_detail` takes them: for each column its value, then the one before. -#}
{%- macro _qlik_values_to_judge(spec) -%}
    {%- set values = [] -%}
    {%- for name, data_type in spec.columns.items() -%}
        {%- set index = loop.index0 -%}
        {%- set text, old = 'get(cdc_values, ' ~ index ~ ')', 'get(cdc_before_values, ' ~ index ~ ')' -%}
        {%- do values.append({
            'name': name, 'type': data_type, 'text': text,
            'is_bad': text ~ ' is not null\nand (cdc_value_' ~ index ~ ' is null or coalesce(get(cdc_is_nested, ' ~ index ~ '), false))',
        }) -%}
        {%- do values.append({
            'name': name, 'type': data_type, 'text': old,
            'is_bad': old ~ " is not null\nand cdc_operation in ('update', 'delete')\nand (cdc_old_" ~ index
                ~ ' is null or coalesce(get(cdc_before_is_nested, ' ~ index ~ '), false))',
        }) -%}
    {%- endfor -%}
    {{ return(values) }}
{%- endmacro -%}

{#- Why a message is in quarantine: rules 2 to 14. -#}
{%- macro _qlik_reason(spec) -%}
    {%- set is_bad, null_keys = [], [] -%}
    {%- for value in spark_cdc._qlik_values_to_judge(spec) -%}
        {%- do is_bad.append('(\n    ' ~ value.is_bad | indent(4) ~ '\n)') -%}
    {%- endfor -%}
    {%- for name in spec.columns if name in spec.key -%}
        {%- do null_keys.append('cdc_value_' ~ (spec.columns | list).index(name) ~ ' is null') -%}
    {%- endfor -%}
case
    when cdc_refused is not null then cdc_refused
    when cdc_first_reason in ('unknown_operation', 'missing_data', 'unsupported_layout') then cdc_first_reason
    when
        {{ spark_cdc._qlik_row_is_ambiguous('') | indent(8) }}
        or {{ spark_cdc._qlik_row_is_ambiguous('before_') | indent(8) }}
        then 'bad_message'
    when cdc_first_reason is not null then cdc_first_reason
    when
        {{ spark_cdc._qlik_has_bit_outside('cdc_changed_bits') | indent(8) }}
        or {{ spark_cdc._qlik_has_bit_outside('cdc_carried_bits') | indent(8) }}
        then 'bad_mask'
    when
        {{ is_bad | join('\nor ') | indent(8) }}
        then 'bad_value'
    when
        {{ null_keys | join('\nor ') | indent(8) }}
        then 'null_key'
end
{%- endmacro -%}

{#- Whether several members of an image have a column's name in other capitals, and no member has the name itself. -#}
{%- macro _qlik_row_is_ambiguous(image) -%}
    {%- set names, lower_names = 'cdc_' ~ image ~ 'names', 'cdc_' ~ image ~ 'lower_names' -%}
coalesce(
    size({{ names }}) > size(array_distinct({{ lower_names }}))
    and exists(
        cdc_own,
        name -> not array_contains({{ names }}, name)
        and size(array_remove({{ lower_names }}, lower(name))) < size({{ names }}) - 1
    ),
    false
)
{%- endmacro -%}

{#- A CTE, `contents`: what each delivery would change, as one struct. -#}
{%- macro _qlik_contents(spec) -%}
    {%- set row, before = [], [] -%}
    {%- for name in spec.columns -%}
        {%- do row.append(spark_cdc._literal(name) ~ ', cdc_value_' ~ loop.index0) -%}
        {%- do before.append(spark_cdc._literal(name) ~ ', cdc_old_' ~ loop.index0) -%}
    {%- endfor -%}
contents as (
    select
        *,
        case
            when cdc_reason = 'bad_value'
                then {{ spark_cdc._of_quarantine(spec, spark_cdc._bad_value_detail(spark_cdc._qlik_values_to_judge(spec))) | indent(16) }}
        end as cdc_bad_values,
        case
            when cdc_reason is null
                then struct(
                    cdc_operation,
                    cdc_transaction_id,
                    {{ spark_cdc._call('named_struct', row) | indent(20) }} as cdc_row,
                    case
                        when cdc_operation in ('update', 'delete') and cdc_before_names is not null
                            then {{ spark_cdc._call('named_struct', before) | indent(28) }}
                    end as cdc_before,
                    {{ spark_cdc._qlik_changed_names() | indent(20) }} as cdc_changed_columns,
                    {{ spark_cdc._qlik_present_names() | indent(20) }} as cdc_present_columns
                )
        end as cdc_content,
        lpad(cast(coalesce(cdc_partition, 0) as string), 10, '0') as cdc_partition_digits
    from judged_alone
    {%- if spark_cdc._qlik_has_loads(spec) %}
    where {{ spark_cdc._qlik_once() }}
    distribute by cdc_place
    {%- endif %}
)
{%- endmacro -%}

{#- A condition that is always true. Spark computes a CTE with it once. Any other is put in each place that reads it, and
    computed there. -#}
{%- macro _qlik_once() -%}
    {{ return('rand() >= 0') }}
{%- endmacro -%}
