{#- The decoder and its quarantine, on one table with the rows of many vectors, one or more for each. -#}
{%- set relation = source('qlik_change_table', 'sequences') %}
{%- set key = ['vector', 'number'] -%}
select
    vector,
    number,
    cast(null as string) as reason,
    cdc_sequence as sequence,
    cdc_commit_sequence as commit_sequence,
    cdc_commit_at as commit_at,
    cast(cast(substr(cdc_sequence, 17) as decimal(19, 0)) as string) as change_number,
    row_number() over (partition by vector order by cdc_sequence) as place
from (
    {{ spark_cdc.qlik_change_table(relation, key=key) | indent(4) }}
) as events
union all
select
    get_json_object(raw, '$.vector') as vector,
    cast(get_json_object(raw, '$.number') as int) as number,
    reason,
    cast(null as string) as sequence,
    cast(null as string) as commit_sequence,
    cast(null as timestamp) as commit_at,
    cast(null as string) as change_number,
    cast(null as int) as place
from (
    {{ spark_cdc.quarantine('qlik_change_table', relation, key=key) | indent(4) }}
) as unusable_rows
