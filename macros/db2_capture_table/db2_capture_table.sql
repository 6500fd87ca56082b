{#- The change events of one Db2 capture table: CD or CCD. See _macros.yml for the arguments. -#}
{%- macro db2_capture_table(
    relation, key, columns=none, unit_of_work=none, before_prefix='auto', base=none, key_columns=none, source_timezone=none,
    before_image='row'
) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- for there in (relation, unit_of_work, base) if there is not none and spark_cdc._is_untold(there) -%}
        {{ return(spark_cdc._untold(there)) }}
    {%- endfor -%}
    {{ return(spark_cdc.decode('db2_capture_table', spark_cdc._spec_db2_capture_table(
        relation, key, columns, unit_of_work, before_prefix, base, key_columns, source_timezone, before_image
    ))) }}
{%- endmacro -%}


{#- What became of each raw row. This format has no documented no-ops. -#}
{%- macro _outcomes_db2_capture_table(spec) -%}
    {%- if spec.lookups.base -%}{{ return(spark_cdc._db2_decode_with_base(spec)) }}{%- endif -%}
    {%- set table = {} -%}
    {%- for name in spec.columns -%}{%- do table.update({name: 'cdc_row.' ~ spark_cdc._quote(name)}) -%}{%- endfor -%}
    {%- if spec.builds == 'quarantine' -%}
{{ spark_cdc._db2_judged(spec) }}
    {%- else -%}
{{ spark_cdc._db2_paired_rows(spec) }}{{ spark_cdc._db2_joined(spec, 'paired', has_times=spec.builds == 'events') }}
    {%- endif %}

{{ spark_cdc.select_events(spec, dict(spark_cdc._db2_of_event(spec), **{
    'cdc_operation': spark_cdc._db2_operation(),
    'cdc_changed_columns': spark_cdc._db2_changed_columns(spec),
    'cdc_before': spark_cdc._before_of(spec),
}), 'joined', table) }}
{{- spark_cdc._db2_and_refused(spec, 'judged') }}
{%- endmacro -%}


{#- Without `base`, the rows of a commit depend on each other and on their unit of work. With `base`, the rows of a key
    depend on each other, and so do rows at one position. Full refreshes depend on all changes before them: see
    _db2_anchors_move. -#}
{%- macro _dependencies_db2_capture_table(spec) -%}
    {%- set commitseq, intentseq = spark_cdc._db2_raw_sequence(spec, 'COMMITSEQ'), spark_cdc._db2_raw_sequence(spec, 'INTENTSEQ') -%}
    {%- set operation = spark_cdc._quote(spec.headers.OPERATION) -%}
    {%- set is_load = spark_cdc._db2_is_load(commitseq, intentseq, operation) -%}
    {%- set has_times = 'LOGMARKER' in spec.headers -%}
    {%- set inputs = {} -%}
    {%- if spec.inputs -%}
        {%- set column = spec.joined.COMMITSEQ -%}
        {%- set of_unit = spark_cdc._db2_sequence(
            spark_cdc.input_column('unit_of_work', column), spec.input_columns.unit_of_work[column]
        ) -%}
        {%- do inputs.update({'unit_of_work': {('identity' if spec.lookups.base else 'group'): of_unit}}) -%}
    {%- endif -%}
    {%- if spec.lookups.base -%}
        {%- set values = {} -%}
        {%- for name in spec.key -%}
            {%- set column = spec.sources[name] -%}
            {%- do values.update({name: spark_cdc._db2_value(spark_cdc._quote(column), spec.raw_columns[column], spec.columns[name])}) -%}
        {%- endfor -%}
        {{ return({
            'group': spark_cdc._key_as_text(values, spec.columns),
            'event_group': spark_cdc._key_columns_as_text(spec),
            'identity': 'case when not coalesce(' ~ is_load ~ ', false) then ' ~ commitseq ~ ' end',
            'again': spark_cdc._db2_unanswered_groups(spec) if spec.answers else none,
            'all_if': spark_cdc._db2_anchors_move(spec) if has_times and spec.answers else none,
            'inputs': inputs,
        }) }}
    {%- endif -%}
    {%- set of_load = "'" ~ '0' * 32 ~ '.L' ~ '0' * 20 ~ "'" -%}
    {%- if has_times -%}
        {%- set of_load = spark_cdc._call('if', [spark_cdc._quote(spec.headers.LOGMARKER) ~ ' is null', of_load, 'null']) -%}
    {%- endif -%}
    {{ return({
        'group': spark_cdc._call('if', ['coalesce(' ~ is_load ~ ', false)', of_load, commitseq]),
        'event_group': 'cdc_commit_sequence',
        'is_prefix': true,
        'all_if': spark_cdc._db2_anchors_move(spec) if has_times else none,
        'inputs': inputs,
    }) }}
{%- endmacro -%}

{#- A select that has a row if new rows can move the place of a full refresh. Such rows are other loads, and changes that
    were committed before a load. A row of a commit up to the last anchor counts too: this commit may be in conflict now. -#}
{%- macro _db2_anchors_move(spec) -%}
{{ spark_cdc._db2_capture_rows(dict(spec, relation=spec.new_rows)) }},

loads as (
    {%- if spec.lookups.base %}
    select
        cdc_load_at,
        cdc_anchor
    from {{ spec.answers }}
    where cdc_load_at is not null
    {%- else %}
    select
        cdc_metadata.logmarker as cdc_load_at,
        left(cdc_commit_sequence, 32) as cdc_anchor
    from {{ spec.built }}
    where cdc_operation = 'load' and cdc_metadata.logmarker is not null
    {%- endif %}
),

last_load as (
    select
        max(cdc_load_at) as cdc_load_at,
        max(cdc_anchor) as cdc_anchor
    from loads
)

select cdc_place
from placed
where
    case
        when cdc_reason is not null then false
        when {{ spark_cdc._db2_is_load_place() }}
            then cdc_logmarker is not null{{ ' and cdc_logmarker not in (select cdc_load_at from loads)' if spec.lookups.base }}
        else
            cdc_logmarker <= (select cdc_load_at from last_load)
            or hex(cdc_place) <= (select cdc_anchor from last_load)
    end
{%- endmacro -%}
