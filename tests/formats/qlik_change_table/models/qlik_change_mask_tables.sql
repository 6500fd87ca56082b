{#- The decoder and its quarantine, on tables whose first data column, the key, names the vector. -#}
{%- for table, mask_byte_order in [
    ('masks_text', none), ('masks_binary_little', none), ('masks_binary_big', 'big')
] %}
{%- set relation = source('qlik_change_table', table) -%}
{{ '\nunion all\n' if not loop.first -}}
select
    c0 as vector,
    cast(null as string) as reason,
    array_join(cdc_changed_columns, ' ') as changed
from (
    {{ spark_cdc.qlik_change_table(relation, key=['c0'], mask_byte_order=mask_byte_order) | indent(4) }}
) as events
union all
select
    get_json_object(raw, '$.c0') as vector,
    reason,
    cast(null as string) as changed
from (
    {{ spark_cdc.quarantine('qlik_change_table', relation, key=['c0'], mask_byte_order=mask_byte_order) | indent(4) }}
) as unusable_rows
{%- endfor %}
