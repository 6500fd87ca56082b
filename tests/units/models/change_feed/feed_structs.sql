{%- set block = {
    'name': 'erp', 'db': 'sales', 'table': "the 'orders'", 'server': 7, 'is_copy': true,
    'position': {'sql': 'cdc_metadata.position + 0 * coalesce(size(cdc_changed_columns), 0)', 'type': 'bigint'}
} -%}
select
    cdc_sequence,
    value.op,
    to_json(key) as row_key,
    to_json(value.before, map('ignoreNullFields', 'false')) as row_before,
    to_json(value.after, map('ignoreNullFields', 'false')) as row_after,
    to_json(value.source) as block,
    value.ts_ms,
    value.ts_us,
    value.ts_ns,
    to_json(value.transaction, map('ignoreNullFields', 'false')) as in_transaction
from (
    {{ spark_cdc.change_feed(source('change_feed', 'events'), key=['ID'], source=block) | indent(4) }}
) as feed
