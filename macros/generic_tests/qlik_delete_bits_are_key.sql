{#- The bits of a delete are the bits of its key, so a wrongly declared key is found. See _generic_tests.yml. -#}
{%- test qlik_delete_bits_are_key(
    model, key, columns=none, header_prefix='header__', mask_byte_order=none, header_columns=none,
    mask_columns=none
) -%}
{%- if execute and spark_cdc._test_is_untold(model) -%}
{{ spark_cdc._untold(model) }}
{%- elif execute -%}
{%- set spec = spark_cdc._spec_qlik_change_table(
    model, key, columns, header_prefix, mask_byte_order, header_columns, mask_columns=mask_columns
) -%}
{#- all columns that the mask counts, even if they are not in `columns` -#}
{%- set bits = {} -%}
{%- for name in spec.counted_columns -%}
    {%- do bits.update({name: spec.first_bit + loop.index0}) -%}
{%- endfor -%}
{%- set of_all = dict(spec, bits=bits) -%}
{{ spark_cdc._qlik_change_table_rows(spec) }},

deletes as (
    select
        cdc_change_seq as change_seq,
        cdc_mask_as_written as change_mask,
        array_compact(array(
            {%- for name in bits %}
            if({{ spark_cdc._qlik_has_bit(of_all, name) }}, {{ spark_cdc._literal(name) }}, null){{ ',' if not loop.last }}
            {%- endfor %}
        )) as columns_with_bit,
        array(
            {%- for name in bits if name | lower in spec.key | map('lower') -%}
            {{ spark_cdc._literal(name) }}{{ ', ' if not loop.last }}
            {%- endfor -%}
        ) as declared_key,
        {{ spark_cdc._qlik_mask_is_good(spec) | indent(8) }} as mask_is_good
    from judged
    where
        cdc_reason is null
        and cdc_operation = 'delete'
        and cdc_mask_as_written is not null
)

select * from deletes
where not mask_is_good or not (columns_with_bit <=> declared_key)
{%- endif -%}
{%- endtest -%}
