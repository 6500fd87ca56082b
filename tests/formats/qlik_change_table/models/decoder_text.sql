{#- Without a prefix, and all columns text: the first columns are header columns, and `columns` gives types to the
    others. -#}
{%- set relation = source('qlik_change_table', 'raw_text') %}
{%- set columns = {'ID': 'bigint', 'due': 'date', 'seen': 'timestamp', 'amount': 'decimal(6, 2)', 'photo': 'binary'} -%}
select
    cast(null as string) as reason,
    cast(null as string) as detail,
    cdc_operation,
    array_join(cdc_changed_columns, ' ') as changed,
    cast(`ID` as string) as id,
    due,
    seen,
    amount,
    hex(photo) as photo
from (
    {{ spark_cdc.qlik_change_table(
        relation, key=['id'], columns=columns, header_prefix='', header_columns=3
    ) | indent(4) }}
) as events
union all
select
    reason,
    detail,
    cast(null as string) as cdc_operation,
    cast(null as string) as changed,
    get_json_object(raw, '$.id') as id,
    cast(null as date) as due,
    cast(null as timestamp) as seen,
    cast(null as decimal(6, 2)) as amount,
    cast(null as string) as photo
from (
    {{ spark_cdc.quarantine(
        'qlik_change_table', relation, key=['id'], columns=columns, header_prefix='', header_columns=3
    ) | indent(4) }}
) as unusable_rows
