select
    reason,
    get_json_object(raw, '$.note') as note,
    detail
from (
    {{ spark_cdc.quarantine('qlik_change_table', source('qlik_change_table', 'raw'), key=['id']) | indent(4) }}
) as unusable_rows
