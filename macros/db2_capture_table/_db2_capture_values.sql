{#- Values of capture tables: sequences, and what a row says about its commit. -#}

{#- A sequence in its canonical form: 32 hexadecimal digits in upper case, with zeros on the left; NULL if it is not a
    sequence. Db2 10 widened 10 bytes to 16 with zeros on the left, so both widths sort together. -#}
{%- macro _db2_sequence(expression, type_there) -%}
    {%- set family = spark_cdc._type_facts(type_there).family -%}
    {%- if type_there | lower == 'binary' -%}
case
    when octet_length({{ expression }}) between 1 and 16
        then lpad(hex({{ expression }}), 32, '0')
end
    {%- elif family in ('integer', 'decimal') -%}
        {%- set digits = 'cast(try_cast(' ~ expression ~ ' as decimal(38, 0)) as string)' -%}
case
    when
        {{ expression }} >= 0
        and length({{ digits }}) <= 32
        {%- if spark_cdc._type_facts(type_there).scale %}
        and {{ expression }} = floor({{ expression }})
        {%- endif %}
        then lpad({{ digits }}, 32, '0')
end
    {%- else -%}
        {%- set text = 'trim(' ~ spark_cdc._bytewise(expression, type_there) ~ ')' -%}
case
    -- as Db2 itself writes it
    when
        {{ text }}
        rlike '^([0-9A-F]{20}|[0-9A-F]{32})\\z'
        then lpad({{ text }}, 32, '0')
    else get(
        transform(
            {{ spark_cdc._db2_hex_digits(text) | indent(12) }},
            digits -> case
                when digits rlike '^([0-9a-fA-F]{2}){1,16}\\z' then lpad(upper(digits), 32, '0')
            end
        ),
        0
    )
end
    {%- endif -%}
{%- endmacro -%}

{#- The same sequence as 16 bytes: half of the text's bytes in shuffles and sorts. -#}
{%- macro _db2_sequence_bytes(expression, type_there) -%}
    {%- if type_there | lower == 'binary' -%}
case
    when octet_length({{ expression }}) between 1 and 16
        then lpad({{ expression }}, 16, X'00')
end
    {%- else -%}
unhex(
    {{ spark_cdc._db2_sequence(expression, type_there) | indent(4) }}
)
    {%- endif -%}
{%- endmacro -%}

{#- An array with the hexadecimal digits in a trimmed text: 0x…, x'…', with colons, or base64. Base64 has to end in `=`, which
    tells it from hexadecimal digits. The element is NULL if the text has no such form. -#}
{%- macro _db2_hex_digits(text) -%}
transform(
    array({{ text }}),
    text -> case
        when text rlike '^[0-9A-Za-z+/]+={1,2}\\z' and length(text) % 4 = 0
            then hex(try_to_binary(text, 'base64'))
        when text rlike '^(0[xX])?[0-9a-fA-F:]+\\z'
            then replace(regexp_replace(text, '^0[xX]', ''), ':', '')
        when text rlike '^[xX]\'[0-9a-fA-F:]+\'\\z'
            then replace(substr(text, 3, length(text) - 3), ':', '')
    end
)
{%- endmacro -%}

{#- A transaction id as hexadecimal text. A text that cannot be read as such stays as it is, in upper case. -#}
{%- macro _db2_transaction_id(expression, type_there) -%}
    {%- set family = spark_cdc._type_facts(type_there).family -%}
    {%- if type_there | lower == 'binary' -%}
        {{ return('hex(' ~ expression ~ ')') }}
    {%- elif family in ('integer', 'decimal') -%}
        {{ return('cast(' ~ expression ~ ' as string)') }}
    {%- endif -%}
    {%- set text = 'trim(' ~ spark_cdc._bytewise(expression, type_there) ~ ')' -%}
    {{ return('upper(\n    ' ~ (
        spark_cdc._call('coalesce', [spark_cdc._call('get', [spark_cdc._db2_hex_digits(text), '0']), text]) | indent(4)
    ) ~ '\n)') }}
{%- endmacro -%}

{#- A value of the capture table as `data_type`; NULL if it is not exactly a value of that type. Of captured columns some forms
    are refused that every other source may have: `1.0` as an int, `0x00` as binary, a time with dots but without a fraction. -#}
{%- macro _db2_value(expression, type_there, data_type) -%}
    {%- set value = spark_cdc._typed(expression, type_there, data_type, spark_cdc._lookup_forms()) -%}
    {%- set refused = {
        'integer': '[.eE]',
        'boolean': '[.]',
        'binary': "^0[xX]|'",
        'timestamp': '^ *+\\d{4}-\\d\\d-\\d\\d-\\d\\d[.]\\d\\d[.]\\d\\d *+\\z',
    }.get(spark_cdc._kind_of(data_type)) -%}
    {%- if refused is none or spark_cdc._kind_of(type_there) != 'text' -%}
        {{ return(value) }}
    {%- endif -%}
    {%- set text = spark_cdc._bytewise(expression, type_there) -%}
    {{ return('case\n    when not ' ~ text ~ ' rlike ' ~ spark_cdc._literal(refused) ~ '\n        then ' ~ (value | indent(8)) ~ '\nend') }}
{%- endmacro -%}

{#- What a row of the relation, or of the unit of work, says about its commit, as a dict of name -> SQL. `headers` has its
    columns. -#}
{%- macro _db2_of_commit(headers, types) -%}
    {%- set values = {} -%}
    {%- for name, column in headers.items() -%}
        {%- set expression, data_type = spark_cdc._quote(column), types[column] -%}
        {%- if name == 'LOGMARKER' -%}
            {%- do values.update({name: spark_cdc._typed(expression, data_type, 'timestamp', spark_cdc._lookup_forms())}) -%}
        {%- elif name == 'UOWID' -%}
            {%- do values.update({name: spark_cdc._db2_transaction_id(expression, data_type)}) -%}
        {%- elif name in ('AUTHID', 'APPLY_QUAL') -%}
            {%- do values.update({name: spark_cdc._typed(spark_cdc._bytewise(expression, data_type), data_type, 'string')}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(values) }}
{%- endmacro -%}

{#- Which columns about its commit an event has. They come from the relation, or else from the unit of work. -#}
{%- macro _db2_told(spec) -%}
    {%- set told = [] -%}
    {%- for name in ('LOGMARKER', 'UOWID', 'AUTHID', 'APPLY_QUAL') if name in spec.headers or name in spec.joined -%}
        {%- do told.append(name) -%}
    {%- endfor -%}
    {{ return(told) }}
{%- endmacro -%}
