select
    key as row_key,
    value
from (
    {{ spark_cdc.change_feed(
        source('change_feed', 'typed_events'), key=['id'], source={'name': 'erp', 'table': 'orders'}, schema=true
    ) | indent(4) }}
) as feed
