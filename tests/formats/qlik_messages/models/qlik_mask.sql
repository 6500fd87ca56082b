{#- The columns that a mask stands for, or why it is refused. The offset of a record is the place of its vector. -#}
{%- set messages = source('qlik_messages', 'messages_as_text') -%}
{%- set metadata = source('qlik_messages', 'metadata_as_text') -%}
{%- set columns = var('qlik_columns', {'id': 'int'}) -%}
{%- set vectors = [] -%}
{%- for vector in var('qlik_vectors', ['vector']) -%}{%- do vectors.append("'" ~ vector ~ "'") -%}{%- endfor -%}
select
    get(array({{ vectors | join(', ') }}), id) as vector,
    cast(null as string) as reason,
    array_join(cdc_changed_columns, ' ') as changed
from (
    {{ spark_cdc.qlik_messages(messages, ['id'], columns, metadata=metadata) | indent(4) }}
) as events
union all
select
    get(array({{ vectors | join(', ') }}), cast(get_json_object(raw, '$.offset') as int)) as vector,
    reason,
    cast(null as string) as changed
from (
    {{ spark_cdc.quarantine('qlik_messages', messages, key=['id'], columns=columns, metadata=metadata) | indent(4) }}
) as unusable_rows
