{#- The raw log of a topic, in which each message has been read. See _macros.yml for the arguments. -#}
{%- macro qlik_messages_log(messages, versions=none, tables=[]) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- if spark_cdc._is_untold(messages) -%}{{ return(spark_cdc._untold(messages)) }}{%- endif -%}
    {%- set call, known = spark_cdc._call_of_log(messages, none, 'qlik_messages', 'qlik_messages_log'), [] -%}
    {%- set me, spec = 'qlik_messages_log', call.spec -%}
    {%- do spark_cdc._check_qlik_versions(me, versions) -%}
    {%- do spark_cdc._check_functions(me, ['spark_cdc_qlik_message'], '4.0') -%}
    {%- set wrong = ['tables is ' ~ tables] if tables is string or tables is mapping or tables is not sequence else [] -%}
    {%- for table in tables if not wrong -%}
        {%- set parts = table.split('.', 1) if table is string else [''] -%}
        {%- if '' in parts -%}{%- do wrong.append('tables has ' ~ (table or 'an empty text')) -%}{%- endif -%}
        {%- do known.append(([none] + parts)[-2:]) -%}
    {%- endfor -%}
    {%- if wrong -%}{{ spark_cdc._stop(me, wrong[0], "a list of texts, 'SCHEMA.TABLE' or 'TABLE'", "tables=['APP.ORDERS']") }}{%- endif -%}
    {%- do spec.update({
        'lookups': {'versions': versions} if versions is not none else {},
        'computed': spark_cdc._qlik_computed({}),
        'found': spark_cdc._qlik_find_record_columns(me, 'messages', messages, spec.raw_columns),
        'options': {'tables': known, 'little': spark_cdc._qlik_mask_byte_order(me) == 'little'},
    }) -%}
    {{ return(spark_cdc._declared(call)) }}
{%- endmacro -%}


{#- The columns that the log has of each message, and their types in it. -#}
{%- macro _qlik_computed(types) -%}
    {%- set computed = {} -%}
    {%- for name in ('cdc_table', 'cdc_message', 'cdc_waiting_id', 'cdc_resolved_id') -%}{%- do computed.update({name: types[name]}) -%}{%- endfor -%}
    {{ return(computed) }}
{%- endmacro -%}

{#- The rows of a relation as the log has them, without their batch. With `has_waited` the rows are messages of the log that waited.
    Then only those are given of which more is known now.

    A message waits for its schema, or for its table. cdc_table is NULL where the table is not certain. It is also NULL in the
    second row of a message that waited, so the models of all tables read it. -#}
{%- macro _log_qlik_messages(spec, relation, has_waited=false) -%}
with {{ spark_cdc._qlik_parsed(
    relation, spec.found, spec.raw_columns,
    versions=spark_cdc._qlik_versions_as_text(spec.lookups.versions) if spec.lookups else none,
    options=spec.options,
    passed_on=spec.raw_columns
) }},

placed as (
    select
        *,
        case
            when
                cdc_message.reason <=> 'unknown_schema'
                or (
                    cdc_message.kind = 'data'
                    and (
                        coalesce(cdc_message.table_schema, cdc_message.table_name) is null
                        or (cdc_message.schema_id is not null and cdc_message.has_version is not true)
                    )
                )
                then md5(to_json(struct(cdc_value, cdc_key, cdc_topic)))
        end as cdc_waiting_id
    from parsed
)

select
    {{ spark_cdc._column_list(spec.raw_columns) | replace(', ', ',\n    ') }},
    {%- if has_waited %}
    cast(null as string) as cdc_table,
    cdc_message,
    cdc_waiting_id,
    md5(to_json(struct(cdc_value, cdc_key, cdc_topic))) as cdc_resolved_id
from placed
where cdc_waiting_id is null
    {%- else %}
    if(
        cdc_message.table_name is null,
        null,
        concat_ws('.', cdc_message.table_schema, cdc_message.table_name)
    ) as cdc_table,
    cdc_message,
    cdc_waiting_id,
    cast(null as string) as cdc_resolved_id
from placed
    {%- endif %}
{%- endmacro -%}


{#- CTEs to `parsed`, of a log of messages. A message that waited has two rows there; the second one counts. -#}
{%- macro _qlik_parsed_before(spec) -%}
records as (
    select
        {{ spark_cdc._qlik_record_fields(spec.found, spec.raw_columns, spec.builds == 'quarantine') | join(',\n') | indent(8) }},
        cdc_message,
        cdc_waiting_id
    from {{ spec.relation }}
    where {{ spark_cdc._qlik_may_be_of_table(spec) }}
),

parsed as (
    select * except (cdc_waiting_id)
    from records
    where
        {{ spark_cdc._qlik_is_last_reading(spec) | indent(8) }}
)
{%- endmacro -%}

{#- Whether a row of `records` has no second one. -#}
{%- macro _qlik_is_last_reading(spec) -%}
cdc_waiting_id is null
or not exists (
    select 1 as cdc_one
    from {{ spec.relation }}
    where cdc_resolved_id = records.cdc_waiting_id
)
{%- endmacro -%}

{#- A condition for rows of the log: they can matter for the table. By cdc_table alone, so that partitions are skipped. -#}
{%- macro _qlik_may_be_of_table(spec) -%}
    {%- set name, schema = spec.table, spec.schema -%}
    {%- if name and schema -%}
        {%- set found = 'cdc_table in (' ~ spark_cdc._literal(name) ~ ', ' ~ spark_cdc._literal(schema ~ '.' ~ name) ~ ')' -%}
    {%- elif name -%}
        {%- set found = "endswith(concat('.', cdc_table), " ~ spark_cdc._literal('.' ~ name) ~ ')' -%}
    {%- endif -%}
    {{ return('(cdc_table is null or ' ~ found ~ ')' if found else 'true') }}
{%- endmacro -%}
