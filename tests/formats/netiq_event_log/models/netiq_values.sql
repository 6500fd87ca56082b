{#- Values of each type in var('netiq_columns'), and the columns of the log as they landed: as text, and as numbers. The perpetrator
    of a row is its vector. -#}
{%- set snapshot = source('netiq_event_log', 'values_snapshot') -%}
{%- set columns = var('netiq_columns', {'id': 'int'}) %}
{%- set values, moments = ['cast(null as string)'], ['cast(null as timestamp)'] %}
{%- for name, data_type in columns.items() if name != 'id' %}
{%- if data_type == 'timestamp' %}
{%- do moments.append(name) %}
{%- elif data_type == 'binary' %}
{%- do values.append('hex(' ~ name ~ ')') %}
{%- elif data_type == 'timestamp_ntz' %}
{%- do values.append('replace(cast(' ~ name ~ " as string), ' ', 'T')") %}
{%- else %}
{%- do values.append('cast(' ~ name ~ ' as string)') %}
{%- endif %}
{%- endfor %}
{%- for log in [source('netiq_event_log', 'values_log'), source('netiq_event_log', 'numbers_log')] %}
{%- set given = {'table': 't', 'key': ['id'], 'columns': columns, 'snapshot': snapshot} -%}
{{ '\nunion all\n' if not loop.first -}}
select
    cdc_metadata.perpetrator as vector,
    cast(null as string) as reason,
    regexp_replace(cdc_sequence, '^0+', '') as record_id,
    cdc_metadata.event_time,
    array_join(cdc_changed_columns, ' ') as changed,
    coalesce({{ values | join(', ') }}) as value,
    coalesce({{ moments | join(', ') }}) as moment
from (
    {{ spark_cdc.netiq_event_log(log, **given) | indent(4) }}
) as events_{{ loop.index }}
union all
select
    get_json_object(raw, '$.perpetrator') as vector,
    reason,
    cast(null as string) as record_id,
    cast(null as timestamp) as event_time,
    cast(null as string) as changed,
    cast(null as string) as value,
    cast(null as timestamp) as moment
from (
    {{ spark_cdc.quarantine('netiq_event_log', log, **given) | indent(4) }}
) as unusable_rows_{{ loop.index }}
{%- endfor %}
