{#- The masks of inserts, read as the decoder reads them, name the columns that have a value. See _generic_tests.yml. -#}
{%- test qlik_mask_byte_order_fits(
    model, columns=none, header_prefix='header__', mask_byte_order=none, header_columns=none, leave_out=[],
    mask_columns=none
) -%}
{%- if execute and spark_cdc._test_is_untold(model) -%}
{{ spark_cdc._untold(model) }}
{%- elif execute -%}
{%- set there = spark_cdc.columns_of(model) | list -%}
{%- set data_columns = [] -%}
{%- for name in there if not header_prefix or not (name | lower).startswith(header_prefix | lower) -%}
    {%- if mask_columns is none or name | lower in mask_columns | map('lower') -%}{%- do data_columns.append(name) -%}{%- endif -%}
{%- endfor -%}
{#- the decoder needs a key; the test does not use it -#}
{%- set key = (columns | list if columns is mapping else data_columns or there)[-1:] -%}
{%- set spec = spark_cdc._spec_qlik_change_table(
    model, key, columns, header_prefix, mask_byte_order, header_columns, mask_columns=mask_columns
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
        -- whole bytes, for the other byte order
        concat(repeat('0', length(cdc_mask) % 2), cdc_mask) as cdc_mask,
        {{ spark_cdc._qlik_test_insert_fits(spec, names) | indent(8) }} as mask_fits,
        -- the pattern of its data columns in a mask, first column first
        {{ spark_cdc._qlik_test_insert_pattern(spec, names) | indent(8) }} as cdc_pattern
    from judged_alone
    where cdc_operation = 'insert' and cdc_mask_as_written is not null
),

-- the same masks read in the other byte order
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
),

-- the numbers of header columns that would fit the masks, in each byte order
bits as (
    select
        *,
        array(
            {{ spark_cdc._qlik_test_bits(spec.byte_order) | indent(12) }},
            {{ spark_cdc._qlik_test_bits(other_order) | indent(12) }}
        ) as cdc_bits
    from reread
),

shifted as (
    select
        * except (cdc_bits),
        flatten(
            transform(
                cdc_bits,
                (one, place) -> {{ spark_cdc._qlik_test_shifts(spec, 'one', 'place') | indent(16) }}
            )
        ) as cdc_shifts
    from bits
),

-- the number that fits most masks
best as (
    select cdc_shift
    from shifted
        lateral view explode(cdc_shifts) each_shift as cdc_shift
    group by cdc_shift
    order by count(*) desc, cdc_shift
    limit 1
)

select
    cdc_change_seq as change_seq,
    cdc_mask_as_written as change_mask,
    case
        when {{ spark_cdc._qlik_test_insert_fits(other, names) | indent(8) }}
            then 'set the argument mask_byte_order=\'{{ other_order }}\': read as {{ spec.byte_order }} the mask does not fit'
        when best.cdc_shift is not null
            then concat(
                if(
                    best.cdc_shift.place = 0,
                    'set the argument ',
                    'set the arguments mask_byte_order=\'{{ other_order }}\', '
                ),
                'header_columns=',
                best.cdc_shift.header_columns,
                ': read so the mask fits, with {{ spec.first_bit }} it does not'
            )
        else concat(
            'the mask fits in neither order, whatever mask_byte_order is. See header_prefix and header_columns;',
            ' columns, if the relation has columns that do not belong to the table; leave_out, for large objects'
        )
    end as hint
from shifted
left join best
    on array_contains(shifted.cdc_shifts, best.cdc_shift)
{%- endif -%}
{%- endtest -%}

{#- Whether the mask of an insert has the bit of every column with a value, and only bits of data columns. -#}
{%- macro _qlik_test_insert_fits(spec, names) -%}
(
    {{ spark_cdc._qlik_mask_is_good(spec) | indent(4) }}
    {%- for name in names %}
    and (cdc_row.{{ spark_cdc._quote(name) }} is null or {{ spark_cdc._qlik_has_bit(spec, name) }})
    {%- endfor %}
)
{%- endmacro -%}

{#- A regular expression for the data columns of an insert in its mask: a column with a value has its bit. -#}
{%- macro _qlik_test_insert_pattern(spec, names) -%}
    {%- set parts = [] -%}
    {%- for counted in spec.counted_columns -%}
        {%- set part = namespace(sql="'[01]'") -%}
        {%- for name in names if name | lower == counted | lower -%}
            {%- set part.sql = 'if(cdc_row.' ~ spark_cdc._quote(name) ~ " is null, '[01]', '1')" -%}
        {%- endfor -%}
        {%- do parts.append(part.sql) -%}
    {%- endfor -%}
    {{ return(spark_cdc._call('concat', parts)) }}
{%- endmacro -%}

{#- A mask as its bits, bit 0 first; null if no bit is set. -#}
{%- macro _qlik_test_bits(byte_order) -%}
    {%- set bits = "lpad(conv(substr(cdc_mask, place, 2), 16, 2), 8, '0')" -%}
    {%- set bits = bits if byte_order == 'big' else 'reverse(' ~ bits ~ ')' -%}
    {%- set bytes = spark_cdc._call('transform', ['sequence(1, length(cdc_mask), 2)', 'place -> ' ~ bits]) -%}
    {%- set whole = spark_cdc._call('array_join', [bytes, "''"]) -%}
case
    when cdc_mask rlike '[1-9A-Fa-f]'
        then {{ (whole if byte_order == 'little' else spark_cdc._call('reverse', [whole])) | indent(8) }}
end
{%- endmacro -%}

{#- The numbers of header columns for which `bits` match the pattern of the row and nothing else; `place` is passed on. Only
    a few are possible: the first bit belongs to the first data column or to a later one. -#}
{%- macro _qlik_test_shifts(spec, bits, place) -%}
    {%- set width = spec.end_bit - spec.first_bit -%}
transform(
    filter(
        sequence(
            greatest(length(rtrim('0', {{ bits }})) - {{ width }}, 1),
            instr({{ bits }}, '1') - 1
        ),
        shift -> shift > 0
        and rpad({{ bits }}, length({{ bits }}) + {{ width }}, '0') rlike concat('^0{', shift, '}', cdc_pattern, '0*$')
    ),
    shift -> named_struct('place', {{ place }}, 'header_columns', shift)
)
{%- endmacro -%}
