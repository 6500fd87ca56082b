{#- Changes as two landings have them: values alone as text; columns in another order and case, the key binary. -#}
{%- for table in ('values_alone', 'records_of_connect') %}
{{- '\nunion all\n' if not loop.first -}}
select
    '{{ table }}' as landing,
    cdc_operation,
    cdc_sequence,
    cdc_commit_at,
    cdc_metadata.topic,
    cdc_metadata.`partition` as partition_number,
    cdc_metadata.`offset` as offset_number,
    id,
    seen_at
from (
    {{ spark_cdc.qlik_messages(
        source('qlik_messages', table), ['id'], {'id': 'int', 'seen_at': 'timestamp'}
    ) | indent(4) }}
) as events_{{ loop.index }}
{%- endfor %}
