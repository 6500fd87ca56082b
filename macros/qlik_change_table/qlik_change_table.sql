{#- The change events of one Qlik Replicate change table. See _macros.yml for the arguments. -#}
{%- macro qlik_change_table(
    relation, key, columns=none, header_prefix='header__', mask_byte_order=none, header_columns=none,
    qlik_sparse_updates=none
) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- set layout = spark_cdc._layout_qlik_change_table(
        relation, key, columns, header_prefix, mask_byte_order, header_columns, qlik_sparse_updates
    ) -%}
    {%- do spark_cdc._declare({
        'builds': 'events', 'decoder': 'qlik_change_table', 'layout': layout, 'definition': dict(layout, relation='')
    }) -%}
{{ spark_cdc._events_qlik_change_table(layout, spark_cdc._batch()) }}
{%- endmacro -%}


{#- The change events, as written by the run `batch`. -#}
{%- macro _events_qlik_change_table(layout, batch) -%}
    {%- set names = layout.columns | list -%}
{{ spark_cdc._qlik_change_table_rows(layout) }},

-- the commit of a transaction is its first change here; an id may come back at another time
transactions as (
    select
        cdc_transaction_id,
        left(cdc_change_seq, 16) as cdc_time_digits,
        min(cdc_change_seq) as cdc_commit_sequence
    from event_rows
    where cdc_transaction_id is not null
    group by cdc_transaction_id, left(cdc_change_seq, 16)
),

paired as (
    select
        event_rows.* except (cdc_row),
        -- a truncate has no row, whatever stands in its columns
        case when event_rows.cdc_operation <> 'truncate' then event_rows.cdc_row end as cdc_row,
        coalesce(transactions.cdc_commit_sequence, event_rows.cdc_change_seq) as cdc_commit_sequence,
        case when event_rows.cdc_operation = 'update' then before_images.cdc_row end as cdc_before,
        {{ spark_cdc._qlik_changed_columns(layout) | indent(8) }} as cdc_changed_columns
    from event_rows
    left join transactions
        on
            event_rows.cdc_transaction_id = transactions.cdc_transaction_id
            and left(event_rows.cdc_change_seq, 16) = transactions.cdc_time_digits
    left join before_images
        on event_rows.cdc_change_seq = before_images.cdc_change_seq
)

select
    'qlik_change_table' as cdc_source,
    cdc_operation,
    cdc_change_seq as cdc_sequence,
    cdc_commit_sequence,
    {{ spark_cdc._qlik_time_part('cdc_change_seq') | indent(4) }} as cdc_commit_at,
    cdc_transaction_id,
    case when cdc_operation = 'update' then cdc_changed_columns end as cdc_changed_columns,
    {{ spark_cdc._qlik_present_columns(layout) | indent(4) }} as cdc_present_columns,
    cdc_before,
    {{ layout.metadata | indent(4) }} as cdc_metadata,
    {{ spark_cdc._literal(batch) }} as cdc_batch,
    {%- for name in names %}
    {{ spark_cdc._qlik_after_image(layout, name) | indent(4) }} as {{ spark_cdc._quote(name) }}{{ ',' if not loop.last }}
    {%- endfor %}
from paired
{%- endmacro -%}


{#- The rows that are no events, for `quarantine`. -#}
{%- macro _quarantine_qlik_change_table(layout) -%}
{{ spark_cdc._qlik_change_table_rows(layout, as_delivered=true) }}

select
    'qlik_change_table' as cdc_source,
    cdc_reason as reason,
    {{ spark_cdc._qlik_detail(layout) | indent(4) }} as detail,
    cdc_raw as raw
from judged
where cdc_reason is not null
{%- endmacro -%}


{#- The four counts, for `raw_counts`. This format has no documented no-ops. -#}
{%- macro _raw_counts_qlik_change_table(layout) -%}
{{ spark_cdc._qlik_change_table_rows(layout, as_delivered=true) }}

select
    count(*) as raw_rows,
    count_if(cdc_reason is null) as used_rows,
    cast(0 as bigint) as no_op_rows,
    count_if(cdc_reason is not null) as quarantined_rows
from judged
{%- endmacro -%}


{#- Which raw rows are read together: those with one time part, since a change sequence and a transaction lie within it. -#}
{%- macro _together_qlik_change_table(layout) -%}
    {{ return({
        'group': 'left(cast(' ~ spark_cdc._quote(layout.headers['change_seq']) ~ ' as string), 16)',
        'sequence_prefix': 16,
    }) }}
{%- endmacro -%}
