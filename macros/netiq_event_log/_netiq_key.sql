{#- The grammar of `table_key`, and the group of a raw row. -#}

{#- The grammar of table_key as regular expressions. Every repeated group is possessive; otherwise a key of thousands of
    characters overflows Java's stack. -#}
{%- macro _netiq_key_grammar() -%}
    {%- set name = '[^=+"\\\\,;<>]++' -%}
    {%- set value = '"[^"\\\\]*+(?:\\\\["\\\\][^"\\\\]*+)*+"|[^,;\'+"=\\\\<>]*+' -%}
    {{ return({
        'part': '(' ~ name ~ ')=(' ~ value ~ ')',
        'whole': '^' ~ name ~ '=(?:' ~ value ~ ')(?:[+]' ~ name ~ '=(?:' ~ value ~ '))*+\\z',
        'escape': '\\\\(["\\\\])',
        'prefix': '^pk_(?:sv_)?(?:[0-9]+_)?(?:_.+__)?',
    }) }}
{%- endmacro -%}

{#- The names in a table_key, in lower case, and its values, as a struct of two arrays. NULL if the text is malformed. This
    is checked first: in a long malformed text, a search for parts would start again at each position. -#}
{%- macro _netiq_key_parts(object) -%}
    {%- set grammar = spark_cdc._netiq_key_grammar() -%}
case
    when {{ object }} rlike {{ spark_cdc._literal(grammar.whole) }}
        then named_struct(
            'names', regexp_extract_all(lower({{ object }}), {{ spark_cdc._literal(grammar.part) }}, 1),
            'values', transform(
                regexp_extract_all({{ object }}, {{ spark_cdc._literal(grammar.part) }}, 2),
                value -> if(
                    left(value, 1) = '"',
                    regexp_replace(substr(value, 2, length(value) - 2), {{ spark_cdc._literal(grammar.escape) }}, '$1'),
                    value
                )
            )
        )
end
{%- endmacro -%}

{#- The key columns that the names mean, in their order; NULL for an unknown name. If the name of a view column can be read
    in several ways, the first matching key column counts. -#}
{%- macro _netiq_key_columns(spec, names) -%}
    {%- set known, prefixed = [], [] -%}
    {%- for name in spec.key -%}
        {%- set column = spark_cdc._literal(name | lower) -%}
        {%- do known.append(column) -%}
        {%- do prefixed.append(
            'when trim(name) rlike ' ~ spark_cdc._literal(
                spark_cdc._netiq_key_grammar().prefix ~ '\\Q' ~ (name | lower).replace('\\E', '\\E\\\\E\\Q') ~ '\\E\\z'
            ) ~ ' then ' ~ column
        ) -%}
    {%- endfor -%}
transform(
    {{ names }},
    name -> case
        when trim(name) in ({{ known | join(', ') }}) then trim(name)
        {{ prefixed | join('\n        ') }}
    end
)
{%- endmacro -%}

{#- The text of a key column. -#}
{%- macro _netiq_key_text(columns, values, name) -%}
    {%- set position = 'array_position(' ~ columns ~ ', ' ~ spark_cdc._literal(name | lower) ~ ')' -%}
    {{ return(spark_cdc._call('get', [values, 'cast(' ~ position ~ ' as int) - 1'])) }}
{%- endmacro -%}

{#- The group of a raw row: its key as text. The key is parsed once. -#}
{%- macro _netiq_group_of_raw_row(spec) -%}
    {%- set columns = spark_cdc._netiq_key_columns(spec, 'parts.names') -%}
    {%- set values = {} -%}
    {%- for name in spec.key -%}
        {%- set text = spark_cdc._netiq_key_text(columns, 'parts.values', name) -%}
        {%- do values.update({name: spark_cdc._netiq_value(text, spec.columns[name])}) -%}
    {%- endfor -%}
get(
    transform(
        array(
            {{ spark_cdc._netiq_key_parts(spark_cdc._netiq_raw(spec, 'table_key')) | indent(12) }}
        ),
        parts -> {{ spark_cdc._key_as_text(values, spec.columns) | indent(8) }}
    ),
    0
)
{%- endmacro -%}
