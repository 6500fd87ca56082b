select
    cdc_sequence,
    cdc_step,
    to_json(key) as row_key,
    value.op,
    to_json(value.before) as row_before,
    to_json(value.after) as row_after
from (
    {{ spark_cdc.change_feed(source('change_feed', 'events'), key=['id'], keyed=true) | indent(4) }}
) as feed
