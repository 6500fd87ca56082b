{#- A stream whose values do not all fit the declared types. -#}
{%- set relation = source('gbase_capture', 'raw_stream') %}
{%- set columns = {'id': 'int', 'amount': 'decimal(4, 1)', 'name': 'string'} -%}
select
    cast(null as string) as reason,
    cast(null as string) as detail,
    cdc_operation,
    id,
    amount,
    array_join(cdc_changed_columns, ' ') as changed,
    cdc_before is not null as has_before
from (
    {{ spark_cdc.gbase_capture(relation, table_id=7, key=['id'], columns=columns) | indent(4) }}
) as events
union all
select
    reason,
    detail,
    cast(null as string) as cdc_operation,
    cast(null as int) as id,
    cast(null as decimal(4, 1)) as amount,
    cast(null as string) as changed,
    cast(null as boolean) as has_before
from (
    {{ spark_cdc.quarantine('gbase_capture', relation, table_id=7, key=['id'], columns=columns) | indent(4) }}
) as unusable_chunks
