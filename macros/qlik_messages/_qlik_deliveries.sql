{#- Which messages are of the table, and which deliveries are one message. -#}

{#- CTEs to `messages`: the data messages of the table, and those that cannot be read or have no table (rules 2 to 6). -#}
{%- macro _qlik_messages_of_table(spec) -%}
{%- set versions = 'versions' if 'metadata' in spec.lookups else spec.lookups.versions -%}
{{ spark_cdc._qlik_parsed_before(spec) if spec.computed else spark_cdc._qlik_parsed(
    spec.relation, spec.found, spec.raw_columns,
    versions=spark_cdc._qlik_versions_as_text(versions) if versions else none,
    options={
        'tables': [[spec.schema, spec.table]] if spec.table else [], 'little': spec.avro_mask_byte_order == 'little'
    },
    has_raw=spec.builds == 'quarantine'
) }},

messages as (
    select
        *,
        case
            when cdc_message.kind = 'refused' then cdc_message.reason
            {%- if spec.table or spec.schema %}
            when coalesce(cdc_message.table_schema, cdc_message.table_name) is null
                then if(
                    cdc_message.schema_id is not null and not cdc_message.has_version,
                    'unknown_schema',
                    'unknown_table'
                )
            {%- endif %}
        end as cdc_refused
    from parsed
    where
        cdc_message.kind in ('refused', 'data')
        {%- for condition in spark_cdc._qlik_is_of_table(spec) %}
        and {{ condition }}
        {%- endfor %}
)
{%- endmacro -%}

{#- Conditions for a message, as a list: it is of the table, or has none. -#}
{%- macro _qlik_is_of_table(spec) -%}
    {%- set conditions = [] -%}
    {%- for part, name in [(spec.table, 'table_name'), (spec.schema, 'table_schema')] if part -%}
        {%- do conditions.append('coalesce(cdc_message.' ~ name ~ ' = ' ~ spark_cdc._literal(part) ~ ', true)') -%}
    {%- endfor -%}
    {{ return(conditions) }}
{%- endmacro -%}


{#- CTEs to `told`: what each delivery says, by its first delivery. Messages that belong together have one place: changes by the
    time part of their sequence, loads by their record. -#}
{%- macro _qlik_delivered(spec) -%}
placed as (
    select
        * except (cdc_value, cdc_key),
        md5(cdc_value) as cdc_hash,
        {%- if 'offset' in spec.found %}
        if(
            cdc_message.operation = 'load' and cdc_offset is not null,
            concat_ws('.', cdc_offset, cdc_topic),
            md5(cdc_value)
        ) as cdc_same,
        {%- else %}
        md5(cdc_value) as cdc_same,
        {%- endif %}
        -- among records of a place: loads by their partition
        if(
            cdc_message.operation = 'load',
            cast(cdc_partition as string),
            cdc_message.change_seq
        ) as cdc_position,
        if(
            cdc_message.operation = 'load' or cdc_refused is not null,
            xxhash64(cdc_partition, coalesce(cast(cdc_offset as string), md5(cdc_value))),
            xxhash64(left(cdc_message.change_seq, 16))
        ) as cdc_place
    from messages
    distribute by cdc_place
),

delivered as (
    select
        * except (cdc_message),
        row_number() over in_order as cdc_delivery_number,
        first_value(cdc_message) over in_order as cdc_message
    from placed
    window in_order as (
        partition by cdc_place, cdc_position, cdc_same, cdc_hash
        order by cdc_timestamp asc nulls last, cdc_topic asc, cdc_partition asc, cdc_offset asc
    )
),

told as (
    select
        * except (cdc_message),
        {%- for name in spark_cdc._qlik_fields() %}
        cdc_message.{{ name }} as cdc_{{ 'header_' if name == 'timestamp' else 'first_' if name == 'reason' }}{{ name }},
        {%- endfor %}
        transform(cdc_message.names, name -> lower(name)) as cdc_lower_names,
        transform(cdc_message.before_names, name -> lower(name)) as cdc_before_lower_names
    from delivered
)
{%- endmacro -%}

{#- The fields of a message that rows are made of. -#}
{%- macro _qlik_fields() -%}
    {{ return([
        'reason', 'detail', 'schema_id', 'message_id', 'table_version', 'operation', 'change_seq', 'transaction_id', 'stream_position',
        'timestamp', 'transaction_event_counter', 'transaction_last_event', 'names', 'texts', 'nested', 'before_names', 'before_texts',
        'before_nested', 'changed_bits', 'carried_bits', 'bit_names',
    ]) }}
{%- endmacro -%}
