{#- What a view has in quarantine: it cannot call the function that reads Avro. A unit test has no materialization of
    its own, so it is set here. -#}
{%- do model.config.update({'materialized': 'view'}) -%}
select
    cast(get_json_object(raw, '$.offset') as bigint) as offset_number,
    reason,
    -- what it says after the value, or after the masks
    nullif(regexp_extract(detail, ';(.*)', 1), '') as what_to_do
from (
    {{ spark_cdc.quarantine(
        'qlik_messages', source('qlik_messages', 'messages'), key=['id'], columns={'id': 'int', 'name': 'string'}
    ) | indent(4) }}
) as unusable_rows
