{#- The change events of one Qlik Replicate change table. See _macros.yml for the arguments. -#}
{%- macro qlik_change_table(
    relation, key, columns=none, header_prefix='header__', mask_byte_order=none, header_columns=none,
    full_load=none, full_load_at=none, qlik_sparse_updates=none, null_keys=false, before_image='row', mask_columns=none,
    full_load_readable=none
) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- for there in (relation, full_load) if there is not none and spark_cdc._is_untold(there) -%}
        {{ return(spark_cdc._untold(there)) }}
    {%- endfor -%}
    {%- set spec = spark_cdc._spec_qlik_change_table(
        relation, key, columns, header_prefix, mask_byte_order, header_columns, full_load, full_load_at, qlik_sparse_updates, null_keys,
        before_image, mask_columns, full_load_readable
    ) -%}
    {{ return(spark_cdc.decode('qlik_change_table', spec)) }}
{%- endmacro -%}


{#- What became of each raw row. -#}
{%- macro _outcomes_qlik_change_table(spec) -%}
    {%- set table = {} -%}
    {%- for name in spec.columns -%}{%- do table.update({name: spark_cdc._qlik_after_image(spec, name)}) -%}{%- endfor -%}
{{ spark_cdc._qlik_change_table_rows(spec) }}
    {%- if spec.builds != 'quarantine' %},

-- Transactions too large for one task, with their commits: the first change, even if it is in conflict.
raw_places as (
    select
        {{ spark_cdc._qlik_place() | indent(8) }} as cdc_place
    from raw
),

large as (
    select cdc_place
    from raw_places
    group by cdc_place
    having count(*) > {{ spark_cdc._qlik_rows_of_one_task() }}
),

large_transactions as (
    select /*+ broadcast(large) */
        well_formed.cdc_transaction_id,
        left(well_formed.cdc_change_seq, 16) as cdc_time_digits,
        min(well_formed.cdc_change_seq) as cdc_commit_sequence
    from well_formed
    left semi join large
        on
            {{ spark_cdc._qlik_place('well_formed.') | indent(12) }} = large.cdc_place
    where not well_formed.cdc_is_before
    group by well_formed.cdc_transaction_id, left(well_formed.cdc_change_seq, 16)
),

-- Rows that depend on each other have the same cdc_place. For most rows this is their transaction; its id may be
-- used again at another time. For rows without a transaction, or of a large one, it is their change sequence.
placed as (
    select /*+ broadcast(large_transactions) */
        judged.*,
        left(judged.cdc_change_seq, 16) as cdc_time_digits,
        if(judged.cdc_is_before, null, judged.cdc_change_seq) as cdc_event_sequence,
        large_transactions.cdc_commit_sequence as cdc_known_commit_sequence,
        if(
            large_transactions.cdc_commit_sequence is null,
            {{ spark_cdc._qlik_place('judged.') | indent(12) }},
            xxhash64(judged.cdc_change_seq)
        ) as cdc_place
    from judged
    left join large_transactions
        on
            judged.cdc_transaction_id = large_transactions.cdc_transaction_id
            and left(judged.cdc_change_seq, 16) = large_transactions.cdc_time_digits
    where judged.cdc_reason is null
),

-- An update and its before image have the same change sequence: after sorting they are neighbours. The commit of a
-- transaction is its first change here. One shuffle and one sort serve both.
side_by_side as (
    select
        *,
        first_value(cdc_event_sequence) ignore nulls over in_order as cdc_first_sequence,
        lead(cdc_change_seq) over in_order as cdc_next_sequence,
        lead(cdc_row) over in_order as cdc_next_row,
        lead(cdc_raw_rows) over in_order as cdc_next_raw_rows
    from placed
    window in_order as (
        partition by cdc_place, cdc_transaction_id, cdc_time_digits
        order by cdc_change_seq, cdc_is_before
    )
),

paired as (
    select
        * except (cdc_row, cdc_raw_rows),
        -- a truncate has no row, whatever its columns contain
        case when cdc_operation <> 'truncate' then cdc_row end as cdc_row,
        case
            when cdc_transaction_id is null then cdc_change_seq
            else coalesce(cdc_known_commit_sequence, cdc_first_sequence)
        end as cdc_commit_sequence,
        case
            when cdc_operation = 'update' and cdc_next_sequence = cdc_change_seq then cdc_next_row
        end as cdc_before,
        {%- if spec.builds == 'events' %}
        case
            when cdc_operation = 'update'
                then
                    {{ spark_cdc._qlik_changed_columns(spec) | indent(20) }}
        end as cdc_changed_columns,
        {%- endif %}
        cdc_raw_rows + if(cdc_operation = 'update' and cdc_next_sequence = cdc_change_seq, cdc_next_raw_rows, 0L) as cdc_raw_rows
    from side_by_side
    where not cdc_is_before
)
    {%- endif %}
{%- if spec.inputs.full_load -%}
,

{{ spark_cdc._qlik_loads(spec) }}
{%- endif %}

{{ spark_cdc.select_events(spec, {
    'cdc_operation': 'cdc_operation',
    'cdc_sequence': 'cdc_change_seq',
    'cdc_commit_sequence': 'cdc_commit_sequence',
    'cdc_commit_at': spark_cdc._qlik_time_part('cdc_change_seq'),
    'cdc_transaction_id': 'cdc_transaction_id',
    'cdc_changed_columns': 'cdc_changed_columns',
    'cdc_present_columns': spark_cdc._qlik_present_columns(spec),
    'cdc_before': spark_cdc._before_of(spec),
    'cdc_metadata': spec.metadata,
    'cdc_raw_rows': 'cdc_raw_rows',
}, 'paired', table) }}
    {%- if spec.inputs.full_load %}
union all
{{ spark_cdc._qlik_select_loads(spec) }}
{{- spark_cdc._qlik_and_refused_loads(spec) }}
    {%- endif %}
{{- spark_cdc._and_outcomes(spec, {
    'cdc_kind': "'refused'", 'cdc_reason': 'cdc_reason', 'cdc_raw': 'cdc_raw',
    'cdc_detail': spark_cdc._of_quarantine(spec, spark_cdc._qlik_detail(spec)),
}, 'judged', 'cdc_reason is not null') }}
{%- endmacro -%}


{#- How many rows of a transaction one task takes. The variable is for tests and not public. -#}
{%- macro _qlik_rows_of_one_task() -%}
    {{ return(var('spark_cdc_internal_rows_of_one_task', 1000000)) }}
{%- endmacro -%}


{#- The hash by which a row is shuffled to the other rows of its transaction. -#}
{%- macro _qlik_place(of='') -%}
if(
    {{ of }}cdc_transaction_id is null,
    xxhash64({{ of }}cdc_change_seq),
    xxhash64({{ of }}cdc_transaction_id, left({{ of }}cdc_change_seq, 16))
)
{%- endmacro -%}


{#- The rows of a change sequence, and of a transaction, have the same time part. -#}
{%- macro _dependencies_qlik_change_table(spec) -%}
    {{ return(dict({
        'group': 'left(cast(' ~ spark_cdc._quote(spec.headers['change_seq']) ~ ' as string), 16)',
        'event_group': 'left(cdc_sequence, 16)',
        'is_prefix': true,
        'prefix_of': spark_cdc._quote(spec.headers['change_seq']) if spec.raw_columns[spec.headers['change_seq']] | lower == 'string' else none,
    }, **spark_cdc._qlik_dependencies_of_loads(spec))) }}
{%- endmacro -%}
