{#- Texts of records as variants: strict JSON, numbers as they are written, members in any capitals. -#}

{#- A text as the first element of an array, as a variant. NULL where it is not UTF-8 or has half a surrogate pair. -#}
{%- macro _qlik_wrapped(text) -%}
case
    when
        {{ text }} rlike '^[ \\t\\n\\r]*+[{]'
        and is_valid_utf8({{ text }})
        and not coalesce(
            {{ spark_cdc._qlik_has_half_surrogate(text) | indent(12) }},
            false
        )
        then try_parse_json(concat('[', {{ text }}, ',', xxhash64({{ text }}), ']'))
end
{%- endmacro -%}

{#- The first element of such an array, if it is the whole text; exact numbers as text. -#}
{%- macro _qlik_unwrapped(wrapped, text) -%}
case
    when try_variant_get({{ wrapped }}, '$[1]', 'bigint') <=> xxhash64({{ text }})
        then if(
            {{ spark_cdc._qlik_has_inexact_numbers(text) | indent(12) }},
            try_parse_json(
                {{ spark_cdc._qlik_with_numbers_as_text(text) | indent(16) }}
            ),
            try_variant_get({{ wrapped }}, '$[0]', 'variant')
        )
end
{%- endmacro -%}

{#- A text that is JSON as a variant; exact numbers as text. -#}
{%- macro _qlik_parsed(text) -%}
try_parse_json(
    if(
        {{ spark_cdc._qlik_has_inexact_numbers(text) | indent(8) }},
        {{ spark_cdc._qlik_with_numbers_as_text(text) | indent(8) }},
        {{ text }}
    )
)
{%- endmacro -%}

{#- Whether a JSON text has numbers that a variant could not hold exactly, or would not give back as they are written: it
    takes 1.50 for 1.5. -#}
{%- macro _qlik_has_inexact_numbers(text) -%}
regexp_like(
    {{ text }},
    '[:\\[,][ \\t\\n\\r]*+(?:-0|-?[0-9]++[.eE]|-?[0-9]{38})'
)
{%- endmacro -%}

{#- A JSON text with its numbers in quotes. -#}
{%- macro _qlik_with_numbers_as_text(text) -%}
regexp_replace(
    {{ text }},
    '\\G((?:[^"0-9-]++|"(?:[^"\\\\]++|\\\\.)*+")*+)(-?[0-9][0-9.eE+-]*+)',
    '$1"$2"'
)
{%- endmacro -%}

{#- Whether a JSON text has an escape that is one half of a surrogate pair: no text holds such a character. The pattern reads
    from the beginning, as a backslash may be escaped itself. -#}
{%- macro _qlik_has_half_surrogate(text) -%}
contains({{ text }}, '\\u')
and not regexp_like(
    {{ text }},
    concat(
        '^(?:[^\\\\]++|\\\\[^u]|\\\\u(?:',
        '(?![dD][89a-fA-F])[0-9a-fA-F]{4}',
        '|[dD][89abAB][0-9a-fA-F]{2}',
        '\\\\u[dD][c-fC-F][0-9a-fA-F]{2}',
        '))*+\\z'
    )
)
{%- endmacro -%}


{#- A member of a variant. -#}
{%- macro _qlik_member(value, path, data_type='string') -%}
    {{ return('try_variant_get(' ~ value ~ ", '$." ~ path ~ "', '" ~ data_type ~ "')") }}
{%- endmacro -%}

{#- Whether a member is there and is not null. -#}
{%- macro _qlik_is_there(value) -%}
(
    {{ value }} is not null
    and not is_variant_null({{ value }})
)
{%- endmacro -%}

{#- Whether a member is an object. -#}
{%- macro _qlik_is_object(value) -%}
coalesce(schema_of_variant({{ value }}) like 'OBJECT<%', false)
{%- endmacro -%}


{#- The headers of a data message. -#}
{%- macro _qlik_headers() -%}
    {{ return([
        'operation', 'changeSequence', 'timestamp', 'streamPosition', 'transactionId', 'changeMask', 'columnMask', 'externalSchemaId',
        'transactionEventCounter', 'transactionLastEvent',
    ]) }}
{%- endmacro -%}

{#- The column that has a header. -#}
{%- macro _qlik_header_column(name) -%}
    {{ return('cdc_header_' ~ modules.re.sub('([A-Z])', '_\\1', name) | lower) }}
{%- endmacro -%}

{#- The names of members that are looked for in envelopes, records, headers and metadata. -#}
{%- macro _qlik_member_names() -%}
    {{ return([
        'magic', 'type', 'messageSchemaId', 'messageSchema', 'message', 'data', 'beforeData', 'headers', 'op', 'schema', 'table', 'schemaId',
        'lineage', 'server', 'task', 'tableVersion', 'tableStructure', 'tableColumns', 'ordinal', 'length', 'precision', 'scale',
        'primaryKeyPosition', 'nullable', 'dataSchema',
    ] + spark_cdc._qlik_headers()) }}
{%- endmacro -%}

{#- A text, or a pattern, of some parts. NAMES in a part is replaced by all names of members, between bars. -#}
{%- macro _qlik_text_with_names(parts) -%}
    {%- set lines = [] -%}
    {%- for part in parts -%}
        {%- if part == 'NAMES' -%}
            {%- for names in spark_cdc._qlik_member_names() | batch(4) -%}
                {%- do lines.append("'" ~ ('' if loop.first else '|') ~ names | join('|') ~ "'") -%}
            {%- endfor -%}
        {%- else -%}
            {%- do lines.append("'" ~ part ~ "'") -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(spark_cdc._call('concat', lines)) }}
{%- endmacro -%}

{#- Whether a JSON text has one of these names in other capitals. -#}
{%- macro _qlik_has_other_capitals(text) -%}
regexp_like(
    {{ text }},
    {{ spark_cdc._qlik_text_with_names(['"(?!(?:', 'NAMES', ')")(?i:', 'NAMES', ')"[ \\\\t\\\\n\\\\r]*+:']) | indent(4) }}
)
{%- endmacro -%}

{#- Whether one of these names is there twice in other capitals. -#}
{%- macro _qlik_has_equal_names(text) -%}
regexp_like(
    {{ text }},
    {{ spark_cdc._qlik_text_with_names([
        '(?s)"(?!(?:', 'NAMES', ')")((?i:', 'NAMES', '))"[ \\\\t\\\\n\\\\r]*+:',
        '.*"(?!(?:', 'NAMES', ')")(?i:\\\\1)"[ \\\\t\\\\n\\\\r]*+:',
    ]) | indent(4) }}
)
{%- endmacro -%}

{#- A JSON text with these names as they should be. The pattern finds the right capitals in a list at the end of the text.
    Within a string of JSON a backslash comes between a quote and a colon. -#}
{%- macro _qlik_with_usual_names(text) -%}
left(
    regexp_replace(
        {{ text }} || {{ spark_cdc._qlik_text_with_names(['|', 'NAMES', '|']) | indent(8) }},
        {{ spark_cdc._qlik_text_with_names(
            ['(?i)"(', 'NAMES', ')"([ \\\\t\\\\n\\\\r]*+:)(?=(?s:.*)[|](\\\\1)[|])']
        ) | indent(8) }},
        '"$3"$2'
    ),
    length({{ text }})
)
{%- endmacro -%}
