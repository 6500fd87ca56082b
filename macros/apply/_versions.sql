{#- From change events to versions: the shared part of `history` and `current_state`. The rules are numbered in
    docs/rules.md. Nothing here depends on a format. -#}

{#- CTEs that end in `versions`. It has the table's columns, and `cdc_begin` and `cdc_end`: the events that began and ended
    the version, as structs. `cdc_end` is null while the version is open. `cdc_is_last` says that the key has no later
    version.

    There is one wide shuffle and one sort, by key and position; all later steps are windows in that order. Most keys are
    plain: two or three windows are enough. The complex keys are found first, and take all steps. Both ways read the same
    shuffle. Spark makes it only once as long as both need the same columns of `effects` and filter nothing before their join
    with `complex_keys`.

    An `increment` is about some keys only. Its `effects` is a relation of their effects and of the truncates, as
    _effects_on_affected_keys makes it. `is_plain` says whether all these keys are plain. Then the steps for complex keys are
    left out, since planning them takes longer than a small increment runs.

    The result is right whatever the table has. With `has_truncates`, most keys of a table with a few truncates are plain; without
    it, all keys of such a table are complex. For a table without truncates the SQL is shorter without it. -#}
{%- macro _versions(changes, table, granularity, increment=none, has_truncates=false) -%}
    {%- set group, windows = spark_cdc._effect_group(table), spark_cdc._effect_windows(table) -%}
    {%- set same_key = [] -%}
    {%- for name in group -%}
        {%- set column = spark_cdc._quote(name) -%}
        {%- do same_key.append('effects.' ~ column ~ (' <=> ' if table.null_keys else ' = ') ~ 'complex_keys.' ~ column) -%}
    {%- endfor -%}
    {%- set is_plain = increment is not none and increment.is_plain -%}
{%- if increment is none -%}
{{ spark_cdc._effects(changes, table) }},
{%- else -%}
{{ spark_cdc._effects_of_increment(increment.effects) }},
{%- endif %}
{%- if has_truncates or not is_plain %}

{{ spark_cdc._truncates('changes' if increment is none else increment.effects, increment is not none) }},
{%- endif %}
{%- if not is_plain %}

-- Complex keys: a transaction both adds and removes a row of the key, or an event does not carry the whole row, or
    {%- if has_truncates %}
-- a transaction has an effect on the key and then truncates the table. If two keys share a hash, the other one is
-- treated as complex too, which is slower but also right.
{{ spark_cdc._narrow_effects(table) }},
{{ '' }}
    {%- else %}
-- the table was truncated. If two keys share a hash, the other one is treated as complex too, which is slower but
-- also right.
    {%- endif %}
complex_transactions as (
    {{ spark_cdc._complex_transactions(
        table, 'narrow_effects' if has_truncates else 'effects',
        'cdc_is_truncated' if has_truncates else '(select size(cdc_list) > 0 from truncates)'
    ) | indent(4) }}
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

{{ spark_cdc._plain_versions(table, granularity, windows, 'effects' if is_plain else 'plain_effects', has_truncates) }},
{%- if not is_plain %}

-- Complex keys.
complex_effects as (
    select effects.*
    from effects
    left semi join complex_keys
        on {{ same_key | join(' and ') }}
),

{{ spark_cdc._complex_counts(windows) }},

{{ spark_cdc._complex_rows(table, windows) }},
{{ spark_cdc._complex_intervals(table, granularity, windows) }},
{%- endif %}

versions as (
    select
        {%- for name in table.columns %}
        {{ 'cdc_after.cdc_row.' if name not in table.key }}{{ spark_cdc._quote(name) }},
        {%- endfor %}
        cdc_begin,
        cdc_end,
        cdc_is_last
    from plain_versions
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

{#- The windows over the effects of a key in order: a dict of texts. -#}
{%- macro _effect_windows(table) -%}
    {%- set key = spark_cdc._column_list(table.key) if table.key_is_collated
        else 'cdc_key_hash, ' ~ spark_cdc._column_list(table.key) -%}
    {{ return({
        'row': 'partition by ' ~ key ~ '\norder by cdc_commit_sequence, cdc_sequence',
        'transaction': 'partition by ' ~ key ~ ', cdc_commit_sequence\norder by cdc_sequence',
        'whole': 'rows between unbounded preceding and unbounded following',
        'so_far': 'rows between unbounded preceding and current row',
        'before': 'rows between unbounded preceding and 1 preceding',
    }) }}
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
