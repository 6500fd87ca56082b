{%- macro audit_log(relation, key) -%}
    {{ return(spark_cdc.decode('consumer.audit_log', consumer._spec_audit_log(relation, key))) }}
{%- endmacro -%}

{%- macro _spec_audit_log(relation, key) -%}
    {%- set there, columns = spark_cdc.columns_of(relation), {} -%}
    {%- for name in there if name not in ('position', 'action') -%}{%- do columns.update({name: there[name]}) -%}{%- endfor -%}
    {{ return({'relation': relation, 'raw_columns': there, 'key': key, 'columns': columns}) }}
{%- endmacro -%}

{%- macro _outcomes_audit_log(spec) -%}
with judged as (
    select
        *,
        case when action in ('insert', 'update', 'delete') then null else 'unknown_action' end as reason,
        count(*) as raw_rows
    from {{ spec.relation }}
    group by all
)

{{ spark_cdc.select_events(spec, {
    'cdc_operation': 'action',
    'cdc_sequence': 'position',
    'cdc_reason': 'reason',
    'cdc_detail': "concat('action is ', action)",
    'cdc_raw_rows': 'raw_rows',
}, 'judged') }}
{%- endmacro -%}
