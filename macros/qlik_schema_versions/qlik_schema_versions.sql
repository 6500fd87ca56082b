{#- The versions of the tables that metadata messages tell of. See _macros.yml for the arguments. -#}
{%- macro qlik_schema_versions(metadata) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- if spark_cdc._is_untold(metadata) -%}{{ return(spark_cdc._untold(metadata)) }}{%- endif -%}
    {%- set spec = spark_cdc._spec_qlik_schema_versions(metadata) -%}
    {{ return(spark_cdc._fit_for_view('qlik_schema_versions', spark_cdc._qlik_versions(spec))) }}
{%- endmacro -%}


{#- The facts of a relation with metadata messages, as a dict; a relation that cannot be one stops. It has the parts of a decoder's spec,
    for `quarantine` and `raw_counts`. -#}
{%- macro _spec_qlik_schema_versions(metadata) -%}
    {%- set in_relation, me = spark_cdc._raw_columns_in(metadata), 'qlik_schema_versions' -%}
    {%- do spark_cdc._check_functions(me, ['spark_cdc_qlik_message'], '4.0') -%}
    {{ return({
        'relation': metadata,
        'raw_columns': in_relation,
        'key': ['schema_id'],
        'columns': spark_cdc._qlik_version_columns(),
        'found': spark_cdc._qlik_find_record_columns(me, 'metadata', metadata, in_relation),
    }) }}
{%- endmacro -%}

{#- The columns of a version, and their types. -#}
{%- macro _qlik_version_columns() -%}
    {{ return({
        'schema_id': 'string', 'source_schema': 'string', 'source_table': 'string', 'table_version': 'bigint', 'written_at': 'timestamp',
        'server': 'string', 'task': 'string',
        'columns': 'array<struct<name: string, ordinal: int, type: string, length: bigint, precision: int, scale: int,'
            ~ ' primary_key_position: int, nullable: boolean>>',
        'data_schema': 'string',
    }) }}
{%- endmacro -%}


{#- One row for each version. Messages that differ in times only tell the same one. A condition on the text leaves out nearly all data
    messages. -#}
{%- macro _qlik_versions(spec) -%}
    {%- set names, read = [], [] -%}
    {%- for name, data_type in spec.columns.items() -%}
        {%- do read.append(('told_at string' if name == 'written_at' else '`' ~ name ~ '` ' ~ data_type)) -%}
        {%- if name != 'written_at' -%}{%- do names.append('cdc_version.' ~ spark_cdc._quote(name)) -%}{%- endif -%}
    {%- endfor -%}
    {%- set value = spark_cdc._qlik_record_column(spec.found, spec.raw_columns, 'value') -%}
with {{ spark_cdc._qlik_parsed(
    spec.relation, spec.found, spec.raw_columns, options={'only_metadata': true},
    condition='cast(' ~ value ~ " as string) rlike '\"(?i:MD|tableStructure|dataSchema)\"|\\\\\\\\u|^atMSG\\\\u0004MD'"
) }},

read as (
    select
        cdc_timestamp,
        from_json(
            cdc_message.detail,
            '{{ read | join(",\n            ") }}'
        ) as cdc_version
    from parsed
    where cdc_message.kind = 'metadata'
)

select
    {%- for name in spec.columns %}
    {%- if name == 'written_at' %}
    min(
        coalesce(
            cdc_timestamp,
            {{ spark_cdc._typed('cdc_version.told_at', 'string', 'timestamp') | indent(12) }}
        )
    ) as written_at,
    {%- else %}
    cdc_version.{{ spark_cdc._quote(name) }}{{ ',' if not loop.last }}
    {%- endif %}
    {%- endfor %}
from read
group by
    {{ names | join(',\n    ') }}
{%- endmacro -%}


{#- What became of each record: for `quarantine` and `raw_counts`. Tombstones and data messages are no-ops. -#}
{%- macro _outcomes_qlik_schema_versions(spec) -%}
with {{ spark_cdc._qlik_parsed(
    spec.relation, spec.found, spec.raw_columns, options={'only_metadata': true}, has_raw=spec.builds == 'quarantine'
) }}

{{ spark_cdc._select_outcomes(spec, {
    'cdc_kind': "case cdc_message.kind\n    when 'metadata' then 'used'\n    when 'refused' then 'refused'\n    else 'no_op'\nend",
    'cdc_reason': 'cdc_message.reason',
    'cdc_detail': 'cdc_message.detail',
    'cdc_raw': spark_cdc._of_quarantine(spec, 'cdc_raw'),
}, 'parsed') }}
{%- endmacro -%}
