{#- Values of each type in var('netiq_columns'), and the columns of the log as they landed: as text, and as
    numbers. The perpetrator of a row is its vector. -#}
{%- set columns = var('netiq_columns', {'id': 'int'}) %}
{%- set values, moments = ['cast(null as string)'], ['cast(null as timestamp)'] %}
{%- for name, data_type in columns.items() if name != 'id' %}
{%- if data_type == 'timestamp' %}
{%- do moments.append(name) %}
{%- elif data_type == 'binary' %}
{%- do values.append('hex(' ~ name ~ ')') %}
{%- elif data_type == 'timestamp_ntz' %}
{%- do values.append('replace(cast(' ~ name ~ " as string), ' ', 'T')") %}
{%- else %}
{%- do values.append('cast(' ~ name ~ ' as string)') %}
{%- endif %}
{%- endfor -%}
select
    cdc_metadata.perpetrator as vector,
    cast(null as string) as reason,
    coalesce({{ values | join(', ') }}) as as_read,
    coalesce({{ moments | join(', ') }}) as moment,
    cast(null as string) as landed
from (
    {{ spark_cdc.netiq_event_log(source('netiq_event_log', 'values_log'), 'typed', ['id'], columns) | indent(4) }}
) as events
{%- for table, log in [
    ('typed', source('netiq_event_log', 'values_log')), ('landed', source('netiq_event_log', 'values_log')),
    ('landed', source('netiq_event_log', 'numbers_log'))
] %}
{%- set spec = spark_cdc._spec_netiq_event_log(log, table, ['id'], columns) if execute else none %}
union all
select *
from (
    {% if execute %}{{ spark_cdc._netiq_items(spec) | indent(4) }}{% endif %}

    select
        cdc_perpetrator as vector,
        cdc_reason as reason,
        cast(null as string) as as_read,
        cast(null as timestamp) as moment,
        case
            when cdc_reason is null
                then concat_ws(
                    ' ',
                    cdc_event_type,
                    cdc_record_id,
                    date_format(cdc_event_time, 'yyyy-MM-dd HH:mm:ss.SSSSSS')
                )
        end as landed
    from judged_alone
    {%- if table == 'typed' %}
    where cdc_reason is not null
    {%- endif %}
) as rows_{{ loop.index }}
{%- endfor %}
