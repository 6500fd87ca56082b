{#- What the driver of Identity Manager would publish of a table, row by row. See _macros.yml for the arguments. -#}
{%- macro netiq_publication(
    relation, table, key, columns, snapshot=none, layout=none, driver_user=none, allow_loopback=false, as_of=none,
    pending_only=true, source_timezone=none
) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- if spark_cdc._is_untold(relation) -%}{{ return(spark_cdc._untold(relation)) }}{%- endif -%}
    {%- do spark_cdc._check_not_incremental('netiq_publication') -%}
    {%- set spec = spark_cdc._netiq_publication_spec(
        'netiq_publication', relation, table, key, columns, snapshot, layout, driver_user, allow_loopback, as_of, pending_only,
        source_timezone
    ) -%}
    {{ return(spark_cdc._fit_for_view('netiq_publication', spark_cdc._netiq_publication(spec))) }}
{%- endmacro -%}

{#- The select. Rows that are not published are included, in groups of their own, so that the log is read once. -#}
{%- macro _netiq_publication(spec) -%}
{{ spark_cdc._netiq_decided(spec) }},

remaining as (
    select
        *,
        cdc_reason is null as cdc_is_published,
        case
            when cdc_reason = 'P3' then cdc_deleted_by
            when cdc_reason in ('P1', 'P2') then coalesce(cdc_row.cdc_record_id, cdc_field.cdc_record_id)
        end as cdc_suppressed_by
    from decided
),

{{ spark_cdc._netiq_parts(spec, ['cdc_column', 'cdc_reason', 'cdc_suppressed_by'], 'cdc_key, cdc_is_published') }},

{{ spark_cdc._netiq_sequenced(spec) }}

select
    cast(log_row.cdc_record_id as string) as record_id,
    log_row.cdc_reason is null as is_published,
    log_row.cdc_reason as reason,
    cast(log_row.cdc_suppressed_by as string) as suppressed_by,
    case
        when log_row.cdc_reason is null
            then {{ spark_cdc._netiq_sequence(spec) | indent(12) }}
    end as cdc_sequence
from sequenced
    lateral view explode(cdc_rows) log_rows as log_row
{%- endmacro -%}
