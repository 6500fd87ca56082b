{#- The change events of one table in a relation of Qlik Replicate messages. See _macros.yml for the arguments. -#}
{%- macro qlik_messages(messages, key, columns, table=none, schema=none, metadata=none, before_image='row') -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- if spark_cdc._is_untold(messages) -%}{{ return(spark_cdc._untold(messages)) }}{%- endif -%}
    {{ return(spark_cdc.decode('qlik_messages', spark_cdc._spec_qlik_messages(
        messages, key, columns, table, schema, metadata, before_image
    ))) }}
{%- endmacro -%}


{#- The change events. -#}
{%- macro _events_qlik_messages(spec) -%}
    {%- set table, fields = {}, [
        'cdc_sequence', 'cdc_commit_sequence', 'cdc_operation', 'cdc_transaction_id', 'cdc_content', 'cdc_change_seq', 'cdc_timestamp',
        'cdc_message_id', 'cdc_topic', 'cdc_partition', 'cdc_offset',
    ] -%}
    {%- for name in ('timestamp', 'streamPosition', 'transactionEventCounter', 'transactionLastEvent') -%}
        {%- do fields.append(spark_cdc._qlik_header_column(name)) -%}
    {%- endfor -%}
    {%- if 'metadata' in spec.lookups -%}{%- do fields.append('cdc_table_version') -%}{%- endif -%}
    {%- for name in spec.columns -%}{%- do table.update({name: 'cdc_content.cdc_row.' ~ spark_cdc._quote(name)}) -%}{%- endfor -%}
{{ spark_cdc._qlik_judged(spec) }},

events as (
    select
        {{ fields | join(',\n        ') }}
    from judged
    where cdc_reason is null and cdc_event_number = 1
)

{{ spark_cdc.select_events(spec, {
    'cdc_source': "'qlik_message'",
    'cdc_operation': 'cdc_operation',
    'cdc_sequence': 'cdc_sequence',
    'cdc_commit_sequence': 'cdc_commit_sequence',
    'cdc_commit_at': "case\n    when cdc_operation = 'load'\n        then " ~ spark_cdc._time_of_years('cdc_timestamp') | indent(8) ~ '\n    else '
        ~ spark_cdc._qlik_time_part('cdc_change_seq') | indent(4) ~ '\nend',
    'cdc_transaction_id': 'cdc_transaction_id',
    'cdc_changed_columns': 'cdc_content.cdc_changed_columns',
    'cdc_present_columns': 'cdc_content.cdc_present_columns',
    'cdc_before': spark_cdc._before_of(spec, 'cdc_content.cdc_before'),
    'cdc_metadata': spark_cdc._qlik_message_metadata(spec),
}, 'events', table) }}
{%- endmacro -%}


{#- What else a message says. -#}
{%- macro _qlik_message_metadata(spec) -%}
named_struct(
    'stream_position', if(cdc_header_stream_position = '', null, cdc_header_stream_position),
    'timestamp', {{ spark_cdc._typed('cdc_header_timestamp', 'string', 'timestamp') | indent(4) }},
    'transaction_event_counter', {{ spark_cdc._typed('cdc_header_transaction_event_counter', 'string', 'bigint') | indent(4) }},
    'transaction_last_event', {{ spark_cdc._typed('cdc_header_transaction_last_event', 'string', 'boolean') | indent(4) }},
    'schema_id', cdc_message_id,
    'table_version', {{ 'cdc_table_version' if 'metadata' in spec.lookups else 'cast(null as bigint)' }},
    'topic', cdc_topic,
    'partition', cdc_partition,
    'offset', cdc_offset
)
{%- endmacro -%}


{#- CTEs to `deliveries`: the changes, the loads and the metadata messages that cannot be read, each delivery with its reason. -#}
{%- macro _qlik_all_deliveries(spec) -%}
    {%- set told, nulls = [], [] -%}
    {%- for name in ('operation', 'changeMask', 'columnMask') -%}{%- do told.append(spark_cdc._qlik_header_column(name)) -%}{%- endfor -%}
    {%- for name in spec.columns if name in spec.key -%}{%- do nulls.append('cdc_value_' ~ (spec.columns | list).index(name)) -%}{%- endfor -%}
{{ spark_cdc._qlik_judged(spec, as_delivered=true) }},

told as (
    with {{ spark_cdc._qlik_opened(
        spec.relation, spec.found, spec.raw_columns, spec.reads_avro, as_delivered=true, only_metadata=true
    ) | indent(4) }},

    {{ spark_cdc._qlik_described() | indent(4) }}

    select *
    from described
    where cdc_bad_metadata is not null and cdc_envelope_reason is null
),

deliveries as (
    select
        cdc_raw,
        cdc_value,
        {{ "cdc_avro_detail" if spec.reads_avro else "cast(null as string) as cdc_avro_detail" }},
        cdc_type,
        cdc_schema_id,
        {{ told | join(',\n        ') }},
        cdc_change_seq,
        cast(null as string) as cdc_bad_metadata,
        cdc_bad_values,
        -- without ordinals no bit can be read
        if(size(cdc_ordinals) = 0, cdc_names_outside, null) as cdc_names_outside,
        {{ nulls | join(',\n        ') }},
        cdc_reason
    from judged
    union all
    select
        cdc_raw,
        cdc_value,
        null as cdc_avro_detail,
        cdc_type,
        cdc_schema_id,
        {%- for name in told %}
        null as {{ name }},
        {%- endfor %}
        null as cdc_change_seq,
        cdc_bad_metadata,
        null as cdc_bad_values,
        null as cdc_names_outside,
        {%- for name in nulls %}
        null as {{ name }},
        {%- endfor %}
        'bad_metadata' as cdc_reason
    from told
)
{%- endmacro -%}


{#- The messages that are no events, for `quarantine`. -#}
{%- macro _quarantine_qlik_messages(spec) -%}
    {%- set nulls = [] -%}
    {%- for name in spec.key -%}
        {%- do nulls.append('if(cdc_value_' ~ (spec.columns | list).index(name) ~ ' is null, ' ~ spark_cdc._literal(name) ~ ', null)') -%}
    {%- endfor -%}
{{ spark_cdc._qlik_all_deliveries(spec) }}

select
    'qlik_message' as cdc_source,
    cdc_reason as reason,
    case if(cdc_avro_detail is null, cdc_reason, 'avro')
        when 'avro' then cdc_avro_detail
        when 'bad_metadata' then cdc_bad_metadata
        when 'unknown_message_type' then concat('type is ', coalesce(cdc_type, 'NULL'))
        when 'unknown_schema' then concat('no metadata message has the schemaId ', cdc_schema_id)
        when 'unknown_table' then 'nothing in the record names a known table'
        when 'unknown_operation' then concat('operation is ', coalesce(cdc_header_operation, 'NULL'))
        when 'bad_change_seq' then concat('changeSequence is ', coalesce(cdc_change_seq, 'NULL'))
        when 'bad_mask'
            then concat(
                'changeMask is ',
                coalesce(cdc_header_change_mask, 'NULL'),
                ', columnMask is ',
                coalesce(cdc_header_column_mask, 'NULL'),
                coalesce(
                    concat(
                        '; columns has no ',
                        nullif(array_join(cdc_names_outside, ', '), ''),
                        ', so it does not tell which column a bit stands for'
                    ),
                    ''
                )
            )
        when 'bad_value' then cdc_bad_values
        when 'sequence_conflict' then concat('another message has changeSequence ', cdc_change_seq)
        when 'null_key'
            then concat(
                array_join(
                    filter(
                        array(
                            {{ nulls | join(',\n') | indent(28) }}
                        ),
                        name -> name is not null
                    ),
                    ', '
                ),
                ' of the key is NULL or missing'
            )
        else {{ spark_cdc._qlik_shown_value() | indent(8) }}
    end as detail,
    cdc_raw as raw
from deliveries
where cdc_reason is not null
{%- endmacro -%}


{#- The four counts, for `raw_counts`. Tombstones, metadata messages and messages of other tables are no-ops. -#}
{%- macro _raw_counts_qlik_messages(spec) -%}
{{ spark_cdc._qlik_all_deliveries(spec) }},

delivered_rows as (
    select count(*) as raw_rows
    from {{ spec.relation }}
),

counted as (
    select
        count_if(cdc_reason is null) as used_rows,
        count_if(cdc_reason is not null) as quarantined_rows
    from deliveries
)

select
    delivered_rows.raw_rows,
    counted.used_rows,
    delivered_rows.raw_rows - counted.used_rows - counted.quarantined_rows as no_op_rows,
    counted.quarantined_rows
from counted
cross join delivered_rows
{%- endmacro -%}
