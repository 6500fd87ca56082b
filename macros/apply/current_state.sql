{#- One row for each key that exists. See _macros.yml. -#}
{%- macro current_state(changes, key, columns=none, keep_deleted=false, null_keys=false) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- if spark_cdc._is_untold(changes) -%}{{ return(spark_cdc._untold(changes)) }}{%- endif -%}
    {%- set table = spark_cdc._changed_table('current_state', changes, key, columns, null_keys) -%}
    {%- if keep_deleted is not boolean -%}
        {{ spark_cdc._stop(
            'current_state', 'keep_deleted is ' ~ keep_deleted, 'true or false',
            "{{ spark_cdc.current_state(ref('orders__changes'), key=['order_id'], keep_deleted=true) }}"
        ) }}
    {%- endif -%}
    {{ return(spark_cdc._declared({
        'builds': 'current_state', 'changes': changes, 'table': table, 'keep_deleted': keep_deleted,
        'fingerprint_of': [table, keep_deleted],
    }, spark_cdc._is_known_to_have_truncates(changes))) }}
{%- endmacro -%}


{#- The rows of all keys or, in an increment, of the affected keys: see _versions. -#}
{%- macro _current_state(changes, table, keep_deleted, increment=none, has_truncates=false) -%}
    {%- set source = 'coalesce(cdc_end, cdc_begin)' if keep_deleted else 'cdc_begin' -%}
{{ spark_cdc._versions(changes, table, 'commit', increment, has_truncates) }}

select
    {%- for name in table.columns %}
    {{ spark_cdc._quote(name) }},
    {%- endfor %}
    {{ spark_cdc._begin_of(source, 'cdc_sequence', increment) | indent(4) }} as cdc_sequence,
    {{ spark_cdc._begin_of(source, 'cdc_commit_sequence', increment) | indent(4) }} as cdc_commit_sequence,
    {{ source }}.cdc_commit_at as cdc_commit_at,
    {{ source }}.cdc_operation as cdc_operation
    {%- if keep_deleted %},
    cdc_end is not null as cdc_is_deleted
    {%- endif %}
from versions
where {{ 'cdc_is_last' if keep_deleted else 'cdc_end is null' }}
{%- endmacro -%}
