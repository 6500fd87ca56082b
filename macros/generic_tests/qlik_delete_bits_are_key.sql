{#- The bits of a delete are those of its key, so a key that was declared wrongly shows. See _generic_tests.yml. -#}
{%- test qlik_delete_bits_are_key(
    model, key, columns=none, header_prefix='header__', mask_byte_order=none, header_columns=none
) -%}
{%- if execute -%}
{%- set layout = spark_cdc._layout_qlik_change_table(
    model, key, columns, header_prefix, mask_byte_order, header_columns
) -%}
{{ spark_cdc._qlik_change_table_rows(layout) }},

deletes as (
    select
        cdc_change_seq as change_seq,
        cdc_mask_as_written as change_mask,
        array_compact(array(
            {%- for name in layout.columns %}
            if({{ spark_cdc._qlik_has_bit(layout, name) }}, {{ spark_cdc._literal(name) }}, null){{ ',' if not loop.last }}
            {%- endfor %}
        )) as columns_with_bit,
        array(
            {%- for name in layout.columns if name in layout.key -%}
            {{ spark_cdc._literal(name) }}{{ ', ' if not loop.last }}
            {%- endfor -%}
        ) as declared_key,
        {{ spark_cdc._qlik_mask_is_good(layout) | indent(8) }} as mask_is_good
    from distinct_rows
    where cdc_operation = 'delete' and cdc_mask_as_written is not null
)

select * from deletes
where not mask_is_good or not (columns_with_bit <=> declared_key)
{%- endif -%}
{%- endtest -%}
