{#- The macros that read masks, for tables of every shape in var('mask_layouts'), each [form of the mask, byte order,
    number of header columns, number of data columns]. -#}
{%- for form, byte_order, header_columns, data_columns in var('mask_layouts', [['text', 'big', 7, 10]]) %}
{%- set names, bits = [], {} %}
{%- for place in range(data_columns) %}
{%- do names.append('c' ~ place) %}
{%- do bits.update({'c' ~ place: header_columns + place}) %}
{%- endfor %}
{%- set mask = form ~ '_mask' %}
{%- set layout = {
    'headers': {'change_mask': mask},
    'types_there': {'text_mask': 'string', 'binary_mask': 'binary'},
    'mask_is_binary': form == 'binary',
    'byte_order': byte_order,
    'first_bit': header_columns,
    'end_bit': header_columns + data_columns,
    'columns': names,
    'bits': bits,
} -%}
{{ '\nunion all\n' if not loop.first -}}
select
    vector,
    case
        when
            {{ mask }} is not null
            and not (
                {{ spark_cdc._qlik_mask_is_good(layout) | indent(16) }}
            )
            then 'bad_mask'
    end as reason,
    case
        when
            {{ spark_cdc._qlik_mask_is_good(layout) | indent(12) }}
            then array_join(
                {{ spark_cdc._qlik_changed_columns(layout) | indent(16) }},
                ' '
            )
    end as changed
from (
    select
        *,
        {{ spark_cdc._qlik_mask_words(layout) | indent(8) }},
        {{ spark_cdc._qlik_mask_rest(layout) }} as cdc_mask_rest
    from (
        select
            *,
            {{ spark_cdc._qlik_mask(layout) | indent(12) }} as cdc_mask
        from {{ source('qlik_change_table', 'masks') }}
        where layout = '{{ [form, byte_order, header_columns, data_columns] | join('_') }}'
    ) as masks
) as event_rows
{%- endfor %}
