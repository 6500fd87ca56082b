{#- The rows of as_of at some moments, one row for each moment. -#}
{%- for kind, moment in [
    ('at', '2024-05-01T11:00:00Z'), ('at', '2024-05-01 11:00'), ('at', '2024-05-01 10:59:59.999999'),
    ('at', '2024-05-01T11:00:00.0000019Z'), ('at', '2024-05-01 13:00:00 Europe/Berlin'), ('at', '2024-05-01T05:30:00-0530'),
    ('at', '2024-05-01'), ('at', '2024-05-02'), ('at', '(timestamp \'2024-05-01 11:00:00Z\' /* begin */)'),
    ('at', '(date \'2024-05-02\')'), ('at', '(timestamp_ntz \'2024-05-01 11:00:00\')'),
    ('at', '(concat(\'2024-05-01\', \' 11:00\'))'), ('at', modules.datetime.datetime(2024, 5, 1, 11)),
    ('sequence', 't3'), ('sequence', 't2x'), ('sequence', 't0'), ('sequence', 's'),
    ('sequence', '(select max(cdc_valid_to_sequence) from ' ~ source('looking', 'history') ~ ')')
] -%}
{{ '\nunion all\n' if not loop.first -}}
select
    {{ loop.index }} as place,
    concat_ws(' ', array_sort(collect_list(concat(id, version)))) as versions
from (
    {{ spark_cdc.as_of(source('looking', 'history'), **{kind: moment}) | indent(4) }}
) as was
{%- endfor %}
