{#- The masks of inserts, read as the decoder reads them, name the columns that have a value. See _generic_tests.yml. -#}
{%- test qlik_mask_byte_order_fits(
    model, columns=none, header_prefix='header__', mask_byte_order=none, header_columns=none, leave_out=[]
) -%}
{%- if execute and spark_cdc._test_is_untold(model) -%}
{{ spark_cdc._untold(model) }}
{%- elif execute -%}
{%- set there = spark_cdc.columns_of(model) | list -%}
{%- set data_columns = [] -%}
{%- for name in there if not header_prefix or not (name | lower).startswith(header_prefix | lower) -%}
    {%- do data_columns.append(name) -%}
{%- endfor -%}
{#- the decoder wants a key; the test does not look at it -#}
{%- set key = (columns | list if columns is mapping else data_columns or there)[-1:] -%}
{%- set spec = spark_cdc._spec_qlik_change_table(
    model, key, columns, header_prefix, mask_byte_order, header_columns
) -%}
{%- set example = "qlik_mask_byte_order_fits: {arguments: {leave_out: [photo]}}" -%}
{%- set left_out = spark_cdc._resolve_names(
    'qlik_mask_byte_order_fits', 'leave_out', leave_out, spec.columns | list, example
) -%}
{%- set names = spec.columns | list | reject('in', left_out) | list -%}
{%- set other_order = 'little' if spec.byte_order == 'big' else 'big' -%}
{%- set other = dict(spec, byte_order=other_order) -%}
{{ spark_cdc._qlik_change_table_rows(spec) }},

inserts as (
    select
        * except (cdc_mask),
        -- whole bytes, for the other way
        concat(repeat('0', length(cdc_mask) % 2), cdc_mask) as cdc_mask,
        {{ spark_cdc._qlik_test_insert_fits(spec, names) | indent(8) }} as mask_fits
    from judged_alone
    where cdc_operation = 'insert' and cdc_mask_as_written is not null
),

-- the same masks read the other way
reread as (
    select
        * except (
            {%- for word in range(spark_cdc._qlik_word_count(spec)) %}
            cdc_mask_{{ word }},
            {%- endfor %}
            cdc_mask_rest
        ),
        {{ spark_cdc._qlik_mask_words(other) | indent(8) }},
        {{ spark_cdc._qlik_mask_rest(other) }} as cdc_mask_rest
    from inserts
    where not coalesce(mask_fits, false)
)

select
    cdc_change_seq as change_seq,
    cdc_mask_as_written as change_mask,
    case
        when {{ spark_cdc._qlik_test_insert_fits(other, names) | indent(8) }}
            then 'set the argument mask_byte_order=\'{{ other_order }}\': read as {{ spec.byte_order }} the mask does not fit'
        else concat(
            'the mask fits in neither order: mask_byte_order cannot help. See header_prefix and header_columns;',
            ' columns, where the relation has columns that are none of the table\'s; leave_out, for large objects'
        )
    end as hint
from reread
{%- endif -%}
{%- endtest -%}

{#- Whether the mask of an insert has the bit of every column with a value, and none that belongs to no data column. -#}
{%- macro _qlik_test_insert_fits(spec, names) -%}
(
    {{ spark_cdc._qlik_mask_is_good(spec) | indent(4) }}
    {%- for name in names %}
    and (cdc_row.{{ spark_cdc._quote(name) }} is null or {{ spark_cdc._qlik_has_bit(spec, name) }})
    {%- endfor %}
)
{%- endmacro -%}
