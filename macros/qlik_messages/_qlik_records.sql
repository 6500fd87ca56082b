{#- Records of Kafka, and what their messages say. -#}

{#- The columns that a relation of Kafka records may have, and what each is read as. Only `value` has to be there. -#}
{%- macro _qlik_record_columns() -%}
    {{ return({
        'value': 'binary', 'key': 'binary', 'topic': 'string', 'partition': 'int', 'offset': 'bigint', 'timestamp': 'timestamp'
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


{#- The columns of a record for a select, as a list; with `has_raw` also the record as JSON. -#}
{%- macro _qlik_record_fields(found, in_relation, has_raw) -%}
    {%- set fields = [] -%}
    {%- for name in spark_cdc._qlik_record_columns() -%}
        {%- do fields.append(spark_cdc._qlik_record_column(found, in_relation, name) ~ ' as cdc_' ~ name) -%}
    {%- endfor -%}
    {{ return(fields + ([spark_cdc.raw_json(in_relation) ~ ' as cdc_raw'] if has_raw else [])) }}
{%- endmacro -%}

{#- CTEs to `parsed`: each record of a relation, with what its message says in `cdc_message`. The Python function
    spark_cdc_qlik_message reads it, and says what its fields are. `versions` is an expression with the versions of the tables;
    the function takes it from the first record of a partition. `options` are the other things that it has to know. The columns
    `passed_on` are there under their names, too; a varchar as a string. -#}
{%- macro _qlik_parsed(relation, found, in_relation, versions=none, options={}, has_raw=false, condition=none, passed_on={}) -%}
    {%- set fields = [] -%}
    {%- for name, data_type in passed_on.items() -%}
        {%- set column = spark_cdc._quote(name) -%}
        {%- do fields.append('cast(' ~ column ~ ' as string) as ' ~ column if (data_type | lower).startswith('varchar') else column) -%}
    {%- endfor -%}
    {%- do fields.extend(spark_cdc._qlik_record_fields(found, in_relation, has_raw)) -%}
    {%- set is_binary = in_relation[found.value] | lower | trim == 'binary' -%}
    {%- set options = dict(options, is_text=not is_binary) -%}
records as (
    select
        {{ fields | join(',\n') | indent(8) }}
    from {{ relation }}
    {%- if condition %}
    where {{ condition | indent(8) }}
    {%- endif %}
),
{% if versions and is_binary %}
-- the same bytes in Avro are read with the schema that was there when they first came
timed as (
    select
        *,
        cdc_timestamp as cdc_first_timestamp
    from records
    where not {{ spark_cdc._qlik_is_avro('cdc_value') }}
    union all
    select
        *,
        min(cdc_timestamp) over (partition by cdc_value) as cdc_first_timestamp
    from records
    where {{ spark_cdc._qlik_is_avro('cdc_value') }}
),
{% endif %}
parsed as (
    select
        *,
        spark_cdc_qlik_message(
            cdc_value,
            cdc_key,
            cast(cdc_topic as binary),
            unix_micros({{ 'cdc_first_timestamp' if versions and is_binary else 'cdc_timestamp' }}),
            {{ spark_cdc._literal(options | tojson) }},
            {{ spark_cdc._qlik_in_first_record(versions) | indent(12) if versions else 'cast(null as string)' }}
        ) as cdc_message
    from {{ 'timed' if versions and is_binary else 'records' }}
)
{%- endmacro -%}

{#- A value in the first record of each partition, NULL in the others. -#}
{%- macro _qlik_in_first_record(value) -%}
if(
    monotonically_increasing_id() % 8589934592 = 0,
    {{ value | indent(4) }},
    null
)
{%- endmacro -%}

{#- Whether a value is an Avro message, with an envelope or in the frame of a schema registry. -#}
{%- macro _qlik_is_avro(value) -%}
    {{ return("coalesce(substr(" ~ value ~ ", 1, 5) = X'61744D5347' or substr(" ~ value ~ ", 1, 1) = X'00', false)") }}
{%- endmacro -%}

{#- An expression: the versions of a relation with the columns of `qlik_schema_versions`, as the function takes them. -#}
{%- macro _qlik_versions_as_text(relation) -%}
(
    select
        to_json(
            collect_list(
                struct(
                    schema_id,
                    source_schema,
                    source_table,
                    table_version,
                    unix_micros(written_at) as written_at,
                    data_schema,
                    `columns`
                )
            )
        )
    from {{ relation }}
)
{%- endmacro -%}
