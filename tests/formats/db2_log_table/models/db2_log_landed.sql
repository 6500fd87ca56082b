{#- Key columns by their numbers, in any order and case; the columns of `base`; a time zone. -#}
select
    cdc_operation,
    cdc_sequence,
    cdc_commit_at,
    array_join(cdc_present_columns, ' ') as present,
    cdc_metadata.log_operation,
    warehouse,
    shelf,
    part,
    price,
    note
from (
    {{ spark_cdc.db2_log_table(
        source('db2_log_table', 'log_of_numbers'), ['warehouse', 'shelf', 'part'], source('db2_log_table', 'parts'),
        source_timezone='Europe/Berlin'
    ) | indent(4) }}
) as events
