{#- The change events of the log table of a Db2 text search index. See _macros.yml for the arguments. -#}
{%- macro db2_log_table(relation, key, base, key_columns=none, columns=none, source_timezone=none) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- for one in (relation, base) if one and spark_cdc._is_untold(one) -%}{{ return(spark_cdc._untold(one)) }}{%- endfor -%}
    {{ return(spark_cdc.decode('db2_log_table', spark_cdc._spec_db2_log_table(
        relation, key, base, key_columns, columns, source_timezone
    ))) }}
{%- endmacro -%}


{#- What became of each row: an event has all rows of its key. -#}
{%- macro _outcomes_db2_log_table(spec) -%}
    {%- set table, key_names = {}, [] -%}
    {%- for name in spec.columns if name in spec.key -%}{%- do key_names.append(spark_cdc._literal(name)) -%}{%- endfor -%}
    {%- for name in spec.columns -%}{%- do table.update({name: spark_cdc._db2_log_value(spec, name)}) -%}{%- endfor -%}
    {%- set digits = spark_cdc._time_digits('cdc_time') -%}
{{ spark_cdc._db2_log_rows(spec) }},

{{ spark_cdc._db2_log_keys(spec) }},

{{ spark_cdc._base_rows(spec, among='logged_keys' if spec.built else none) }},
{% if spec.built %}
{{ spark_cdc._db2_log_kept_events(spec) }},
{% endif %}
{{ spark_cdc._db2_log_events(spec) if spec.builds != 'quarantine' }}
    {%- if spec.builds != 'events' -%}
{{ ',\n\n' if spec.builds != 'quarantine' }}{{ spark_cdc._db2_log_refused(spec) }}
    {%- endif %}

{{ spark_cdc.select_events(spec, {
    'cdc_operation': 'cdc_operation',
    'cdc_sequence': spark_cdc._call('concat', [
        digits, "'.'", spark_cdc._call('md5', [spark_cdc._key_columns_as_text(spec, 'cdc_key.')])
    ]),
    'cdc_commit_sequence': digits,
    'cdc_commit_at': spark_cdc._utc_of_local_time('cdc_time', spec.source_timezone),
    'cdc_present_columns': "case\n    when cdc_operation = 'delete'\n        then "
        ~ spark_cdc._call('array', key_names) | indent(8) ~ '\nend',
    'cdc_metadata': "named_struct('log_operation', cdc_last_operation, 'log_time', cdc_time)",
    'cdc_raw_rows': 'cdc_raw_rows',
}, 'events', table) }}
{{- spark_cdc._and_outcomes(spec, {
    'cdc_kind': "'refused'", 'cdc_reason': 'cdc_reason', 'cdc_raw': 'cdc_raw',
    'cdc_detail': spark_cdc._of_quarantine(spec, spark_cdc._db2_log_detail(spec)),
}, 'refused') }}
{{- spark_cdc._and_outcomes(
    spec, {'cdc_kind': "'no_op'", 'cdc_reason': "'information'"}, 'log_rows', 'cdc_is_information'
) }}
{%- endmacro -%}


{#- The rows of a key make its event, whatever else is in the log. Keys with bad values are asked again. -#}
{%- macro _dependencies_db2_log_table(spec) -%}
    {%- set values = {} -%}
    {%- for name in spec.key -%}{%- do values.update({name: spark_cdc._db2_log_key_value(spec, name)}) -%}{%- endfor -%}
    {{ return({
        'group': spark_cdc._key_as_text(values, spec.columns),
        'event_group': spark_cdc._key_columns_as_text(spec),
        'again': spark_cdc._db2_log_mended_groups(spec) if spec.answers and spark_cdc._uncertain_columns(spec) else none,
    }) }}
{%- endmacro -%}


{#- The keys of which `base` has only rows with bad values. An increment leaves out keys whose events keep an earlier answer.
    -#}
{%- macro _answers_db2_log_table(spec) -%}
    {%- set group = spark_cdc._key_columns_as_text(spec, 'bad_keys.cdc_key.') -%}
    {%- if not spark_cdc._uncertain_columns(spec) -%}
select cast(null as string) as cdc_group
where false
    {%- elif not spec.built -%}
with {{ spark_cdc._base_rows(spec) }},

{{ spark_cdc._db2_log_bad_keys() }}

select
    {{ group | indent(4) }} as cdc_group,
    cdc_key,
    cdc_bad_base
from bad_keys
    {%- else -%}
{{ spark_cdc._db2_log_rows(spec) }},

{{ spark_cdc._db2_log_keys(spec) }},

{{ spark_cdc._base_rows(spec, among='logged_keys') }},

{{ spark_cdc._db2_log_bad_keys() }}

select
    {{ group | indent(4) }} as cdc_group,
    bad_keys.cdc_key,
    bad_keys.cdc_bad_base
from bad_keys
inner join logged_keys
    on bad_keys.cdc_key = logged_keys.cdc_key
        {%- if spec.answers %}
left join {{ spec.answers }} as stored
    on bad_keys.cdc_key = stored.cdc_key
        {%- endif %}
where
    logged_keys.cdc_is_changed
        {%- if spec.answers %}
    or stored.cdc_key is not null
        {%- endif %}
    {%- endif -%}
{%- endmacro -%}

{#- The groups whose rows in `base` were bad and are corrected or gone by now. -#}
{%- macro _db2_log_mended_groups(spec) -%}
with {{ spark_cdc._base_rows(spec, among=spec.answers) }},

{{ spark_cdc._db2_log_bad_keys() }}

select stored.cdc_group
from {{ spec.answers }} as stored
left anti join bad_keys
    on stored.cdc_key = bad_keys.cdc_key
{%- endmacro -%}
