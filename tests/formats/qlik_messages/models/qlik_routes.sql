{#- The table of each message, as a column for a view or a landing; with the versions of the tables, and without. -#}
select
    `offset` as offset_number,
    {{ spark_cdc.qlik_message_table(
        source('qlik_messages', 'messages'), versions=source('qlik_messages', 'versions')
    ) | indent(4) }} as message_table,
    {{ spark_cdc.qlik_message_table(source('qlik_messages', 'messages')) | indent(4) }} as table_of_members
from {{ source('qlik_messages', 'messages') }}
