{#- The parts of XDS documents. Sources: "Identity Manager Driver for JDBC, Implementation Guide", chapter "Event Types", and
    the NDS DTD. -#}

{#- The spec of the documents: the spec of the publication, with all columns of the snapshot. Wrong arguments stop here. -#}
{%- macro _netiq_xds_spec(
    me, relation, table, key, columns, schema, snapshot, layout, driver_user, allow_loopback, as_of, pending_only, type5, source_timezone
) -%}
    {%- set spec = spark_cdc._netiq_publication_spec(
        me, relation, table, key, columns, snapshot, layout, driver_user, allow_loopback, as_of, pending_only, source_timezone
    ) -%}
    {%- if schema is not string or not schema | trim -%}
        {{ spark_cdc._stop(
            me, 'schema is ' ~ ('empty' if schema is string else 'not defined' if schema is undefined else schema),
            'the schema of the table, as associations name it', "schema='indirect'"
        ) }}
    {%- elif type5 not in ('modify', 'add') -%}
        {{ spark_cdc._stop(
            me, 'type5 is ' ~ type5, "'modify' (the vendor's printed example of type 5) or 'add' (the vendor's text)",
            "type5='add'"
        ) }}
    {%- endif -%}
    {%- set there, declared = {}, [] -%}
    {%- for name, column in spec.snapshot_columns.items() -%}
        {%- do there.update({name: column}) -%}
        {%- do declared.append(column.name) -%}
    {%- endfor -%}
    {#- a row of type 7 or 8 can name a column that is not declared -#}
    {%- if snapshot is not none -%}
        {%- for name, data_type in spark_cdc.columns_of(snapshot).items()
            if name not in declared and not spark_cdc._has_no_equality(data_type) -%}
            {%- do there.update({name: {'name': name, 'type': data_type}}) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(dict(spec, schema=schema, type5=type5, snapshot_columns=there, is_spelled=true)) }}
{%- endmacro -%}

{#- A value of the snapshot as text, the same in each session. -#}
{%- macro _netiq_xds_text(expression, data_type) -%}
    {%- set facts = spark_cdc._type_facts(data_type) -%}
    {%- if data_type | lower | trim == 'binary' -%}
        {{ return(spark_cdc._base64(expression)) }}
    {%- elif facts.family == 'timestamp' -%}
        {%- set text = spark_cdc._call('regexp_replace', [
            spark_cdc._as_text(expression, data_type), "'^(.*) (.{8})([.]0{6})?'", "'$1T$2'"
        ]) -%}
        {{ return('case\n    when ' ~ expression ~ ' is not null\n        then ' ~ (text | indent(8)) ~ '\nend') }}
    {%- elif facts.family == 'decimal' -%}
        {{ return(spark_cdc._text_of(expression, data_type)) }}
    {%- endif -%}
    {{ return(spark_cdc._as_text(expression, data_type)) }}
{%- endmacro -%}

{#- A text in a document, with the escapes of Canonical XML. -#}
{%- macro _netiq_xml(expression, is_attribute=false) -%}
    {%- set escapes = [("'&'", '&amp;'), ("'<'", '&lt;'), ('chr(13)', '&#xD;')] -%}
    {%- do escapes.extend(
        [("'\"'", '&quot;'), ('chr(9)', '&#x9;'), ('chr(10)', '&#xA;')] if is_attribute else [("'>'", '&gt;')]
    ) -%}
    {%- set escaped = namespace(text=expression) -%}
    {%- for sign, escape in escapes -%}
        {%- set escaped.text = spark_cdc._call('replace', [escaped.text, sign, spark_cdc._literal(escape)]) -%}
    {%- endfor -%}
    {{ return(escaped.text) }}
{%- endmacro -%}

{#- Whether a text has a character that XML 1.0 forbids. Invalid UTF-8 has surrogates, or bytes that are not characters. -#}
{%- macro _netiq_has_illegal_character(expression) -%}
not is_valid_utf8({{ expression }})
or {{ expression }} rlike {{ spark_cdc._literal('[\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\uFFFE\\uFFFF]') }}
{%- endmacro -%}

{#- CTEs to `remaining`, the published rows: the attributes of each, with their values as text, and whether it is a
    query-back row without an answer. -#}
{%- macro _netiq_attributes(spec) -%}
    {%- set octets, texts, answers, rows = [], [], [], [] -%}
    {%- for name, data_type in spec.columns.items() if data_type | lower | trim == 'binary' -%}
        {%- do octets.append(spark_cdc._literal(name | lower)) -%}
    {%- endfor -%}
    {%- set kind = 'if(cdc_column in (' ~ octets | join(', ') ~ "), 'octet', 'string')" if octets else "'string'" -%}
    {%- for name, column in spec.snapshot_columns.items() -%}
        {%- set text = spark_cdc._netiq_xds_text('cdc_there.' ~ spark_cdc._quote(name), column.type) -%}
        {%- do texts.append(spark_cdc._literal(name) ~ ', ' ~ text) -%}
        {%- do answers.append('when ' ~ spark_cdc._literal(name | lower) ~ ' then cdc_texts.' ~ spark_cdc._quote(name)) -%}
    {%- endfor -%}
    {%- for name in spec.columns if name not in spec.key and spec.lookups.snapshot -%}
        {%- set literal = spark_cdc._literal(name | lower) -%}
        {%- do rows.append(spark_cdc._netiq_attribute(
            spark_cdc._literal(name), "'octet'" if literal in octets else "'string'", 'cdc_texts.' ~ spark_cdc._quote(name)
        )) -%}
    {%- endfor -%}
    {%- if spec.lookups.snapshot -%}
answered as (
    select
        *,
        named_struct(
            {{ texts | join(',\n') | indent(12) }}
        ) as cdc_texts
    from decided
    where cdc_reason is null
),

{% endif -%}
remaining as (
    select
        *,
        {%- if spec.lookups.snapshot %}
        cdc_event_type >= 7
        and not coalesce(
            cdc_column in ({% for name in spec.snapshot_columns %}{{ spark_cdc._literal(name | lower) }}{{ ', ' if not loop.last }}{% endfor %}),
            false
        ) as cdc_is_unanswered,
        {%- else %}
        cdc_event_type >= 5 as cdc_is_unanswered,
        {%- endif %}
        case
            when cdc_event_type <= 3
                then array(
                    {{ spark_cdc._netiq_attribute(
                        'cdc_spelled.cdc_column_name', kind, 'cdc_new_value', 'case when cdc_event_type = 2 then cdc_old_value end'
                    ) | indent(20) }}
                )
            {%- if spec.lookups.snapshot %}
            when cdc_event_type >= 7
                then array(
                    {{ spark_cdc._netiq_attribute(
                        'cdc_spelled.cdc_column_name', kind, 'case cdc_column\n    ' ~ answers | join('\n    ') ~ '\nend'
                    ) | indent(20) }}
                )
            {%- endif %}
            {%- if rows %}
            when cdc_event_type >= 5
                then array(
                    {{ rows | join(',\n') | indent(20) }}
                )
            {%- endif %}
        end as cdc_attributes
    from {{ 'answered' if spec.lookups.snapshot else 'decided' }}
    {%- if not spec.lookups.snapshot %}
    where cdc_reason is null
    {%- endif %}
)
{%- endmacro -%}

{#- One attribute: its name, the type of its values, the new and the old value, and whether an update removes all old values.
    -#}
{%- macro _netiq_attribute(name, kind, new_value, old_value='cast(null as string)') -%}
    {{ return(spark_cdc._call('named_struct', [
        "'name', " ~ name, "'kind', " ~ kind, "'old_value', " ~ old_value, "'new_value', " ~ new_value,
        "'removes_all', cdc_event_type <> 2",
    ])) }}
{%- endmacro -%}
