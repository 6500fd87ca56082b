{#- How records of Kafka are read: strict JSON, members by name, numbers as they are written. -#}

{#- The columns that a relation of Kafka records may have, and what each is read as. Only `value` has to be there. -#}
{%- macro _qlik_record_columns() -%}
    {{ return({
        'value': 'string', 'key': 'string', 'topic': 'string', 'partition': 'int', 'offset': 'bigint', 'timestamp': 'timestamp'
    }) }}
{%- endmacro -%}

{#- The relation's column for each of them, as a dict; a relation without `value`, or with a value of another type, stops. -#}
{%- macro _qlik_find_record_columns(me, argument, relation, in_relation) -%}
    {%- set found, example = {}, 'a relation with one row for each Kafka record: value, and where known key, topic, partition, offset, timestamp' -%}
    {%- for name in in_relation if name | lower in spark_cdc._qlik_record_columns() -%}
        {%- do found.update({name | lower: name}) -%}
    {%- endfor -%}
    {%- if 'value' not in found -%}
        {{ spark_cdc._stop(
            me, argument ~ ' ' ~ relation ~ ' has no column value; it has ' ~ in_relation | join(', '), example,
            "select value, key, topic, partition, offset, timestamp from kafka_records"
        ) }}
    {%- endif -%}
    {%- for name, column in found.items() -%}
        {%- set family = spark_cdc._type_facts(in_relation[column]).family or in_relation[column] | lower | trim -%}
        {%- set accepted = {
            'value': ('text', 'binary'), 'key': ('text', 'binary'), 'topic': ('text',), 'partition': ('integer',), 'offset': ('integer',),
            'timestamp': ('timestamp', 'text'),
        }[name] -%}
        {%- if family not in accepted -%}
            {{ spark_cdc._stop(
                me, 'the column ' ~ column ~ ' of ' ~ relation ~ ' is ' ~ in_relation[column],
                {'text': 'text', 'binary': 'binary', 'integer': 'a whole number', 'timestamp': 'a timestamp'}[accepted[0]]
                ~ (' or ' ~ {'binary': 'binary', 'text': 'text'}[accepted[1]] if accepted | length > 1 else ''), example
            ) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro -%}

{#- A column of a record, NULL where the relation lacks it. -#}
{%- macro _qlik_record_column(found, in_relation, name) -%}
    {%- set wanted = spark_cdc._qlik_record_columns()[name] -%}
    {%- if name not in found -%}
        {{ return('cast(null as ' ~ wanted ~ ')') }}
    {%- endif -%}
    {%- set column, data_type = spark_cdc._quote(found[name]), in_relation[found[name]] | lower | trim -%}
    {%- if data_type == wanted -%}
        {{ return(column) }}
    {%- elif name == 'timestamp' -%}
        {{ return(spark_cdc._typed(column, data_type, 'timestamp')) }}
    {%- endif -%}
    {{ return('cast(' ~ column ~ ' as ' ~ wanted ~ ')') }}
{%- endmacro -%}


{#- A CTE: a relation, and values that are computed of it in steps. A step is a dict of name to expression, or the fields
    of a struct, and reads the steps before it. No step reads a field of a struct: Spark's pruning of nested fields fails in
    generators.

    Why not a select on a select: Spark would put the expressions of one in those of the next. A value that is used twice
    would be computed twice, and so on. It also takes some rounds to resolve each, of the hundred that Spark has. Such steps
    take none. -#}
{%- macro _qlik_steps(name, source, steps) -%}
    {%- set laterals = [] -%}
    {%- for values in steps -%}
        {%- set fields, alias = [], ' as ' ~ name ~ '_' ~ loop.index -%}
        {%- if values.of_struct is defined -%}
            {%- set names = ' (' ~ values.columns | join(', ') ~ ')' if values.columns is defined else '' -%}
            {%- do laterals.append('lateral inline(array(\n    ' ~ values.of_struct | indent(4) ~ '\n))' ~ alias ~ names) -%}
        {%- else -%}
            {%- for column, value in values.items() -%}
                {%- set is_long = (column ~ value.split('\n')[0]) | length > 85 -%}
                {%- do fields.append("'" ~ column ~ "'," ~ ('\n' if is_long else ' ') ~ value) -%}
            {%- endfor -%}
            {%- do laterals.append('lateral inline(array(named_struct(\n    ' ~ fields | join(',\n') | indent(4) ~ '\n)))' ~ alias) -%}
        {%- endif -%}
    {%- endfor -%}
{{ name }} as (
    select *
    from {{ source | indent(4) }},
        {{ laterals | join(',\n') | indent(8) }}
)
{%- endmacro -%}


{#- CTEs to `opened`: what each record of a relation is (`cdc_form`), and of JSON its envelope and inner record.

    Spark's parser stops after a value, so it is given an array whose last element only this text cannot have. A variant holds
    integers and decimals of 38 digits exactly, all others as doubles. A text with such numbers is parsed again with its
    numbers in quotes. Names match exactly. A text that lacks the usual names, and has some in other capitals, is parsed again
    with those as they should be. -#}
{%- macro _qlik_opened(relation, found, in_relation, reads_avro, as_delivered=false, only_metadata=false, has_versions=false) -%}
    {%- set text = 'cdc_text' if reads_avro else 'cdc_value' -%}
    {%- set value = spark_cdc._qlik_record_column(found, in_relation, 'value') -%}
records as (
    select
        {%- for name in spark_cdc._qlik_record_columns() %}
        {{ spark_cdc._qlik_record_column(found, in_relation, name) | indent(8) }} as cdc_{{ name }}{{ ',' if as_delivered or not loop.last }}
        {%- endfor %}
        {%- if as_delivered %}
        {{ spark_cdc.raw_json(in_relation) | indent(8) }} as cdc_raw
        {%- endif %}
    from {{ relation }}
    {%- if only_metadata %}
    where {{ spark_cdc._qlik_may_be_metadata(value, reads_avro) | indent(8) }}
    {%- endif %}
),
{% if reads_avro %}
{{ spark_cdc._qlik_texts(as_delivered, has_versions) }},
{% endif %}
{{ spark_cdc._qlik_steps('opened', 'texts' if reads_avro else 'records', [
    {'cdc_form': spark_cdc._qlik_form(), 'cdc_wrapped': spark_cdc._qlik_wrapped(text)},
    {'cdc_exact': spark_cdc._qlik_unwrapped('cdc_wrapped', text)},
    {'cdc_member_names': spark_cdc._qlik_names_of_message()},
    {'cdc_renamed': spark_cdc._qlik_renamed(text)},
    {'cdc_json': spark_cdc._qlik_exact_or_renamed(text)},
    {
        'cdc_type': spark_cdc._qlik_member('cdc_json', 'type'),
        'cdc_magic': spark_cdc._qlik_member('cdc_json', 'magic'),
        'cdc_has_magic': spark_cdc._qlik_member('cdc_json', 'magic', 'variant') ~ ' is not null',
        'cdc_enclosed': spark_cdc._qlik_member('cdc_json', 'message', 'variant'),
        'cdc_schema_member': spark_cdc._qlik_member('cdc_json', 'messageSchemaId'),
    },
    {
        'cdc_has_envelope': '(cdc_has_magic or cdc_enclosed is not null)',
        'cdc_inner': 'if(cdc_has_magic or cdc_enclosed is not null, cdc_enclosed, cdc_json)',
        'cdc_headers': spark_cdc._call('if', [
            'cdc_has_magic or cdc_enclosed is not null',
            spark_cdc._qlik_member('cdc_enclosed', 'headers', 'map<string, string>'),
            spark_cdc._qlik_member('cdc_json', 'headers', 'map<string, string>'),
        ]),
        'cdc_schema_id': "if(cdc_schema_member = '', null, cdc_schema_member)",
    },
    {'cdc_envelope_reason': spark_cdc._qlik_envelope_reason(reads_avro)},
]) }}
{%- endmacro -%}

{#- What a record is: a tombstone, JSON, Avro, or something else. -#}
{%- macro _qlik_form() -%}
case
    when cdc_value is null then 'tombstone'
    when cdc_value rlike '^[ \\t\\n\\r]*+[{]' then 'json'
    when
        {{ spark_cdc._qlik_is_avro('cdc_value') | indent(8) }}
        then 'avro'
    else 'other'
end
{%- endmacro -%}

{#- The names of the members of a data message, outside of its rows; NULL for other records. -#}
{%- macro _qlik_names_of_message() -%}
'"' || array_join(
    coalesce(
        concat(
            map_keys({{ spark_cdc._qlik_member('cdc_exact', 'message.headers', 'map<string, variant>') }}),
            map_keys({{ spark_cdc._qlik_member('cdc_exact', 'message', 'map<string, variant>') }}),
            map_keys(try_variant_get(cdc_exact, '$', 'map<string, variant>'))
        ),
        concat(
            map_keys({{ spark_cdc._qlik_member('cdc_exact', 'headers', 'map<string, variant>') }}),
            map_keys(try_variant_get(cdc_exact, '$', 'map<string, variant>'))
        )
    ),
    '":"'
) || '":'
{%- endmacro -%}

{#- The text of a record with the usual names, if it has some in other capitals. -#}
{%- macro _qlik_renamed(text) -%}
case
    when
        cdc_exact is not null
        and {{ spark_cdc._qlik_has_other_capitals('coalesce(cdc_member_names, ' ~ text ~ ')') | indent(8) }}
        then {{ spark_cdc._qlik_with_usual_names(text) | indent(8) }}
end
{%- endmacro -%}

{#- The record with the usual names. Where a name is also there as it should be, that one is taken. -#}
{%- macro _qlik_exact_or_renamed(text) -%}
if(
    cdc_renamed is null,
    cdc_exact,
    coalesce(
        {{ spark_cdc._qlik_parsed('cdc_renamed') | indent(8) }},
        if(
            {{ spark_cdc._qlik_has_equal_names(text) | indent(12) }},
            null,
            cdc_exact
        )
    )
)
{%- endmacro -%}


{#- Why a record is no message: rules 1 to 3 of the reference. NULL also for tombstones. -#}
{%- macro _qlik_envelope_reason(reads_avro) -%}
case
    {%- if reads_avro %}
    when cdc_avro_reason is not null then cdc_avro_reason
    {%- else %}
    when cdc_form = 'avro' then 'avro_unsupported'
    {%- endif %}
    when cdc_form = 'other' or (cdc_form <> 'tombstone' and cdc_json is null) then 'bad_message'
    when cdc_has_envelope and coalesce(cdc_magic <> 'atMSG', true) then 'bad_message'
    when cdc_has_envelope and coalesce(cdc_type not in ('DT', 'MD'), true)
        then 'unknown_message_type'
end
{%- endmacro -%}

{#- How `detail` shows a record. The limits are those of Spark's JSON reader; few messages without JSON are so long. -#}
{%- macro _qlik_shown_value() -%}
concat(
    'value is ',
    left(cdc_value, 100),
    case
        when cdc_reason = 'bad_message' and length(cdc_value) > 1000
            then concat(
                '; it has ',
                length(cdc_value),
                ' characters. Limits are 20000000 characters of a text, 50000 of a name,',
                ' 1000 digits of a number, 1000 levels, and 128 MiB in all'
            )
        else ''
    end
)
{%- endmacro -%}

{#- Of a record without headers: `unsupported_layout` where it is of an old release, or has them in itself. -#}
{%- macro _qlik_layout_reason() -%}
if(
    try_variant_get(cdc_inner, '$.op', 'variant') is not null
    or try_variant_get(cdc_inner, '$.operation', 'variant') is not null,
    'unsupported_layout',
    'bad_message'
)
{%- endmacro -%}
