{{ config(enabled=project_name == 'spark_cdc', materialized='view') -}}

select
    value,
    key,
    topic,
    partition,
    offset,
    timestamp
from (
    select
        *,
        {{ spark_cdc.qlik_message_table(
            ref('demo_erp__messages'), versions=ref('demo_erp__versions')
        ) | indent(8) }} as message_table
    from {{ ref('demo_erp__messages') }}
) as routed
where message_table = 'app.payments' or message_table is null
