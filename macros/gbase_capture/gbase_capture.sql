{#- The change events of one table in the capture stream of GBase 8s or Informix. See _macros.yml for the arguments. -#}
{%- macro gbase_capture(relation, table_id, key, columns, gbase_encoding=none, gbase_rtrim_char=none, null_keys=false, before_image='row') -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- if spark_cdc._is_untold(relation) -%}{{ return(spark_cdc._untold(relation)) }}{%- endif -%}
    {%- set spec = spark_cdc._spec_gbase_capture(
        relation, table_id, key, columns, gbase_encoding, gbase_rtrim_char, null_keys, before_image
    ) -%}
    {{ return(spark_cdc.decode('gbase_capture', spec)) }}
{%- endmacro -%}


{#- What became of the records of each chunk, and of each chunk. A chunk is refused if any part of it is. Otherwise it is used if any
    record of it is. -#}
{%- macro _outcomes_gbase_capture(spec) -%}
    {%- set table = {} -%}
    {%- for name in spec.columns -%}{%- do table.update({name: 'cdc_row.' ~ spark_cdc._quote(name)}) -%}{%- endfor -%}
{{ spark_cdc._gbase_judged(spec) if spec.builds == 'events' else spark_cdc._gbase_items(spec) }},
    {%- if spec.builds != 'quarantine' %}

-- captures that overlap after a restart repeat changes: the first one counts
numbered as (
    select
        *,
        row_number() over (
            partition by cdc_sequence
            order by capture_id, chunk, chunk_offset
        ) as cdc_number
    from judged
    where
        kind = 'event'
        and not cdc_has_bad_value
){{ ',' if spec.builds != 'events' }}
    {%- endif %}
    {%- if spec.builds != 'events' %}

{{ spark_cdc._gbase_refused(spec) }}
    {%- endif %}
    {%- if spec.builds == 'raw_counts' %},

{{ spark_cdc._gbase_chunks(spec) }}
    {%- endif %}

{{ spark_cdc.select_events(spec, {
    'cdc_operation': 'cdc_operation',
    'cdc_sequence': 'cdc_sequence',
    'cdc_commit_sequence': 'cdc_commit_sequence',
    'cdc_commit_at': 'cdc_commit_at',
    'cdc_transaction_id': 'cdc_transaction_id',
    'cdc_changed_columns': 'case when not cdc_before_has_bad_value then cdc_changed_columns end',
    'cdc_present_columns': 'cdc_present_columns',
    'cdc_before': spark_cdc._before_of(spec, condition='not cdc_before_has_bad_value'),
    'cdc_metadata': spark_cdc._gbase_metadata(spec),
    'cdc_raw_rows': '0L',
}, 'numbered', table) }}
{{ 'where cdc_number = 1' if spec.builds != 'quarantine' }}
{{- spark_cdc._and_outcomes(spec, {
    'cdc_kind': "'refused'", 'cdc_reason': 'cdc_reason', 'cdc_detail': 'cdc_detail', 'cdc_raw': 'cdc_raw', 'cdc_raw_rows': '0L',
}, 'refused') }}
    {%- if spec.builds == 'raw_counts' %}
{{- spark_cdc._and_outcomes(spec, {
    'cdc_kind': "if(is_refused, 'refused', if(is_used, 'used', 'no_op'))"
}, 'judged_chunks') }}
    {%- endif %}
{%- endmacro -%}


{#- Other facts that the source gives about a change. -#}
{%- macro _gbase_metadata(spec) -%}
named_struct(
    'capture_id', capture_id,
    'table_id', {{ spec.table_id }},
    'user_id', user_id,
    'began_at', began_at
)
{%- endmacro -%}
