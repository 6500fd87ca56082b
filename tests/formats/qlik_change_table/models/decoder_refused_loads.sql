{%- set loaded = source('qlik_change_table', 'loaded') -%}
select
    'half' as readable,
    cdc_operation as what,
    id,
    cdc_commit_at as loaded_at,
    '' as detail
from (
    {{ spark_cdc.qlik_change_table(
        source('qlik_change_table', 'raw'), key=['id'], full_load=loaded, full_load_at='at', full_load_readable=0.5
    ) | indent(4) }}
) as of_half
union all
select
    'one row' as readable,
    cdc_operation as what,
    id,
    cdc_commit_at as loaded_at,
    '' as detail
from (
    {{ spark_cdc.qlik_change_table(
        source('qlik_change_table', 'raw'), key=['id'], full_load=loaded, full_load_at='at'
    ) | indent(4) }}
) as of_any
union all
select
    'half' as readable,
    reason as what,
    null as id,
    try_cast(get_json_object(raw, '$.at') as timestamp) as loaded_at,
    detail
from (
    {{ spark_cdc.quarantine(
        'qlik_change_table', source('qlik_change_table', 'raw'), key=['id'], full_load=loaded, full_load_at='at',
        full_load_readable=0.5
    ) | indent(4) }}
) as refused
