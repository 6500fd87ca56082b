{#- The keys of deletes, and why a row is refused, of each table `keys_<n>` whose key and columns are the n-th of var('netiq_keys').
    The perpetrator of a row is its vector. -#}
{%- set log = source('netiq_event_log', 'keys_log') -%}
{%- for group in var('netiq_keys', [{'key': ['p1'], 'columns': {'p1': 'string'}}]) %}
{%- set texts = [] %}
{%- for name in group.key %}
{%- set value = spark_cdc._quote(name) %}
{%- if group.columns[name] == 'timestamp' %}
{%- set value = "concat(replace(cast(timestamp_micros(unix_micros(" ~ value ~ ")) as string), ' ', 'T'), 'Z')" %}
{%- endif %}
{%- do texts.append('cast(' ~ value ~ ' as string)') %}
{%- endfor %}
{%- set given = {'table': 'keys_' ~ loop.index0, 'key': group.key, 'columns': group.columns} -%}
{{ '\nunion all\n' if not loop.first -}}
select
    cdc_metadata.perpetrator as vector,
    cast(null as string) as reason,
    to_json(transform(
        array({{ texts | join(', ') }}),
        value -> if(
            length(value) > 100,
            concat(length(value), ' characters, ', right(value, 20)),
            value
        )
    )) as key_values
from (
    {{ spark_cdc.netiq_event_log(log, **given) | indent(4) }}
) as events_{{ loop.index }}
union all
select
    get_json_object(raw, '$.perpetrator') as vector,
    reason,
    cast(null as string) as key_values
from (
    {{ spark_cdc.quarantine('netiq_event_log', log, **given) | indent(4) }}
) as unusable_rows_{{ loop.index }}
{%- endfor %}
