{#- The change events of one table in the event log of NetIQ Identity Manager's JDBC driver. See _macros.yml for the arguments. -#}
{%- macro netiq_event_log(
    relation, table, key, columns, snapshot=none, layout=none, as_of=none, source_timezone=none
) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- if spark_cdc._is_untold(relation) -%}{{ return(spark_cdc._untold(relation)) }}{%- endif -%}
    {{ return(spark_cdc.decode('netiq_event_log', spark_cdc._spec_netiq_event_log(
        relation, table, key, columns, snapshot, layout, as_of, source_timezone
    ))) }}
{%- endmacro -%}


{#- What became of each log row. Rows without a table name are refused for every table. Rows that wait, that another row takes
    precedence over, that change undeclared columns alone, and rows of other tables are no-ops. -#}
{%- macro _outcomes_netiq_event_log(spec) -%}
    {%- set values = {} -%}
    {%- for name in spec.columns -%}{%- do values.update({name: spark_cdc._netiq_event_value(spec, name)}) -%}{%- endfor -%}
{{ spark_cdc._netiq_events(spec) }}

{{ spark_cdc.select_events(spec, {
    'cdc_operation': 'cdc_operation',
    'cdc_sequence': spark_cdc._netiq_sequence(spec),
    'cdc_commit_sequence': spark_cdc._netiq_sequence(spec),
    'cdc_commit_at': spark_cdc._utc_of_local_time('cdc_first.cdc_event_time', spec.source_timezone),
    'cdc_changed_columns': spark_cdc._netiq_changed_columns(spec),
    'cdc_present_columns': spark_cdc._netiq_present_columns(spec),
    'cdc_metadata': spark_cdc._netiq_metadata(),
    'cdc_kind': 'cdc_outcome' if spec.builds != 'quarantine' else none,
    'cdc_raw_rows': 'cdc_raw_rows',
}, 'events', values) }}
{{- spark_cdc._netiq_and_settled(spec) }}
{{- spark_cdc._and_outcomes(spec, {
    'cdc_kind': "'refused'", 'cdc_reason': 'cdc_reason', 'cdc_detail': 'cdc_detail',
    'cdc_raw': spark_cdc._of_quarantine(spec, spark_cdc._raw_row_as_json('cdc_raws[0]')),
}, 'judged', 'cdc_reason is not null') }}
{{- spark_cdc._and_outcomes(
    spec, {'cdc_kind': "'no_op'", 'cdc_reason': "'other_table'"}, spec.relation, 'not ' ~ spark_cdc._netiq_is_of_table(spec)
) }}
{%- endmacro -%}


{#- The rows of a key depend on each other: a later delete affects all rows before it. Rows of one record id can be in
    conflict. -#}
{%- macro _dependencies_netiq_event_log(spec) -%}
    {%- set group = spark_cdc._netiq_group_of_raw_row(spec) -%}
    {%- set again = [] -%}
    {%- if spec.as_of -%}
        {%- set time = spark_cdc._netiq_raw_time(spec) -%}
        {%- set since = time ~ ' > ' ~ spark_cdc._netiq_time_literal(spec.as_of_before) ~ '\n    and ' if spec.as_of_before else '' -%}
        {%- do again.append(
            'select ' ~ group ~ '\nfrom ' ~ spec.relation ~ '\nwhere\n    ' ~ since ~ time ~ ' <= ' ~ spark_cdc._netiq_time_literal(spec.as_of)
        ) -%}
    {%- endif -%}
    {%- if spec.answers -%}
        {%- do again.append(spark_cdc._netiq_unanswered_groups(spec)) -%}
    {%- endif -%}
    {{ return({
        'group': group,
        'event_group': spark_cdc._key_columns_as_text(spec),
        'identity': 'cast(' ~ spark_cdc._netiq_raw_record_id(spec) ~ ' as string)',
        'again': again | join('\nunion all\n') if again else none,
        'keeps': spark_cdc._netiq_is_of_table(spec),
    }) }}
{%- endmacro -%}


{#- The snapshot's answers to the windows of query-back rows. cdc_question identifies a window by its rows, so the answer
    stays until a row joins or leaves the window. A window without an answer waits: cdc_is_answered is false. -#}
{%- macro _answers_netiq_event_log(spec) -%}
{{ spark_cdc._netiq_windows(spec) }},

questions as (
    select
        cdc_key,
        cdc_question,
        bool_or(cdc_is_overtaken) as cdc_is_overtaken,
        bool_or(cdc_event_type <= 6) as cdc_has_row,
        collect_set(case when cdc_event_type >= 7 then cdc_column end) as cdc_fields
    from windowed
    where
        cdc_event_type >= 5
        and cdc_reason is null
    group by cdc_key, cdc_question
),

{{ spark_cdc._netiq_snapshot(spec) }},

answers as (
    select
        questions.*,
        {%- if spec.answers %}
        case
            when stored.cdc_is_answered then stored.cdc_answer
            when not questions.cdc_is_overtaken then snapshot_rows.cdc_answer
        end as cdc_answer
        {%- else %}
        case when not questions.cdc_is_overtaken then snapshot_rows.cdc_answer end as cdc_answer
        {%- endif %}
    from questions
    left join snapshot_rows
        on questions.cdc_key = snapshot_rows.cdc_key
    {%- if spec.answers %}
    left join {{ spec.answers }} as stored
        on questions.cdc_question = stored.cdc_question
    {%- endif %}
)

select
    {{ spark_cdc._key_columns_as_text(spec, 'cdc_key.') }} as cdc_group,
    cdc_key,
    cdc_question,
    cdc_answer,
    coalesce(
        (cdc_has_row and size(cdc_answer.cdc_bad) = 0)
        or exists(cdc_fields, field -> not exists(cdc_answer.cdc_bad, one -> one.name = field)),
        false
    ) as cdc_is_answered
from answers
where
    not cdc_is_overtaken
    or cdc_answer is not null
{%- endmacro -%}

{#- The groups with a window that waits for a row which the snapshot has by now. -#}
{%- macro _netiq_unanswered_groups(spec) -%}
select stored.cdc_group
from {{ spec.answers }} as stored
left semi join (
    with {{ spark_cdc._netiq_snapshot(spec) }}

    select * from snapshot_rows
) as snapshot_rows
    on stored.cdc_key = snapshot_rows.cdc_key
where not stored.cdc_is_answered
{%- endmacro -%}
