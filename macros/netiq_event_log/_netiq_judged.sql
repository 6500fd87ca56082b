{#- The raw rows with their result, for quarantine and counts. -#}

{#- CTEs to `judged`: every delivery of the table's rows, with the reason if it is in quarantine. -#}
{%- macro _netiq_judged(spec, as_delivered=false, goes_on=false) -%}
    {%- set is_asked = spec.lookups.snapshot -%}
    {%- if not goes_on -%}
{{ spark_cdc._netiq_answered(spec, as_delivered) if is_asked else spark_cdc._netiq_items(spec, as_delivered) }},
{{ '\n' }}
    {%- endif -%}
    {%- if is_asked -%}
bad_answers as (
    select
        cdc_record_id,
        cdc_bad
    from answered
    where cdc_bad is not null
),
{{ '\n' }}
    {%- endif -%}
judged as (
    select
        judged_alone.* except (cdc_reason),
        {%- if is_asked %}
        bad_answers.cdc_bad,
        {%- endif %}
        case
            when judged_alone.cdc_reason is not null then judged_alone.cdc_reason
            when not gathered.cdc_least <=> gathered.cdc_greatest then 'sequence_conflict'
            {%- if is_asked %}
            when bad_answers.cdc_record_id is not null then 'bad_value'
            {%- else %}
            when
                judged_alone.cdc_event_type >= 5
                {%- if spec.is_by_time %}
                and judged_alone.cdc_event_time <= {{ spark_cdc._netiq_time_literal(spec.as_of) }}
                {%- endif %}
                then 'no_snapshot'
            {%- endif %}
        end as cdc_reason
    from judged_alone
    left join gathered
        on judged_alone.cdc_record_id = gathered.cdc_record_id
    {%- if is_asked %}
    left join bad_answers
        on judged_alone.cdc_record_id = bad_answers.cdc_record_id
    {%- endif %}
)
{%- endmacro -%}

{#- The text of `detail`: what a person needs to see with the reason. -#}
{%- macro _netiq_detail(spec) -%}
    {%- set texts, bad_keys = {}, [] -%}
    {%- for name in spec.key -%}
        {%- do bad_keys.append(
            'when cdc_key.' ~ spark_cdc._quote(name) ~ ' is null\n    then ' ~ spark_cdc._call('concat', [
                "'table_key is '", spark_cdc._shown('cdc_object'), spark_cdc._literal('; ' ~ name ~ ' in it is no ' ~ spec.columns[name])
            ]) | indent(4)
        ) -%}
    {%- endfor -%}
case cdc_reason
    when 'missing_table_name' then 'table_name is NULL, empty, or ends with a dot'
    when 'bad_record_id' then concat('record_id is ', coalesce(cdc_record_id_as_logged, 'NULL'))
    when 'bad_status' then concat('status is ', coalesce(cdc_status, 'NULL'))
    when 'unknown_operation' then concat('event_type is ', coalesce(cdc_event_type_as_logged, 'NULL'))
    when 'null_event_time' then 'event_time is NULL'
    when 'bad_event_time' then concat('event_time is ', cdc_event_time_as_logged)
    when 'malformed_table_key' then concat('table_key is ', coalesce({{ spark_cdc._shown('cdc_object') }}, 'NULL'))
    when 'key_mismatch'
        then concat('table_key is ', {{ spark_cdc._shown('cdc_object') }}, {{ spark_cdc._literal('; the key is ' ~ spec.key | join(', ')) }})
    when 'missing_column_name' then 'column_name is NULL or empty'
    when 'sequence_conflict' then concat('another row has record_id ', cdc_record_id)
    when 'no_snapshot' then concat('event_type is ', cdc_event_type, ', whose values only a snapshot has')
    when 'bad_value'
        then case
            {{ bad_keys | join('\n') | indent(12) }}
            {%- if spec.lookups.snapshot %}
            when cdc_bad is not null
                then concat(
                    cdc_bad.name,
                    ': \'',
                    {{ spark_cdc._shown('cdc_bad.value') }},
                    '\' in the snapshot is no ',
                    {{ spark_cdc._netiq_type_of(spec, 'cdc_bad.name') | indent(20) }}
                )
            {%- endif %}
            else concat(
                cdc_column,
                ': \'',
                {{ spark_cdc._shown('cdc_new_value') }},
                '\' is no ',
                {{ spark_cdc._netiq_type_of(spec, 'cdc_column') | indent(16) }}
            )
        end
end
{%- endmacro -%}

{#- The declared type of a column, by its name in lower case. -#}
{%- macro _netiq_type_of(spec, name) -%}
case {{ name }}
    {%- for column, data_type in spec.columns.items() %}
    when {{ spark_cdc._literal(column | lower) }} then {{ spark_cdc._literal(data_type) }}
    {%- endfor %}
end
{%- endmacro -%}
