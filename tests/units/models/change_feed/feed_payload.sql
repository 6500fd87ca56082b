select
    cdc_sequence,
    key as row_key,
    get_json_object(value, '$.after') as row_after
from (
    {{ spark_cdc.change_feed(source('change_feed', 'typed_events'), key=['id'], schema='payload') | indent(4) }}
) as feed
