{#- From change events to versions: the shared part of `history` and `current_state`. The rules are numbered in
    docs/rules.md. Nothing here depends on a format. -#}

{#- The table that a relation of change events describes. `columns` (the names of the result, in table order) and `key` are
    as the relation spells them. `collated` has the types of the attributes that have a collation. Wrong arguments stop. -#}
{%- macro _changed_table(macro_name, changes, key, columns, null_keys=false) -%}
    {%- do spark_cdc._check_null_keys(macro_name, null_keys) -%}
    {%- set example = "{{ spark_cdc." ~ macro_name ~ "(ref('orders__changes'), key=['order_id']) }}" -%}
    {%- set there = spark_cdc.columns_of(changes) -%}
    {%- set names = [] -%}
    {%- for name in there if not (name | lower).startswith('cdc_') -%}
        {%- do names.append(name) -%}
    {%- endfor -%}
    {%- set problems = spark_cdc._event_column_problems(there, [
        'cdc_operation', 'cdc_sequence', 'cdc_commit_sequence', 'cdc_commit_at', 'cdc_present_columns', 'cdc_before'
    ]) -%}
    {%- if problems -%}
        {{ spark_cdc._stop(
            macro_name, changes ~ ' does not have change events: ' ~ problems | join('; '),
            'the model of a decoder, or a view over one', example
        ) }}
    {%- endif -%}
    {%- set key_names = spark_cdc._resolve_key(macro_name, key, names, example) -%}
    {%- if columns is not none -%}
        {%- set wanted = spark_cdc._resolve_names(macro_name, 'columns', columns, names, example) -%}
        {%- set names = names | select('in', key_names + wanted) | list -%}
    {%- endif -%}
    {%- set collated, key_collated = {}, [] -%}
    {%- for name in names if ' collate ' in there[name] | lower -%}
        {%- if name in key_names -%}
            {%- do key_collated.append(name) -%}
        {%- else -%}
            {%- do collated.update({name: there[name]}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return({
        'columns': names,
        'key': key_names,
        'null_keys': null_keys,
        'attributes': names | reject('in', key_names) | list,
        'collated': collated,
        'key_is_collated': key_collated | length > 0,
    }) }}
{%- endmacro -%}


{#- CTEs that end in `effects`: the effects of the change events on keys. -#}
{%- macro _effects(changes, table) -%}
with changes as (
    select
        {%- for name in table.key %}
        {{ spark_cdc._quote(name) }},
        {%- endfor %}
        cdc_operation,
        cdc_sequence,
        cdc_commit_sequence,
        cdc_commit_at,
        cdc_present_columns,
        cdc_before,
        -- as one value: Spark plans longer if more columns go from step to step
        {{ spark_cdc._struct(table.attributes or table.key) | indent(8) }} as cdc_row,
        -- for an update: whether it moved its row here from another key (rule 3)
        {{ spark_cdc._is_move(table) | indent(8) }} as cdc_moved
    from {{ changes }}
),

-- the keys that each event names: its own key, and for a moved row also the key that it left
named_keys as (
    select
        {%- for name in table.key %}
        {{ spark_cdc._named_key(table, name) | indent(8) }} as {{ spark_cdc._quote(name) }},
        {%- endfor %}
        cdc_operation,
        cdc_sequence,
        cdc_commit_sequence,
        cdc_commit_at,
        cdc_row,
        -- a column that a moved row does not carry is null at its new key (rule 13)
        case when not cdc_moved then cdc_present_columns end as cdc_present_columns,
        case
            when cdc_leaves or cdc_operation = 'delete' then -1
            when cdc_moved or cdc_operation = 'insert' then 1
            else 0
        end as cdc_row_delta
    from changes
        lateral view explode(
            case when cdc_moved then array(false, true) else array(false) end
        ) sides as cdc_leaves
    where cdc_operation <> 'truncate'
),

-- The effect of each event on each key that it names. Keys are counted (rule 4). An effect adds cdc_row_delta, and
-- after any effect other than a removal the count is at least 1. The column cdc_after has the row, and the columns
-- that the event carries (null: all).
effects as (
    select
        {{ spark_cdc._effect_key(table) | indent(8) }},
        cdc_operation,
        cdc_sequence,
        cdc_commit_sequence,
        cdc_commit_at,
        cdc_row_delta,
        case
            when cdc_row_delta >= 0
                then named_struct(
                    'cdc_present_columns', cdc_present_columns,
                    'cdc_row', cdc_row
                )
        end as cdc_after
    from named_keys
)
{%- endmacro -%}

{#- Whether an event moves its row from another key. A NULL in a before image is unknown, unless NULL is a value of keys. -#}
{%- macro _is_move(table) -%}
    {%- set differ = [] -%}
    {%- for name in table.key -%}
        {%- set own = spark_cdc._quote(name) -%}
        {%- do differ.append(
            'not (cdc_before.' ~ own ~ ' <=> ' ~ own ~ ')' if table.null_keys
            else 'coalesce(cdc_before.' ~ own ~ ' <> ' ~ own ~ ', false)'
        ) -%}
    {%- endfor -%}
cdc_operation = 'update'{{ ' and cdc_before is not null' if table.null_keys }} and (
    {{ differ | join('\nor ') | indent(4) }}
)
{%- endmacro -%}

{#- A column of a key that an event names: of its own key or, with cdc_leaves, of the key in its before image. -#}
{%- macro _named_key(table, name) -%}
    {%- set own = spark_cdc._quote(name) -%}
    {%- set before = 'cdc_before.' ~ own if table.null_keys else 'coalesce(cdc_before.' ~ own ~ ', ' ~ own ~ ')' -%}
case
    when cdc_leaves then {{ before }}
    else {{ own }}
end
{%- endmacro -%}

{#- The columns that identify the key of an effect. A hash sorts fast, whatever the columns of the key are. But values that
    are equal in a collation have different hashes. -#}
{%- macro _effect_key(table) -%}
    {%- if not table.key_is_collated -%}
xxhash64({{ spark_cdc._column_list(table.key) }}) as cdc_key_hash,
{% endif -%}
    {%- for name in table.key -%}
{{ spark_cdc._quote(name) }}{{ ',\n' if not loop.last }}
    {%- endfor -%}
{%- endmacro -%}

{#- The columns by which the effects of a key are grouped: see _effect_key. -#}
{%- macro _effect_group(table) -%}
    {{ return(table.key if table.key_is_collated else ['cdc_key_hash']) }}
{%- endmacro -%}


{#- CTEs that end in `versions`. It has the table's columns, and `cdc_begin` and `cdc_end`: the events that began and ended
    the version, as structs. `cdc_end` is null while the version is open. `cdc_is_last` says that the key has no later
    version.

    There is one wide shuffle and one sort, by key and position; all later steps are windows in that order. Most keys are
    plain: two or three windows are enough. The complex keys are found first, and take all steps. Both ways read the same
    shuffle. Spark makes it only once as long as both need the same columns of `effects` and filter nothing before their join
    with `complex_keys`.

    An `increment` is about some keys only. Its `effects` is a relation of their effects and of the truncates, as
    _effects_on_affected_keys makes it. `is_plain` says whether all these keys are plain. Then the steps for complex keys are
    left out, since planning them takes longer than a small increment runs. -#}
{%- macro _versions(changes, table, granularity, increment=none) -%}
    {%- set attributes = table.attributes or table.key -%}
    {%- set group = spark_cdc._effect_group(table) -%}
    {%- set key = spark_cdc._column_list(table.key) if table.key_is_collated
        else 'cdc_key_hash, ' ~ spark_cdc._column_list(table.key) -%}
    {%- set same_key = [] -%}
    {%- for name in group -%}
        {%- set column = spark_cdc._quote(name) -%}
        {%- do same_key.append('effects.' ~ column ~ (' <=> ' if table.null_keys else ' = ') ~ 'complex_keys.' ~ column) -%}
    {%- endfor -%}
    {%- set row_window = 'partition by ' ~ key ~ '\norder by cdc_commit_sequence, cdc_sequence' -%}
    {%- set transaction_window = 'partition by ' ~ key ~ ', cdc_commit_sequence\norder by cdc_sequence' -%}
    {%- set whole = 'rows between unbounded preceding and unbounded following' -%}
    {%- set so_far = 'rows between unbounded preceding and current row' -%}
    {%- set before = 'rows between unbounded preceding and 1 preceding' -%}
    {%- set truncates = '(select cdc_list from truncates)' -%}
    {%- set is_plain = increment is not none and increment.is_plain -%}
{%- if increment is none -%}
{{ spark_cdc._effects(changes, table) }},
{%- else -%}
with effects as (
    select * except (cdc_is_effect, cdc_from, cdc_stored)
    from {{ increment.effects }}
    where cdc_is_effect and cdc_operation <> 'truncate'
),
{%- endif %}
{%- if not is_plain %}

-- the truncates in order, as one array: a handful, and most often none
truncates as (
    select
        array_sort(
            collect_list(struct(cdc_commit_sequence, cdc_sequence, cdc_commit_at, cdc_operation))
        ) as cdc_list
    from {{ 'changes' if increment is none else increment.effects }}
    where {{ 'cdc_is_effect and ' if increment is not none }}cdc_operation = 'truncate'
),

-- Complex keys: a transaction both adds and removes a row of the key, or an event does not carry the whole row, or
-- the table was truncated. If two keys share a hash, the other one is treated as complex too, which is slower but
-- also right.
complex_transactions as (
    {{ spark_cdc._complex_transactions(table, 'effects', '(select size(cdc_list) > 0 from truncates)') | indent(4) }}
),

complex_keys as (
    select distinct {{ spark_cdc._column_list(group) }}
    from complex_transactions
),

-- Plain keys: after each event other than a removal the key exists, with the row of that event. Counts do not
-- matter.
plain_effects as (
    select effects.*
    from effects
    left anti join complex_keys
        on {{ same_key | join(' and ') }}
),
{%- endif %}

plain_rows_with_previous as (
    select
        *,
        lag(cdc_after) over (
            {{ row_window | indent(12) }}
        ) as cdc_after_before
    from {{ 'effects' if is_plain else 'plain_effects' }}
),

-- Rule 9: an event that changes no value makes no version.
plain_changes as (
    select *
    from plain_rows_with_previous
    where
        {{ spark_cdc._plain_change(table, 'cdc_after_before') | indent(8) }}
),
{%- if granularity == 'commit' %}

-- The last change of a transaction counts, if it leaves another row than the transaction found.
plain_transactions as (
    select
        *,
        first_value(cdc_after_before) over (
            {{ transaction_window | indent(12) }}
            {{ so_far }}
        ) as cdc_after_found,
        lead(cdc_sequence) over (
            {{ transaction_window | indent(12) }}
        ) is null as cdc_is_last_of_transaction
    from plain_changes
),
{%- endif %}

plain_steps as (
    select
        *,
        cdc_row_delta >= 0 as cdc_begins,
        struct(cdc_commit_sequence, cdc_sequence, cdc_commit_at, cdc_operation) as cdc_begin
    {%- if granularity == 'commit' %}
    from plain_transactions
    where
        cdc_is_last_of_transaction
        and (
            {{ spark_cdc._plain_change(table, 'cdc_after_found') | indent(12) }}
        )
    {%- else %}
    from plain_changes
    {%- endif %}
),

plain_intervals as (
    select
        *,
        lead(cdc_begin) over (
            {{ row_window | indent(12) }}
        ) as cdc_end,
        {{ spark_cdc._no_begin_follows(row_window) | indent(8) }} as cdc_is_last
    from plain_steps
),
{%- if not is_plain %}

-- Complex keys.
complex_effects as (
    select effects.*
    from effects
    left semi join complex_keys
        on {{ same_key | join(' and ') }}
),

summed as (
    select
        *,
        sum(cdc_row_delta) over (
            {{ transaction_window | indent(12) }}
            {{ so_far }}
        ) as cdc_sum
    from complex_effects
),

listed as (
    select
        *,
        (select cdc_list from truncates) as cdc_truncate_list
    from summed
),

-- The number of truncates before this event, before its transaction, and before the next transaction. A truncate
-- sets every count to 0: it subtracts a huge number, after which the count is at least 0 again (rule 6).
effects_with_truncates as (
    select
        * except (cdc_truncate_list),
        case
            when (select size(cdc_list) > 0 from truncates)
                then {{ spark_cdc._count_truncates('cdc_truncate_list') | indent(16) }}
            else named_struct('here', 0, 'before_transaction', 0, 'after_transaction', 0)
        end as cdc_truncates
    from listed
),

gapped as (
    select
        * except (cdc_sum, cdc_truncates),
        cdc_sum
        - cast(1000000000000 as bigint) * (cdc_truncates.here - cdc_truncates.before_transaction) as cdc_sum,
        cdc_sum
        - cast(1000000000000 as bigint)
        * (cdc_truncates.after_transaction - cdc_truncates.before_transaction) as cdc_sum_at_end,
        cdc_truncates.here as cdc_truncates_here,
        cdc_truncates.before_transaction as cdc_truncates_before,
        cdc_truncates.after_transaction as cdc_truncates_after
    from effects_with_truncates
),

-- The count after an event is cdc_sum + greatest(count before the transaction, cdc_high). This is the closed form
-- of adding step by step with a floor under each step.
bounded as (
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
    from gapped
),

-- The result of a transaction if the key did not exist before it, and if it did.
outcomes as (
    select
        *,
        cdc_sum_at_end + greatest(0, cdc_high) >= 1 as cdc_exists_if_new,
        cdc_sum_at_end + greatest(1, cdc_high) >= 1 as cdc_exists_if_known
    from bounded
),

-- … and if both are the same, the result whatever the transaction found.
settled as (
    select
        * except (cdc_exists_if_new, cdc_exists_if_known),
        case
            when cdc_is_last_of_transaction and cdc_exists_if_new = cdc_exists_if_known
                then struct(cdc_exists_if_new as cdc_exists, cdc_truncates_after as cdc_truncates)
        end as cdc_outcome
    from outcomes
),

found as (
    select
        *,
        last_value(cdc_outcome, true) over (
            {{ row_window | indent(12) }}
            {{ before }}
        ) as cdc_last_outcome
    from settled
),

counts as (
    select
        * except (cdc_last_outcome),
        -- after a truncate between the transactions the key does not exist
        case
            when cdc_last_outcome.cdc_exists and cdc_last_outcome.cdc_truncates = cdc_truncates_before then 1
            else 0
        end as cdc_found
    from found
),

counted as (
    select
        * except (cdc_found),
        -- here, not where effects are shuffled: because of a lambda Spark does not compile a step with its
        -- neighbours
        transform(cdc_after.cdc_present_columns, name -> lower(name)) as cdc_present_columns,
        cdc_found = 1 as cdc_existed,
        greatest(0, cdc_sum - cdc_row_delta + greatest(cdc_found, cdc_high_before)) >= 1 as cdc_exists_before,
        cdc_sum + greatest(cdc_found, cdc_high) >= 1 as cdc_exists_after
    from counts
),

-- The value that an event gives each column: a struct, or null if the column keeps its value. A column that the
-- event does not carry keeps its value, and is null if the row has just arrived at the key (rule 10). This is a
-- step of its own, since Spark plans windows over fields of one struct much faster than over as many expressions.
carried as (
    select
        * except (cdc_after, cdc_present_columns),
        case
            when cdc_after is not null
                then named_struct(
                    {%- for name in attributes %}
                    {{ spark_cdc._literal(name) }}, case
                        when
                            cdc_present_columns is null
                            or array_contains(cdc_present_columns, {{ spark_cdc._literal(name | lower) }})
                            then struct(cdc_after.cdc_row.{{ spark_cdc._quote(name) }} as cdc_value)
                        when not cdc_exists_before then named_struct('cdc_value', null)
                    end{{ ',' if not loop.last }}
                    {%- endfor %}
                )
        end as cdc_carried
    from counted
),

-- The whole row after each event, as one value, in which it is compared and passed on.
filled as (
    select
        * except (cdc_carried),
        cdc_carried is not null as cdc_arrives,
        named_struct(
            {%- for name in attributes %}
            {{ spark_cdc._literal(name) }}, last_value(cdc_carried.{{ spark_cdc._quote(name) }}, true) over (
                {{ row_window | indent(16) }}
                {{ so_far }}
            ).cdc_value{{ ',' if not loop.last }}
            {%- endfor %}
        ) as cdc_row
    from carried
),

rows_with_previous as (
    select
        *,
        lag(cdc_row) over (
            {{ row_window | indent(12) }}
        ) as cdc_row_before
    from filled
),

-- Rule 9: an event that changes no value makes no version.
effects_with_outcome as (
    select
        *,
        cdc_arrives
        and not (
            cdc_exists_before
            and {{ spark_cdc._is_same_row('cdc_row_before', 'cdc_row', table.collated) | indent(12) }}
        ) as cdc_sets_value,
        cdc_exists_before and not cdc_exists_after as cdc_takes_away,
        struct(cdc_commit_sequence, cdc_sequence, cdc_commit_at, cdc_operation) as cdc_event
    from rows_with_previous
),
{% if granularity == 'commit' %}
-- One row for each key and transaction: the row with the last value, or else the last row. It also has the other
-- effects of the transaction on the key.
transactions as (
    select
        *,
        coalesce(
            max(case when cdc_sets_value then cdc_sequence end) over (
                {{ transaction_window | indent(16) }}
                {{ whole }}
            ),
            last_value(cdc_sequence) over (
                {{ transaction_window | indent(16) }}
                {{ whole }}
            )
        ) as cdc_kept_sequence,
        first_value(cdc_row_before) over (
            {{ transaction_window | indent(12) }}
            {{ whole }}
        ) as cdc_row_found,
        last_value(cdc_exists_after and cdc_truncates_here = cdc_truncates_after) over (
            {{ transaction_window | indent(12) }}
            {{ whole }}
        ) as cdc_exists_at_end,
        last_value(
            case
                when cdc_exists_after then struct(false as cdc_taken, cdc_truncates_here as cdc_truncates, cdc_event)
                when cdc_takes_away then struct(true as cdc_taken, cdc_truncates_here as cdc_truncates, cdc_event)
            end,
            true
        ) over (
            {{ transaction_window | indent(12) }}
            {{ whole }}
        ) as cdc_last_step
    from effects_with_outcome
),

steps as (
    select
        *,
        cdc_truncates_after as cdc_truncates_passed,
        cdc_exists_at_end
        and not (
            cdc_existed
            and {{ spark_cdc._is_same_row('cdc_row_found', 'cdc_row', table.collated) | indent(12) }}
        ) as cdc_begins,
        case
            when cdc_exists_at_end then cdc_event
            when cdc_last_step.cdc_taken then cdc_last_step.cdc_event
            else try_element_at(
                {{ truncates }},
                cast(coalesce(cdc_last_step.cdc_truncates, cdc_truncates_before) + 1 as int)
            )
        end as cdc_step,
        cdc_existed and not cdc_exists_at_end as cdc_ends,
        -- If a transaction truncates the table and inserts the same row again, no other transaction sees the
        -- truncate.
        cdc_existed and cdc_exists_at_end
        and {{ spark_cdc._is_same_row('cdc_row_found', 'cdc_row', table.collated) | indent(8) }}
        and cdc_truncates_before < cdc_truncates_after as cdc_continues
    from transactions
    -- not `=`: from an equality of two columns Spark infers others in every expression above, which takes minutes
    where cdc_sequence <=> cdc_kept_sequence
),
{% else %}
steps as (
    select
        *,
        cdc_truncates_here as cdc_truncates_passed,
        cdc_sets_value as cdc_begins,
        cdc_event as cdc_step,
        cdc_takes_away as cdc_ends,
        false as cdc_continues
    from effects_with_outcome
),
{% endif %}
-- A version lasts until the next step of its key, or until the first truncate if that is earlier. It is in the row
-- of the last step through which it continues.
intervals as (
    select
        *,
        last_value(case when cdc_begins then cdc_step end, true) over (
            {{ row_window | indent(12) }}
            {{ so_far }}
        ) as cdc_begin,
        coalesce(
            lead(cdc_continues) over (
                {{ row_window | indent(16) }}
            ),
            false
        ) as cdc_goes_on,
        lead(cdc_step) over (
            {{ row_window | indent(12) }}
        ) as cdc_next_step,
        {{ spark_cdc._no_begin_follows(row_window) | indent(8) }} as cdc_is_last,
        try_element_at({{ truncates }}, cast(cdc_truncates_passed + 1 as int)) as cdc_next_truncate
    from steps
    where cdc_begins or cdc_ends or cdc_continues
),
{%- endif %}

versions as (
    select
        {%- for name in table.columns %}
        {{ 'cdc_after.cdc_row.' if name not in table.key }}{{ spark_cdc._quote(name) }},
        {%- endfor %}
        cdc_begin,
        cdc_end,
        cdc_is_last
    from plain_intervals
    where cdc_begins
    {%- if not is_plain %}
    union all
    select
        {%- for name in table.columns %}
        {{ 'cdc_row.' if name not in table.key }}{{ spark_cdc._quote(name) }},
        {%- endfor %}
        cdc_begin,
        case
            when cdc_next_step is null then cdc_next_truncate
            when cdc_next_truncate is null then cdc_next_step
            {%- if granularity == 'commit' %}
            when cdc_next_truncate.cdc_commit_sequence < cdc_next_step.cdc_commit_sequence then cdc_next_truncate
            {%- else %}
            when cdc_next_truncate < cdc_next_step then cdc_next_truncate
            {%- endif %}
            else cdc_next_step
        end as cdc_end,
        cdc_is_last
    from intervals
    where (cdc_begins or cdc_continues) and not cdc_goes_on
    {%- endif %}
)
{%- endmacro -%}


{#- The transactions that make a key complex (see _versions), with the columns by which effects are grouped. Such a
    transaction both adds and removes the row of the key, does not carry the whole row, or has an effect that is
    `truncated`. -#}
{%- macro _complex_transactions(table, effects, truncated) -%}
    {%- set group = spark_cdc._column_list(spark_cdc._effect_group(table)) -%}
select {{ group }}
from {{ effects }}
where cdc_row_delta <> 0 or cdc_after.cdc_present_columns is not null or {{ truncated }}
group by {{ group }}, xxhash64(cdc_commit_sequence)
having
    (max(cdc_row_delta) > 0 and min(cdc_row_delta) < 0)
    or count(cdc_after.cdc_present_columns) > 0
    or count_if({{ truncated }}) > 0
{%- endmacro -%}


{#- For an effect on a plain key with the row `found`, or null: whether the key then has another row or none. -#}
{%- macro _plain_change(table, found) -%}
(
    cdc_row_delta >= 0
    and not ({{ spark_cdc._is_same_row('cdc_after.cdc_row', found ~ '.cdc_row', table.collated) | indent(8) }})
)
or (cdc_row_delta < 0 and {{ found }} is not null)
{%- endmacro -%}


{#- For a step: whether no later step of its key begins a version. A step that does not begin a version is followed by one
    that does, if by any. -#}
{%- macro _no_begin_follows(row_window) -%}
not coalesce(
    lead(cdc_begins) over (
        {{ row_window | indent(8) }}
    ),
    false
)
and lead(cdc_begins, 2) over (
    {{ row_window | indent(4) }}
) is null
{%- endmacro -%}


{#- Three numbers of truncates in the sorted array `list`, as a struct: at or before the event, before its transaction, and
    at or before the end of its transaction. It is found by halving, so a table that is truncated every day costs no more: up
    to 2^24 truncates in 25 steps. -#}
{%- macro _count_truncates(list) -%}
    {%- set counts = {
        'here': '(
                candidate.cdc_commit_sequence,
                candidate.cdc_sequence
            ) <= (cdc_commit_sequence, cdc_sequence)',
        'before_transaction': 'candidate.cdc_commit_sequence
            < cdc_commit_sequence',
        'after_transaction': 'candidate.cdc_commit_sequence
            <= cdc_commit_sequence',
    } -%}
aggregate(
    transform(sequence(0, 24), exponent -> shiftright(16777216, exponent)),
    named_struct('here', 0, 'before_transaction', 0, 'after_transaction', 0, 'list', {{ list }}),
    (found, step) -> named_struct(
        {%- for count, condition in counts.items() %}
        {%- set candidate = 'try_element_at(found.list, found.' ~ count ~ ' + step)' %}
        '{{ count }}', found.{{ count }} + if(
            {{ candidate }} is not null
            and {{ condition | replace('candidate', candidate) }},
            step,
            0
        ),
        {%- endfor %}
        'list', found.list
    ),
    found -> named_struct(
        {%- for count in counts %}
        '{{ count }}', found.{{ count }}{{ ',' if not loop.last }}
        {%- endfor %}
    )
)
{%- endmacro -%}


{#- The sequence of the event `event`, a struct. In an increment the event may represent a version that was open before. -#}
{%- macro _begin_of(event, sequence, increment) -%}
    {%- if increment is none -%}
        {{ return(event ~ '.' ~ sequence) }}
    {%- endif -%}
    {%- set place = event ~ '.cdc_sequence' -%}
    {#- the first ~ is after the commit sequence, which has no ~ itself; the sequence of a view may have some -#}
    {%- set own = 'substring_index(' ~ place ~ ", '~', 1)" if sequence == 'cdc_commit_sequence'
        else 'substring(' ~ place ~ ", locate('~', " ~ place ~ ') + 1)' -%}
    {{ return(
        'if(\n    ' ~ event ~ ".cdc_commit_sequence like '%~',\n    " ~ own ~ ',\n    ' ~ event ~ '.' ~ sequence ~ '\n)'
    ) }}
{%- endmacro -%}
