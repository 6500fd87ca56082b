{#- The decoder's result for one capture table with the rows of many vectors, in var('db2_call'): events and
    quarantine. The key of a row begins with its vector. -#}
{%- set capture = source('db2_capture_table', 'capture') -%}
{%- set base, unit_of_work = source('db2_capture_table', 'base'), source('db2_capture_table', 'unit_of_work') -%}
{%- set columns = {'VECTOR': 'string', 'ID': 'int', 'NAME': 'string'} -%}
{%- set given = dict(var('db2_call', {'key': ['VECTOR', 'ID'], 'columns': columns})) -%}
{%- if given.pop('has_base', false) -%}{%- do given.update({'base': base}) -%}{%- endif -%}
{%- if given.pop('has_unit_of_work', false) -%}
{%- do given.update({'unit_of_work': unit_of_work}) -%}
{%- endif -%}
{%- set metadata = given.pop('metadata', []) -%}
{%- set row_values, before_values = [], [] -%}
{%- for name, data_type in given.columns.items() -%}
{%- for values, prefix in [(row_values, ''), (before_values, 'cdc_before.')] -%}
{%- set value = prefix ~ '`' ~ name ~ '`' -%}
{%- if data_type == 'timestamp' -%}
{%- set value = spark_cdc._time_text(value, data_type) -%}
{%- elif data_type == 'binary' -%}
{%- set value = 'hex(' ~ value ~ ')' -%}
{%- endif -%}
{%- do values.append("'" ~ name ~ "', cast(" ~ value ~ ' as string)') -%}
{%- endfor -%}
{%- endfor -%}
{%- set absent %}
    cast(null as string) as cdc_sequence,
    cast(null as string) as cdc_operation,
    cast(null as string) as cdc_commit_sequence,
    cast(null as timestamp) as cdc_commit_at,
    cast(null as string) as cdc_transaction_id,
    cast(null as string) as changed,
    cast(null as string) as present,
    cast(null as string) as before_values,
    cast(null as timestamp) as logmarker,
    cast(null as string) as metadata,
{%- endset -%}
with found as (
    select
        vector,
        'event' as kind,
        cast(null as string) as refused,
        cdc_sequence,
        cdc_operation,
        cdc_commit_sequence,
        cdc_commit_at,
        cdc_transaction_id,
        array_join(cdc_changed_columns, ' ') as changed,
        array_join(cdc_present_columns, ' ') as present,
        case
            when cdc_before is not null
                then to_json(
                    named_struct(
                        {{ before_values | join(',\n') | indent(24) }}
                    ),
                    map('ignoreNullFields', 'false')
                )
        end as before_values,
        cdc_metadata.logmarker,
        to_json(
            named_struct(
                'intentseq', cdc_metadata.intentseq{% for name in metadata %},
                '{{ name }}', cdc_metadata.{{ name }}
                {%- endfor %}
            ),
            map('ignoreNullFields', 'false')
        ) as metadata,
        to_json(
            named_struct(
                {{ row_values | join(',\n') | indent(16) }}
            ),
            map('ignoreNullFields', 'false')
        ) as row_values
    from (
        {{ spark_cdc.db2_capture_table(capture, **given) | indent(8) }}
    ) as events
    union all
    select
        get_json_object(raw, '$.VECTOR') as vector,
        'quarantine' as kind,
        concat_ws(' ', get_json_object(raw, '$.PLACE'), reason) as refused,
        {{- absent | indent(4) }}
        cast(null as string) as row_values
    from (
        {{ spark_cdc.quarantine('db2_capture_table', capture, **given) | indent(8) }}
    ) as unusable_rows
)

select * from found
