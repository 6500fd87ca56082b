{%- macro audit_log(relation, key) -%}
    {{ return(spark_cdc.decode('consumer.audit_log', consumer._spec_audit_log(relation, key))) }}
{%- endmacro -%}

{%- macro _spec_audit_log(relation, key) -%}
    {%- set there, columns = spark_cdc.columns_of(relation), {} -%}
    {%- for name in there if name not in ('position', 'action') -%}{%- do columns.update({name: there[name]}) -%}{%- endfor -%}
    {{ return({'relation': relation, 'raw_columns': there, 'key': key, 'columns': columns}) }}
{%- endmacro -%}

{%- macro _audit_log_rows(spec) -%}
with rows_with_reason as (
    select
        *,
        case when action in ('insert', 'update', 'delete') then null else 'unknown_action' end as reason
    from {{ spec.relation }}
)
{%- endmacro -%}

{%- macro _events_audit_log(spec) -%}
{{ consumer._audit_log_rows(spec) }}
{{ spark_cdc.select_events(spec, {'cdc_operation': 'action', 'cdc_sequence': 'position'}, '(select distinct * from rows_with_reason)') }}
where reason is null
{%- endmacro -%}

{%- macro _quarantine_audit_log(spec) -%}
{{ consumer._audit_log_rows(spec) }}
select 'audit_log' as cdc_source, reason, concat('action is ', action) as detail, {{ spark_cdc.raw_json(spec.raw_columns) }} as raw
from rows_with_reason
where reason is not null
{%- endmacro -%}

{%- macro _raw_counts_audit_log(spec) -%}
{{ consumer._audit_log_rows(spec) }}
select count(*) as raw_rows, count_if(reason is null) as used_rows, 0L as no_op_rows, count(reason) as quarantined_rows from rows_with_reason
{%- endmacro -%}
