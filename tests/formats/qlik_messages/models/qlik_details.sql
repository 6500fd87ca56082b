{#- What quarantine says of messages, without metadata. -#}
select
    cast(get_json_object(raw, '$.offset') as bigint) as offset_number,
    reason,
    detail
from (
    {{ spark_cdc.quarantine(
        'qlik_messages', source('qlik_messages', 'messages'), key=['id'], columns={'id': 'int', 'name': 'string'}
    ) | indent(4) }}
) as unusable_rows
