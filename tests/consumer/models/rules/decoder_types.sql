{#- Other types than the relation has: a value that is not exactly of the declared one is bad. -#}
{%- set relation = source('rules', 'raw_types') %}
{%- set columns = {
    'id': 'bigint', 'price': 'decimal(6, 2)', 'pieces': 'int', 'cost': 'decimal(6, 2)', 'weight': 'decimal(6, 2)',
    'copies': 'bigint', 'due': 'date', 'done': 'date'
} -%}
select
    cast(null as string) as reason,
    cast(id as string) as id,
    price,
    pieces,
    cost,
    weight,
    copies,
    due,
    done
from (
    {{ spark_cdc.qlik_change_table(relation, key=['id'], columns=columns) | indent(4) }}
) as events
union all
select
    reason,
    get_json_object(raw, '$.id') as id,
    cast(null as decimal(6, 2)) as price,
    cast(null as int) as pieces,
    cast(null as decimal(6, 2)) as cost,
    cast(null as decimal(6, 2)) as weight,
    cast(null as bigint) as copies,
    cast(null as date) as due,
    cast(null as date) as done
from (
    {{ spark_cdc.quarantine('qlik_change_table', relation, key=['id'], columns=columns) | indent(4) }}
) as unusable_rows
