{#- Look-ups of decoders: what was answered stays the same in later runs. -#}

{#- The time up to which rows are decoded never goes back: rows that one run decoded stay decoded. -#}
{%- macro _keep_as_of(run) -%}
    {%- set spec = run.call.spec -%}
    {%- set before = run.properties.get('spark_cdc.as_of') if not run.is_full else none -%}
    {%- if spec.as_of and before and before > spec.as_of -%}
        {%- do spec.update({'as_of': before}) -%}
    {%- endif -%}
    {%- do spec.update({'as_of_before': before}) -%}
{%- endmacro -%}

{#- Stores the answers of look-ups in another table, `run.answers`, if the decoder has _answers_<decoder>(spec). This is a
    select of cdc_group and any other columns; the decoder reads them as spec.answers. In an increment, answers of groups
    that are not `affected` stay. -#}
{%- macro _ask(run, relation, more, affected=none) -%}
    {%- set part = spark_cdc._part_of_decoder('cdc_incremental', 'answers', run.call.decoder, is_optional=true) -%}
    {%- if not part or not run.call.spec.lookups.values() | select | list -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set answers = spark_cdc._side_table('answers_' ~ run.suffix) -%}
    {%- set select = part(dict(run.call.spec, relation=relation, answers=run.answers, **dict(more))) -%}
    {%- set sql -%}
create table {{ answers }} using parquet as
        {%- if affected and run.answers %}
select * from (
    {{ select | indent(4) }}
) as answered
where cdc_group in (select cdc_group from {{ affected.groups }})
union all
select stored.* from {{ run.answers }} as stored
left anti join {{ affected.groups }} as affected
    on stored.cdc_group = affected.cdc_group
        {%- else %}
{{ select }}
        {%- endif %}
    {%- endset -%}
    {%- do run_query(sql) -%}
    {%- do run.update({'answers': answers}) -%}
{%- endmacro -%}

{#- The properties about look-ups that a run stores after it has written. -#}
{%- macro _properties_of_look_ups(run) -%}
    {%- set properties = {} -%}
    {%- if run.answers -%}{%- do properties.update({'spark_cdc.answers': run.answers.identifier}) -%}{%- endif -%}
    {%- if run.call.spec.as_of -%}{%- do properties.update({'spark_cdc.as_of': run.call.spec.as_of}) -%}{%- endif -%}
    {%- if run.look_ups -%}{%- do properties.update({'spark_cdc.look_ups': run.look_ups}) -%}{%- endif -%}
    {{ return(properties) }}
{%- endmacro -%}

{#- Without dependencies a decoder does not say which rows of a look-up matter. Then a run that finds other rows in one decodes
    everything again. It compares checksums, which it takes before it decodes. -#}
{%- macro _note_look_ups(run) -%}
    {%- set checksums = {} -%}
    {%- for name, relation in run.call.spec.lookups.items() if relation is not none and not run.dependencies and not run.resume -%}
        {%- set values = spark_cdc._hashed_values(spark_cdc.columns_of(relation)) -%}
        {%- set found = run_query(
            'select count(*), sum(cast(xxhash64(' ~ values ~ ") as decimal(38, 0))), sum(cast(xxhash64('second', " ~ values
            ~ ') as decimal(38, 0))) from ' ~ relation ~ ' as looked_up'
        ).rows[0] -%}
        {%- do checksums.update({name: found | join(' ')}) -%}
    {%- endfor -%}
    {%- do run.update({'look_ups': tojson(checksums) if checksums else none}) -%}
{%- endmacro -%}
