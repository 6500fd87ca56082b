{#- Every version of every key (SCD type 2). See _macros.yml. -#}
{%- macro history(changes, key, columns=none, granularity='commit', null_keys=false) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- if spark_cdc._is_untold(changes) -%}{{ return(spark_cdc._untold(changes)) }}{%- endif -%}
    {%- set table = spark_cdc._changed_table('history', changes, key, columns, null_keys) -%}
    {%- if granularity not in ('commit', 'event') -%}
        {{ spark_cdc._stop(
            'history', 'granularity is ' ~ granularity,
            "'commit' (what other transactions could see) or 'event' (every change)",
            "{{ spark_cdc.history(ref('orders__changes'), key=['order_id'], granularity='event') }}"
        ) }}
    {%- endif -%}
    {{ return(spark_cdc._declared({
        'builds': 'history', 'changes': changes, 'table': table, 'granularity': granularity,
        'fingerprint_of': [table, granularity],
    }, spark_cdc._is_known_to_have_truncates(changes))) }}
{%- endmacro -%}


{#- The versions of all keys or, in an increment, of the affected keys: see _versions. -#}
{%- macro _history(changes, table, granularity, increment=none, has_truncates=false) -%}
    {%- set sequence = 'cdc_commit_sequence' if granularity == 'commit' else 'cdc_sequence' -%}
{{ spark_cdc._versions(changes, table, granularity, increment, has_truncates) }}

select
    {%- for name in table.columns %}
    {{ spark_cdc._quote(name) }},
    {%- endfor %}
    cdc_begin.cdc_commit_at as cdc_valid_from,
    cdc_end.cdc_commit_at as cdc_valid_to,
    {{ spark_cdc._begin_of('cdc_begin', sequence, increment) | indent(4) }} as cdc_valid_from_sequence,
    cdc_end.{{ sequence }} as cdc_valid_to_sequence,
    cdc_end is null as cdc_is_current,
    cdc_begin.cdc_operation as cdc_operation,
    cdc_end.cdc_operation as cdc_ended_by
from versions
{%- endmacro -%}
