{#- The versions of the tables that metadata messages tell of. See _macros.yml for the arguments. -#}
{%- macro qlik_schema_versions(metadata) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- if spark_cdc._is_untold(metadata) -%}{{ return(spark_cdc._untold(metadata)) }}{%- endif -%}
    {%- set spec = spark_cdc._spec_qlik_schema_versions(metadata) -%}
    {{ return(spark_cdc._fit_for_view('qlik_schema_versions', spark_cdc._events_qlik_schema_versions(spec))) }}
{%- endmacro -%}


{#- One row for each version. -#}
{%- macro _events_qlik_schema_versions(spec) -%}
with {{ spark_cdc._qlik_opened(spec.relation, spec.found, spec.raw_columns, spec.reads_avro) }},

{{ spark_cdc._qlik_described() }},

{{ spark_cdc._qlik_version_rows() }}

select
    {{ spec.columns | join(',\n    ') }}
from versions
{%- endmacro -%}


{#- CTEs to `judged`: every record with the reason why it is in quarantine. -#}
{%- macro _qlik_judged_metadata(spec) -%}
with {{ spark_cdc._qlik_opened(spec.relation, spec.found, spec.raw_columns, spec.reads_avro, as_delivered=true) }},

{{ spark_cdc._qlik_described() }},

judged as (
    select
        *,
        case
            -- data messages are read no further
            when
                cdc_form = 'avro'
                and (not startswith(cdc_value, 'atMSG') or startswith(cdc_value, 'atMSG\u0004DT'))
                then null
            when cdc_envelope_reason is not null then cdc_envelope_reason
            when cdc_form = 'tombstone' then null
            when cdc_is_metadata then if(cdc_bad_metadata is null, null, 'bad_metadata')
            when cdc_has_envelope or cdc_headers is not null then null
            else {{ spark_cdc._qlik_layout_reason() | indent(12) }}
        end as cdc_reason
    from described
)
{%- endmacro -%}


{#- The records that are no messages, and the metadata messages that cannot be read, for `quarantine`. -#}
{%- macro _quarantine_qlik_schema_versions(spec) -%}
{{ spark_cdc._qlik_judged_metadata(spec) }}

select
    'qlik_schema_versions' as cdc_source,
    cdc_reason as reason,
    case cdc_reason
        {%- if spec.reads_avro %}
        when 'bad_avro' then cdc_avro_detail
        when 'bad_metadata' then coalesce(cdc_avro_detail, cdc_bad_metadata)
        {%- else %}
        when 'bad_metadata' then cdc_bad_metadata
        {%- endif %}
        when 'unknown_message_type' then concat('type is ', coalesce(cdc_type, 'NULL'))
        else {{ spark_cdc._qlik_shown_value() | indent(8) }}
    end as detail,
    cdc_raw as raw
from judged
where cdc_reason is not null
{%- endmacro -%}


{#- The four counts, for `raw_counts`. Tombstones and data messages are no-ops. -#}
{%- macro _raw_counts_qlik_schema_versions(spec) -%}
{{ spark_cdc._qlik_judged_metadata(spec) }}

select
    count(*) as raw_rows,
    count_if(cdc_reason is null and cdc_is_metadata) as used_rows,
    count_if(cdc_reason is null and not cdc_is_metadata) as no_op_rows,
    count_if(cdc_reason is not null) as quarantined_rows
from judged
{%- endmacro -%}
