{#- What a view has in quarantine: it cannot call the function that reads Avro. A unit test has no materialization of
    its own, so it is set here. -#}
{%- do model.config.update({'materialized': 'view'}) -%}
select
    cast(get_json_object(raw, '$.offset') as bigint) as offset_number,
    reason
from (
    {{ spark_cdc.quarantine(
        'qlik_messages', source('qlik_messages', 'messages'), key=['id'], columns={'id': 'int'}
    ) | indent(4) }}
) as unusable_rows
