{#- Other types than in the relation: a value that is not exactly one of the declared type is bad. -#}
{%- set relation = source('qlik_change_table', 'raw_types') %}
{%- set columns = {
    'id': 'bigint', 'price': 'decimal(6, 2)', 'pieces': 'int', 'fee': 'decimal(6, 2)', 'weight': 'decimal(6, 2)',
    'copies': 'bigint', 'due': 'date', 'done': 'date', 'factor': 'double', 'ratio': 'float', 'seen': 'timestamp_ltz'
} -%}
select
    cast(null as string) as reason,
    cast(null as string) as detail,
    cdc_operation,
    cast(id as string) as id,
    price,
    pieces,
    fee,
    weight,
    copies,
    due,
    done,
    cast(factor as string) as factor,
    cast(ratio as string) as ratio,
    unix_seconds(seen) as seen,
    cast(null as string) as time_there,
    cast(null as string) as scans
from (
    {{ spark_cdc.qlik_change_table(relation, key=['id'], columns=columns) | indent(4) }}
) as events
union all
select
    reason,
    detail,
    cast(null as string) as cdc_operation,
    get_json_object(raw, '$.id') as id,
    cast(null as decimal(6, 2)) as price,
    cast(null as int) as pieces,
    cast(null as decimal(6, 2)) as fee,
    cast(null as decimal(6, 2)) as weight,
    cast(null as bigint) as copies,
    cast(null as date) as due,
    cast(null as date) as done,
    cast(null as string) as factor,
    cast(null as string) as ratio,
    cast(null as bigint) as seen,
    coalesce(get_json_object(raw, '$.due'), get_json_object(raw, '$.done')) as time_there,
    concat_ws(
        ' ',
        get_json_object(raw, '$.scans'),
        get_json_object(raw, '$.odd'),
        get_json_object(raw, '$.odder')
    ) as scans
from (
    {{ spark_cdc.quarantine('qlik_change_table', relation, key=['id'], columns=columns) | indent(4) }}
) as unusable_rows
