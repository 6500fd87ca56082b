{#- Keys as the decoder reads them, and why a row is refused, for each table `keys_<n>`. Its key and columns are
    the n-th in var('netiq_keys'). The perpetrator of a row is its vector. -#}
{%- set log = source('netiq_event_log', 'keys_log') -%}
{%- for group in var('netiq_keys', [{'key': ['p1'], 'columns': {'p1': 'string'}}]) %}
{%- set texts = [] %}
{%- for name in group.key %}
{%- set value = 'cdc_key.`' ~ name ~ '`' %}
{%- if group.columns[name] == 'timestamp' %}
{%- set value = "date_format(" ~ value ~ ", \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'\")" %}
{%- endif %}
{%- do texts.append('cast(' ~ value ~ ' as string)') %}
{%- endfor %}
{%- set table = 'keys_' ~ loop.index0 %}
{%- set spec = spark_cdc._spec_netiq_event_log(log, table, group.key, group.columns) if execute else none -%}
{{ '\nunion all\n' if not loop.first -}}
select *
from (
    {% if execute %}{{ spark_cdc._netiq_items(spec) | indent(4) }}{% endif %}

    select
        cdc_perpetrator as vector,
        cdc_reason as reason,
        case
            when cdc_reason is null
                then array_join(
                    transform(
                        array({{ texts | join(', ') }}),
                        value -> translate(
                            if(
                                length(value) > 100,
                                concat(length(value), ' characters, ', right(value, 20)),
                                value
                            ),
                            concat(chr(92), chr(10)),
                            '⧵⏎'
                        )
                    ),
                    ' | '
                )
        end as key_values
    from judged_alone
) as keys_{{ loop.index }}
{%- endfor %}
