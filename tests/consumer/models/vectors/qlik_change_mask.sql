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
} %}
select
    vector,
    case when {{ mask }} is not null and not ({{ spark_cdc._qlik_mask_is_good(layout) }}) then 'bad_mask' end as reason,
    case
        when {{ spark_cdc._qlik_mask_is_good(layout) }}
            then array_join({{ spark_cdc._qlik_changed_columns(layout) }}, ' ')
    end as changed
from (
    select
        *,
        {{ spark_cdc._qlik_mask_words(layout) }}
        {{ spark_cdc._qlik_mask_rest(layout) }} as cdc_mask_rest
    from (
        select
            *,
            {{ spark_cdc._qlik_mask(layout) }} as cdc_mask
        from {{ source('vectors', 'masks') }}
        where layout = '{{ [form, byte_order, header_columns, data_columns] | join('_') }}'
    )
) as event_rows
{{ 'union all' if not loop.last }}
{%- endfor %}
