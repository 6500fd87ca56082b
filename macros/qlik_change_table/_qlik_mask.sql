{#- Change masks: bits of any number of columns, in text or binary, in both byte orders. -#}

{#- The mask as hexadecimal digits; null if it is NULL or not hexadecimal. -#}
{%- macro _qlik_mask(spec) -%}
    {%- if 'change_mask' not in spec.headers -%}
        cast(null as string)
    {%- elif spec.mask_is_binary -%}
        hex({{ spark_cdc._quote(spec.headers['change_mask']) }})
    {%- else -%}
        {%- set text = 'trim(' ~ spark_cdc._quote(spec.headers['change_mask']) ~ ')' -%}
        {%- set digits = spark_cdc._qlik_mask_digits(text) -%}
        {%- if spec.byte_order == 'little' -%}
            {%- set digits = "concat(\n    repeat(\n        '0',\n        length(\n            " ~ digits | indent(12)
                ~ "\n        ) % 2\n    ),\n    " ~ digits | indent(4) ~ "\n)" -%}
        {%- endif -%}
case
    when
        unhex(
            {{ digits | indent(12) }}
        ) is not null
        then {{ digits | indent(8) }}
end
    {%- endif -%}
{%- endmacro -%}

{#- The digits of a mask in text form, without the characters that may be around them: 0x…, x'…'. -#}
{%- macro _qlik_mask_digits(text) -%}
case
    when lower(left({{ text }}, 2)) = '0x'
        then substr({{ text }}, 3)
    when
        lower(left({{ text }}, 2)) = 'x\''
        and right({{ text }}, 1) = '\''
        and length({{ text }}) > 2
        then substr({{ text }}, 3, length({{ text }}) - 3)
    else {{ text }}
end
{%- endmacro -%}

{#- The mask in words of 56 bits, which fit in a bigint: 14 digits, where missing digits are zero. In a big-endian mask words
    are counted from its end, so bit k is bit k mod 56 of word k div 56. In a little-endian mask words are counted from its
    start, with their bytes in reverse order: see _qlik_bit. -#}
{%- macro _qlik_word_count(spec) -%}
    {{ return((spec.end_bit + 55) // 56) }}
{%- endmacro -%}

{%- macro _qlik_mask_words(spec, named=false) -%}
    {%- for word in range(spark_cdc._qlik_word_count(spec)) -%}
        {%- if spec.byte_order == 'big' -%}
            {%- set digits = "concat('0', substr(cdc_mask, -" ~ 14 * (word + 1) ~ ", 14))" -%}
        {%- else -%}
            {%- set digits = "rpad(substr(cdc_mask, " ~ (14 * word + 1) ~ ", 14), 14, '0')" -%}
        {%- endif -%}
        {%- set value = 'cast(conv(' ~ digits ~ ', 16, 10) as bigint)' -%}
        {{ ',\n' if not loop.first }}
        {%- if named %}'cdc_mask_{{ word }}', {{ value }}{% else %}{{ value }} as cdc_mask_{{ word }}{% endif %}
    {%- endfor -%}
{%- endmacro -%}

{#- The digits of the bits after the last word. -#}
{%- macro _qlik_mask_rest(spec) -%}
    {%- set digits = 14 * spark_cdc._qlik_word_count(spec) -%}
    {%- if spec.byte_order == 'big' -%}
        left(cdc_mask, greatest(length(cdc_mask) - {{ digits }}, 0))
    {%- else -%}
        substr(cdc_mask, {{ digits + 1 }})
    {%- endif -%}
{%- endmacro -%}

{#- The value of bit `bit` within its word. -#}
{%- macro _qlik_bit(spec, bit) -%}
    {%- set in_word = bit % 56 -%}
    {%- if spec.byte_order == 'big' -%}
        {{ return(2 ** in_word) }}
    {%- endif -%}
    {{ return(2 ** (8 * (6 - in_word // 8) + in_word % 8)) }}
{%- endmacro -%}

{#- No bit is set before the first data column or after the last. -#}
{%- macro _qlik_mask_is_good(spec) -%}
cdc_mask is not null
and replace(cdc_mask_rest, '0', '') = ''
    {%- for word in range(spark_cdc._qlik_word_count(spec)) -%}
        {%- set forbidden = namespace(bits=0) -%}
        {%- for bit in range(56 * word, 56 * (word + 1)) if bit < spec.first_bit or bit >= spec.end_bit -%}
            {%- set forbidden.bits = forbidden.bits + spark_cdc._qlik_bit(spec, bit) -%}
        {%- endfor -%}
        {{ '\n' }}and (cdc_mask_{{ word }} & {{ forbidden.bits }}) = 0
    {%- endfor -%}
{%- endmacro -%}

{#- Whether the mask has the bit of a column; null if there is no readable mask. -#}
{%- macro _qlik_has_bit(spec, name) -%}
    (cdc_mask_{{ spec.bits[name] // 56 }} & {{ spark_cdc._qlik_bit(spec, spec.bits[name]) }}) <> 0
{%- endmacro -%}
