{#- Why rows are refused, and how many, for a log and a base that landed as text. -#}
{%- set log, base = source('db2_log_table', 'log_of_text'), source('db2_log_table', 'stock') -%}
{%- set given = {
    'key': ['id', 'day'], 'base': base, 'columns': {'id': 'int', 'day': 'date', 'amount': 'decimal(8,2)', 'paid': 'boolean'},
} -%}
select
    reason,
    detail,
    raw,
    cast(null as string) as counts
from (
    {{ spark_cdc.quarantine('db2_log_table', log, **given) | indent(4) }}
) as unusable_rows
union all
select
    'counts' as reason,
    cast(null as string) as detail,
    cast(null as string) as raw,
    concat_ws(' ', raw_rows, used_rows, no_op_rows, quarantined_rows) as counts
from (
    {{ spark_cdc.raw_counts('db2_log_table', log, **given) | indent(4) }}
) as row_counts
