{#- The change events of one table in a relation of Qlik Replicate messages. See _macros.yml for the arguments. -#}
{%- macro qlik_messages(messages, key, columns, table=none, schema=none, metadata=none, versions=none, before_image='row') -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- if spark_cdc._is_untold(messages) -%}{{ return(spark_cdc._untold(messages)) }}{%- endif -%}
    {{ return(spark_cdc.decode('qlik_messages', spark_cdc._spec_qlik_messages(
        messages, key, columns, table, schema, metadata, versions, before_image
    ))) }}
{%- endmacro -%}


{#- What became of each message. Tombstones, metadata messages and messages of other tables are no-ops. -#}
{%- macro _outcomes_qlik_messages(spec) -%}
    {%- set table = {} -%}
    {%- for name in spec.columns -%}{%- do table.update({name: 'cdc_content.cdc_row.' ~ spark_cdc._quote(name)}) -%}{%- endfor -%}
{{ spark_cdc._qlik_judged(spec) }},

outcomes as (
    select
        * except (cdc_detail),
        {{ spark_cdc._of_quarantine(spec, spark_cdc._qlik_message_detail(spec)) | indent(8) }} as cdc_detail
    from judged
    where
        cdc_reason is not null
        or cdc_event_number = 1
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
    'cdc_reason': 'cdc_reason',
    'cdc_detail': 'cdc_detail',
    'cdc_raw': spark_cdc._of_quarantine(spec, 'cdc_raw'),
    'cdc_raw_rows': 'if(cdc_reason is null, cdc_raw_rows, 1L)',
}, 'outcomes', table) }}
{{- spark_cdc._and_outcomes(spec, {
    'cdc_source': "'qlik_message'", 'cdc_kind': "'no_op'", 'cdc_reason': "'other_message'", 'cdc_raw_rows': 'cdc_raw_rows',
}, '(\n    ' ~ spark_cdc._qlik_other_messages(spec) | indent(4) ~ '\n) as other_messages') }}
{%- endmacro -%}


{#- What else a message says. -#}
{%- macro _qlik_message_metadata(spec) -%}
named_struct(
    'stream_position', cdc_stream_position,
    'timestamp', {{ spark_cdc._typed('cdc_header_timestamp', 'string', 'timestamp') | indent(4) }},
    'transaction_event_counter', {{ spark_cdc._typed('cdc_transaction_event_counter', 'string', 'bigint') | indent(4) }},
    'transaction_last_event', {{ spark_cdc._typed('cdc_transaction_last_event', 'string', 'boolean') | indent(4) }},
    'schema_id', cdc_message_id,
    'table_version', try_cast(cdc_table_version as bigint),
    'topic', cdc_topic,
    'partition', cdc_partition,
    'offset', cdc_offset
)
{%- endmacro -%}


{#- What quarantine says of a refused message. -#}
{%- macro _qlik_message_detail(spec) -%}
    {%- set nulls = [] -%}
    {%- for name in spec.key -%}
        {%- do nulls.append('if(cdc_value_' ~ (spec.columns | list).index(name) ~ ' is null, ' ~ spark_cdc._literal(name) ~ ', null)') -%}
    {%- endfor -%}
case
    when cdc_refused is null and cdc_reason = 'bad_value' then cdc_bad_values
    when cdc_refused is null and cdc_reason = 'sequence_conflict'
        then concat('another message has changeSequence ', cdc_change_seq)
    when cdc_refused is null and cdc_reason = 'null_key'
        then concat(
            array_join(
                array(
                    {{ nulls | join(',\n') | indent(24) }}
                ),
                ', '
            ),
            ' of the key is NULL or missing'
        )
    when cdc_first_reason is null and cdc_reason = 'bad_mask' and size(cdc_list) = 0
        then concat(
            cdc_detail,
            '; columns has no ',
            array_join(
                array_except(cdc_lower_names, cdc_lower_own),
                ', '
            ),
            ', so it does not tell which column a bit stands for'
        )
    when cdc_reason = 'bad_message' then coalesce(cdc_detail, 'several members have a name of a column in other capitals')
    when cdc_reason = 'unknown_schema' then coalesce(cdc_detail, concat('no metadata message has the schemaId ', cdc_schema_id))
    when cdc_reason = 'unknown_table' then coalesce(cdc_detail, 'nothing in the record names a known table')
    else cdc_detail
end
{%- endmacro -%}

{#- A select of the number of messages that can be no event of the table. A message that waited counts as what it is known to be
    now. -#}
{%- macro _qlik_other_messages(spec) -%}
    {%- set is_of_table = ["cdc_message.kind in ('refused', 'data')"] + spark_cdc._qlik_is_of_table(spec) -%}
    {%- if spec.computed -%}{%- do is_of_table.append(spark_cdc._qlik_may_be_of_table(spec)) -%}{%- endif -%}
select count(*) as cdc_raw_rows
from {{ spec.relation ~ ' as records' if spec.computed else 'parsed' }}
where
    not coalesce(
        {{ is_of_table | join('\nand ') | indent(8) }},
        false
    )
    {%- if spec.computed %}
    and (
        {{ spark_cdc._qlik_is_last_reading(spec) | indent(8) }}
    )
    {%- endif %}
{%- endmacro -%}


{#- For `cdc_incremental` over a log of messages: changes matter for others of their time part. A load is placed by the changes before
    it in its partition: if such a change is new or comes again, or a load is new, all rows are decoded. Messages of other tables
    are not read, except those that waited: their first rows may be in quarantine here. -#}
{%- macro _dependencies_qlik_messages(spec) -%}
    {%- if not spec.computed -%}{{ return({}) }}{%- endif -%}
    {%- set of_table, place = spark_cdc._qlik_is_of_table(spec) | join(' and ') or 'true', [] -%}
    {%- for name in ('topic', 'partition') -%}
        {%- do place.append(spark_cdc._qlik_record_column(spec.found, spec.raw_columns, name) ~ ' as cdc_' ~ name) -%}
    {%- endfor -%}
    {%- set offset = spark_cdc._qlik_record_column(spec.found, spec.raw_columns, 'offset') -%}
    {%- set loads -%}
select 1 as cdc_one
from {{ spec.new_rows }}
where cdc_message.operation = 'load' and {{ of_table }}
    {%- if 'offset' in spec.found %}
union all
select 1 as cdc_one
from (
    select
        {{ place | join(', ') }},
        max({{ offset }}) as cdc_last
    from {{ spec.relation }}
    where cdc_message.operation = 'load' and {{ of_table }}
    group by all
) as loads
inner join (
    select
        {{ place | join(', ') }},
        coalesce({{ offset }}, -9223372036854775808) as cdc_offset
    from (
        select * from {{ spec.relation }}
        where cdc_message.change_seq in (select cdc_message.change_seq from {{ spec.new_rows }})
        union all
        select * from {{ spec.new_rows }}
    )
    where cdc_message.operation <> 'load' and {{ of_table }}
) as changes
    on
        coalesce(loads.cdc_topic, '') = coalesce(changes.cdc_topic, '')
        and coalesce(loads.cdc_partition, 0) = coalesce(changes.cdc_partition, 0)
        and loads.cdc_last > changes.cdc_offset
    {%- endif %}
    {%- endset -%}
    {{ return({
        'group': "case when cdc_message.operation <> 'load' then left(cdc_message.change_seq, 16) end",
        'event_group': "case when cdc_operation <> 'load' then left(cdc_sequence, 16) end",
        'is_prefix': true,
        'prefix_of': 'cdc_message.change_seq',
        'keeps': spark_cdc._qlik_may_be_of_table(spec) ~ " and coalesce(cdc_message.kind in ('data', 'refused'), false)",
        'all_if': loads,
    }) }}
{%- endmacro -%}
