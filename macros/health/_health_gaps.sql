{#- Change events of keys that cannot be in such a state: updates and deletes of keys that do not exist, and inserts of keys that
    do. Keys are counted as in rule 4 of docs/rules.md. -#}

{#- CTEs from `events` to `of_gaps`. Only the operation, the sequences and the key of an event are read. Of a key only two hashes are
    shuffled. With the name of the table in them they tell keys of all tables apart.

    Each truncate begins an epoch, in which no key exists at first (rule 6). So the windows need no other step for it. -#}
{%- macro _health_gaps(tables) -%}
    {%- set so_far, before = 'rows between unbounded preceding and current row', 'rows between unbounded preceding and 1 preceding' -%}
    {%- set transaction_window = 'partition by cdc_hash_1, cdc_hash_2, cdc_epoch, cdc_commit_sequence\norder by cdc_sequence' -%}
    {%- set key_window = 'partition by cdc_hash_1, cdc_hash_2, cdc_epoch\norder by cdc_commit_sequence, cdc_sequence' -%}
-- the truncates of each table in order
truncates as (
    select
        table_name,
        array_sort(collect_list(struct(cdc_commit_sequence, cdc_sequence))) as cdc_truncates
    from events
    where
        cdc_own_key is not null
        and cdc_operation = 'truncate'
    group by table_name
),

events_with_epoch as (
    select
        events.*,
        case
            when cdc_truncates is null then 0
            else {{ spark_cdc._count_truncates('cdc_truncates') | indent(12) }}.here
        end as cdc_epoch
    from events
    left join truncates
        on events.table_name = truncates.table_name
    where
        cdc_own_key is not null
        and cdc_operation <> 'truncate'
),

-- one row for each event and key; cdc_row_delta is what it adds to the count of the key
effects as (
    select
        table_name,
        cdc_operation,
        cdc_sequence,
        cdc_commit_sequence,
        cdc_epoch,
        if(cdc_leaves, cdc_left_key.hash_1, cdc_own_key.hash_1) as cdc_hash_1,
        if(cdc_leaves, cdc_left_key.hash_2, cdc_own_key.hash_2) as cdc_hash_2,
        case
            when cdc_leaves or cdc_operation = 'delete' then -1
            when cdc_left_key is not null or cdc_operation = 'insert' then 1
            else 0
        end as cdc_row_delta
    from events_with_epoch
        lateral view explode(
            case when cdc_left_key is not null then array(false, true) else array(false) end
        ) sides as cdc_leaves
),

-- one shuffle and one sort, for all windows below
effects_by_key as (
    select *
    from effects
    distribute by cdc_hash_1
),

effects_with_sum as (
    select
        *,
        sum(cdc_row_delta) over (
            {{ transaction_window | indent(12) }}
            {{ so_far }}
        ) as cdc_sum
    from effects_by_key
),

-- The count after an event is cdc_sum + greatest(count before the transaction, cdc_high): see _complex_counts.
effects_with_high as (
    select
        *,
        max(if(cdc_row_delta >= 0, 1, 0) - cdc_sum) over (
            {{ transaction_window | indent(12) }}
            {{ so_far }}
        ) as cdc_high,
        max(if(cdc_row_delta >= 0, 1, 0) - cdc_sum) over (
            {{ transaction_window | indent(12) }}
            {{ before }}
        ) as cdc_high_before,
        lead(cdc_sequence) over (
            {{ transaction_window | indent(12) }}
        ) is null as cdc_is_last_of_transaction
    from effects_with_sum
),

-- Whether the key exists after a transaction, if that is the same whatever the transaction found. Otherwise the
-- transaction leaves it as it was.
effects_with_outcome as (
    select
        *,
        case
            when cdc_is_last_of_transaction and cdc_sum + greatest(0, cdc_high) >= 1 then true
            when cdc_is_last_of_transaction and cdc_sum + greatest(1, cdc_high) < 1 then false
        end as cdc_outcome
    from effects_with_high
),

effects_with_found as (
    select
        *,
        last_value(cdc_outcome, true) over (
            {{ key_window | indent(12) }}
            {{ before }}
        ) as cdc_found
    from effects_with_outcome
),

effects_with_existence as (
    select
        table_name,
        cdc_operation,
        cdc_row_delta,
        cdc_sum - cdc_row_delta + greatest(if(coalesce(cdc_found, false), 1, 0), cdc_high_before) >= 1
            as cdc_existed
    from effects_with_found
),

-- a move is an update of the key that it leaves; the key where it arrives may exist for a moment (rule 4)
of_gaps as (
    select
        table_name,
        count_if(cdc_operation = 'update' and cdc_row_delta <= 0 and not cdc_existed) as updates_of_unknown_keys,
        count_if(cdc_operation = 'insert' and cdc_existed) as inserts_over_existing_keys,
        count_if(cdc_operation = 'delete' and not cdc_existed) as deletes_of_unknown_keys
    from effects_with_existence
    group by table_name
)
{%- endmacro -%}

{#- The columns of an event from which gaps are counted: its operation and place, its own key, and for a moved row also the key that
    it left. Without a key that hashes can tell, the keys are null. -#}
{%- macro _health_keys(one) -%}
cdc_operation,
cdc_sequence,
cdc_commit_sequence,
    {%- if one.table is not none and not one.table.key_is_collated %}
{{ spark_cdc._health_key(one, false) }} as cdc_own_key,
case
    when
        {{ spark_cdc._is_move(one.table) | indent(8) }}
        then {{ spark_cdc._health_key(one, true) | indent(8) }}
end as cdc_left_key
    {%- else %}
cast(null as struct<hash_1: bigint, hash_2: bigint>) as cdc_own_key,
cast(null as struct<hash_1: bigint, hash_2: bigint>) as cdc_left_key
    {%- endif %}
{%- endmacro -%}

{#- A key of an event as two hashes. A hash passes over NULL, so a NULL that is a value has a mark. -#}
{%- macro _health_key(one, leaves) -%}
    {%- set values = [] -%}
    {%- for name in one.table.key -%}
        {%- set own = spark_cdc._quote(name) -%}
        {%- set value = own if not leaves else 'cdc_before.' ~ own if one.table.null_keys
            else 'coalesce(cdc_before.' ~ own ~ ', ' ~ own ~ ')' -%}
        {%- if one.table.null_keys -%}{%- do values.append(value ~ ' is null') -%}{%- endif -%}
        {%- do values.append(value) -%}
    {%- endfor -%}
struct(
    {{ spark_cdc._call('xxhash64', [1, spark_cdc._literal(one.name)] + values) | indent(4) }} as hash_1,
    {{ spark_cdc._call('xxhash64', [2, spark_cdc._literal(one.name)] + values) | indent(4) }} as hash_2
)
{%- endmacro -%}
