{#- The decoder's result for the rows of all vectors: events and quarantine, for a log with each type of TIME. -#}
{%- set base = source('db2_log_table', 'base') -%}
{%- set key = [
    'vector', 'text_id', 'int_id', 'decimal_id', 'at', 'local', 'raw', 'ok', 'day', 'price', 'number', 'code'
] -%}
{%- set types = [
    'string', 'string', 'int', 'decimal(8,2)', 'timestamp', 'timestamp_ntz', 'binary', 'boolean', 'date', 'decimal(10,2)',
    'bigint', 'string', 'string', 'int', 'decimal(12,2)'
] -%}
{%- set columns, values, key_columns = {}, [], [] -%}
{%- for name in key + ['NAME', 'N', 'AMOUNT'] -%}
{%- do columns.update({name: types[loop.index0]}) -%}
{%- set value = 'hex(raw)' if name == 'raw' else 'cast(`' ~ name ~ '` as string)' -%}
{%- if name == 'at' -%}
{%- set value = "concat(replace(" ~ spark_cdc._time_text('at', 'timestamp') ~ ", ' ', 'T'), 'Z')" -%}
{%- elif name == 'local' -%}
{%- set value = "replace(" ~ spark_cdc._time_text('local', 'timestamp_ntz') ~ ", ' ', 'T')" -%}
{%- endif -%}
{%- do values.append("'" ~ name ~ "', " ~ value) -%}
{%- endfor -%}
{%- for name in key -%}{%- do key_columns.append('PK%02d' | format(loop.index0)) -%}{%- endfor -%}
{%- for log in [
    source('db2_log_table', 'log_string'), source('db2_log_table', 'log_timestamp'), source('db2_log_table', 'log_timestamp_ntz')
] -%}
{{ '\nunion all\n' if not loop.first -}}
select
    vector,
    cast(null as string) as refused,
    cdc_sequence,
    cdc_operation,
    cdc_commit_sequence,
    cdc_commit_at,
    array_join(cdc_present_columns, ' ') as present,
    coalesce(cdc_transaction_id, array_join(cdc_changed_columns, ' '), to_json(cdc_before)) is null as nothing_else,
    cdc_metadata.log_operation,
    cdc_metadata.log_time,
    to_json(
        named_struct(
            {{ values | join(',\n') | indent(12) }}
        ),
        map('ignoreNullFields', 'false')
    ) as row_values
from (
    {{ spark_cdc.db2_log_table(log, key, base, key_columns, columns) | indent(4) }}
) as events_{{ loop.index }}
union all
select
    split_part(get_json_object(raw, '$.place'), ' ', 1) as vector,
    concat_ws(' ', split_part(get_json_object(raw, '$.place'), ' ', 2), reason) as refused,
    cast(null as string) as cdc_sequence,
    cast(null as string) as cdc_operation,
    cast(null as string) as cdc_commit_sequence,
    cast(null as timestamp) as cdc_commit_at,
    cast(null as string) as present,
    cast(null as boolean) as nothing_else,
    cast(null as int) as log_operation,
    cast(null as timestamp) as log_time,
    cast(null as string) as row_values
from (
    {{ spark_cdc.quarantine('db2_log_table', log, key, base, key_columns, columns) | indent(4) }}
) as unusable_rows_{{ loop.index }}
{%- endfor %}
union all
select
    place as vector,
    cast(null as string) as refused,
    cast(null as string) as cdc_sequence,
    cast(null as string) as cdc_operation,
    cast(null as string) as cdc_commit_sequence,
    cast(null as timestamp) as cdc_commit_at,
    cast(null as string) as present,
    cast(null as boolean) as nothing_else,
    cast(null as int) as log_operation,
    cast(null as timestamp) as log_time,
    cast(null as string) as row_values
from {{ source('db2_log_table', 'without_rows') }}
