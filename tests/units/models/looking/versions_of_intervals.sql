{#- The rows of versions_between for some intervals, one row for each interval. -#}
{%- for moments in [
    {'from_at': '2024-05-01T10:00:00Z', 'to_at': '2024-05-01T11:00:00Z'},
    {'from_at': '2024-05-01T10:59:59.999999Z', 'to_at': '2024-05-01T11:00:00Z'},
    {'from_at': '2024-05-01T11:00:00Z', 'to_at': '2024-05-01T11:00:00Z'},
    {'from_at': '2024-05-01T11:00:00Z'},
    {'from_at': '(timestamp \'2024-05-01 11:00:00Z\')', 'to_at': '(timestamp \'2024-05-01 12:00:00Z\')'},
    {'from_sequence': 't1', 'to_sequence': 't2'},
    {'from_sequence': 't2', 'to_sequence': '(\'t3\')'},
    {'from_sequence': 's'},
] -%}
{{ '\nunion all\n' if not loop.first -}}
select
    {{ loop.index }} as place,
    concat_ws(' ', array_sort(collect_list(concat(id, version)))) as versions
from (
    {{ spark_cdc.versions_between(source('looking', 'history'), **moments) | indent(4) }}
) as was
{%- endfor %}
