{#- One log in each layout: by position in both orders, by the documented names, and by other names. -#}
{%- set names = {
    'record_id': 'log_record_id', 'status': 'log_status', 'event_type': 'log_event_type', 'event_time': 'log_event_time',
    'perpetrator': 'log_perpetrator', 'table_name': 'log_table_name', 'table_key': 'log_table_key', 'COLUMN_NAME': 'log_column_name',
    'OLD_VALUE': 'log_old_value', 'NEW_VALUE': 'log_new_value',
} -%}
{%- for table, layout in [
    ('log_by_position', none), ('log_later', 'record_id_table_key'), ('log_moved', none), ('log_sorted', names)
] %}
{%- set log = source('netiq_event_log', table) -%}
{{ '\nunion all\n' if not loop.first -}}
select
    '{{ table }}' as log,
    cdc_operation,
    cdc_commit_at,
    cdc_metadata.record_id,
    cdc_metadata.perpetrator,
    cdc_metadata.status,
    idu,
    fname,
    array_join(cdc_present_columns, ' ') as present
from (
    {{ spark_cdc.netiq_event_log(
        log, 'usr', ['idu'], {'idu': 'int', 'fname': 'string', 'lname': 'string'}, layout=layout
    ) | indent(4) }}
) as events_{{ loop.index }}
{%- endfor %}
