{#- The keys that new change events name, and what the events do to them. -#}

{#- The keys that the new events name, each with `cdc_from`: the commit sequence from which on it is computed. An empty text
    means from its first event. -#}
{%- macro _affected_keys(run, events) -%}
    {%- set key = run.call.table.key -%}
    {%- set applied = spark_cdc._literal(run.properties['spark_cdc.applied']) -%}
    {%- set is_new = 'cdc_batch > ' ~ applied ~ ' and cdc_batch <= ' ~ spark_cdc._literal(events.last) -%}
    {%- set key_list = spark_cdc._column_list(key) -%}
    {#- the keys that an event names: its own key, and the key of its before image -#}
    {%- set named -%}
lateral view explode(
    case
        when cdc_operation = 'update' and cdc_before is not null then array(false, true)
        else array(false)
    end
) sides as cdc_leaves
    {%- endset -%}
    {%- set keys = [] -%}
    {%- for name in key -%}
        {%- do keys.append(spark_cdc._named_key(run.call.table, name) ~ ' as ' ~ spark_cdc._quote(name)) -%}
    {%- endfor -%}
with new_events as (
    select
        {{ keys | join(',\n') | indent(8) }},
        case
            {{ spark_cdc._when_broken(run.call.table) | indent(12) }}
            else cdc_commit_sequence
        end as cdc_commit_sequence,
        false as cdc_is_retracted
    from {{ run.call.changes }}
        {{ named | indent(8) }}
    where {{ is_new }}
    {%- if events.retracted %}
    union all
    select
        {{ keys | join(',\n') | indent(8) }},
        cdc_commit_sequence,
        true as cdc_is_retracted
    from {{ events.retracted }}
        {{ named | indent(8) }}
    where {{ is_new }}
    {%- endif %}
),

named_keys as (
    select
        {{ key_list }},
        min(cdc_commit_sequence) as cdc_first,
        bool_or(cdc_is_retracted) as cdc_is_retracted
    from new_events
    group by {{ key_list }}
)
    {%- if run.call.builds == 'history' %}

select
    {{ key_list }},
    {{ 'cdc_first' if run.call.granularity == 'commit' else "''" }} as cdc_from
from named_keys
    {%- elif run.properties.get('spark_cdc.begun') %}

-- the last run was killed while it wrote: rows of the model may be from before or after that run
select
    {{ key_list }},
    '' as cdc_from
from named_keys
    {%- else %},

-- the last commit of these keys that the model already applied, if it is not before the new events
known_events as (
    select
        {{ keys | join(',\n') | indent(8) }},
        cdc_commit_sequence,
        cdc_operation = 'truncate' as cdc_is_truncate
    from {{ run.call.changes }}
        {{ named | indent(8) }}
    where
        cdc_batch <= {{ applied }}
        and cdc_commit_sequence >= {{ spark_cdc._literal(events.from) }}
    union all
    select
        {{ key_list }},
        cdc_commit_sequence,
        false as cdc_is_truncate
    from {{ run.target }}
    where cdc_commit_sequence >= {{ spark_cdc._literal(events.from) }}
),

known_keys as (
    select
        {{ key_list }},
        cdc_is_truncate,
        max(cdc_commit_sequence) as cdc_last
    from known_events
    group by {{ key_list }}, cdc_is_truncate
)

select
    {{ spark_cdc._column_list(key, 'named_keys.') }},
    -- the model has the row after the last change only: the row before that, or before a truncate, is unknown
    case
        when named_keys.cdc_is_retracted or known_keys.cdc_last >= named_keys.cdc_first then ''
        when named_keys.cdc_first <= (select max(cdc_last) from known_keys where cdc_is_truncate) then ''
        else named_keys.cdc_first
    end as cdc_from
from named_keys
left join known_keys
    on {{ spark_cdc._same_key('named_keys', 'known_keys', key) }} and not known_keys.cdc_is_truncate
    {%- endif %}
{%- endmacro -%}

{#- The effects of the events on the affected keys from `cdc_from` on, after the row that each key had there; and the
    truncates. In cdc_stored it also gives the model's rows of these keys, with the model's `columns`. One read of the model
    serves both, so not every row is an effect. `prune` is a condition that holds for all these rows of the model. -#}
{%- macro _effects_on_affected_keys(run, changes, affected_keys, columns, prune) -%}
    {%- set table = run.call.table -%}
{{ spark_cdc._effects(changes, table) }},

stored as (
    {{ spark_cdc._stored_rows_of_affected_keys(run, affected_keys, prune) | indent(4) }}
)

select
    effects.*,
    true as cdc_is_effect,
    null as cdc_from,
    null as cdc_stored
from effects
left semi join {{ affected_keys }} as affected_keys
    on
        {{ spark_cdc._same_key('effects', 'affected_keys', table.key) | indent(8) }}
        and effects.cdc_commit_sequence >= affected_keys.cdc_from
union all
select
    {{ spark_cdc._effect_key(table) | indent(4) }},
    cdc_operation,
    cdc_place as cdc_sequence,
    -- less than cdc_from, and greater than everything less than it: ~ sorts after every character of a sequence
    case
        when cdc_is_effect
            then concat(
                left(cdc_from, length(cdc_from) - 1),
                chr(ascii(right(cdc_from, 1)) - 1),
                '~'
            )
    end as cdc_commit_sequence,
    {{ 'cdc_valid_from' if run.call.builds == 'history' else 'cdc_commit_at' }} as cdc_commit_at,
    0 as cdc_row_delta,
    named_struct(
        'cdc_present_columns', cast(null as array<string>),
        'cdc_row', {{ spark_cdc._struct(table.attributes or table.key) | indent(8) }}
    ) as cdc_after,
    cdc_is_effect,
    cdc_from,
    {{ spark_cdc._struct(columns) | indent(4) }} as cdc_stored
from stored
union all
select
    {{ spark_cdc._effect_key(table) | indent(4) }},
    cdc_operation,
    cdc_sequence,
    cdc_commit_sequence,
    cdc_commit_at,
    0 as cdc_row_delta,
    null as cdc_after,
    true as cdc_is_effect,
    null as cdc_from,
    null as cdc_stored
from changes
where cdc_operation = 'truncate'
{%- endmacro -%}

{#- CTE of the effects in `relation`, which _effects_on_affected_keys made. -#}
{%- macro _effects_of_increment(relation) -%}
with effects as (
    select * except (cdc_is_effect, cdc_from, cdc_stored)
    from {{ relation }}
    where cdc_is_effect and cdc_operation <> 'truncate'
)
{%- endmacro -%}

{#- The transactions in `relation` that make a key complex. -#}
{%- macro _complex_transactions_of_increment(table, relation) -%}
{{ spark_cdc._effects_of_increment(relation) }},

{{ spark_cdc._truncates(relation, true) }},

{{ spark_cdc._narrow_effects(table) }}

{{ spark_cdc._complex_transactions(table, 'narrow_effects', 'cdc_is_truncated') }}
{%- endmacro -%}

{#- The model's rows of the affected keys. A row that is open where the new events of its key begin is an effect. Its
    position is just before these events, and after every truncate that it survived. Its own position is in cdc_place, where
    `_begin_of` finds it again. -#}
{%- macro _stored_rows_of_affected_keys(run, affected_keys, prune) -%}
    {%- if run.call.builds == 'history' -%}
        {%- set place = "concat(stored.cdc_valid_from_sequence, '~')" -%}
        {%- set is_open = 'stored.cdc_valid_from_sequence < affected_keys.cdc_from' -%}
    {%- else -%}
        {%- set place = "concat(stored.cdc_commit_sequence, '~', stored.cdc_sequence)" -%}
        {%- set is_open = "affected_keys.cdc_from <> ''" ~ (' and not stored.cdc_is_deleted' if run.call.keep_deleted else '') -%}
    {%- endif -%}
select
    stored.*,
    affected_keys.cdc_from,
    {{ place }} as cdc_place,
    {{ is_open }} as cdc_is_effect
from {{ run.target }} as stored
inner join {{ affected_keys }} as affected_keys
    on {{ spark_cdc._same_key('stored', 'affected_keys', run.call.table.key) }}
    {%- if run.call.builds == 'history' %}
where
    (stored.cdc_is_current or stored.cdc_valid_to_sequence >= affected_keys.cdc_from)
    {{ 'and ' ~ prune if prune }}
    {%- endif %}
{%- endmacro -%}
