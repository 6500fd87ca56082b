{#- Runs of models of current state and of history.

    A run takes the change events that its model has not seen. It finds the affected keys, computes them again, and writes
    the difference into the model. A key is computed from its first new event on. The computation starts with the version
    that was open there, which is stored in the model. If the model does not have it, the key is computed from all its
    events. -#}

{%- macro _run_applied(run) -%}
    {%- set call = run.call -%}
    {%- set upstream = spark_cdc._incremental_upstream(spark_cdc._node_of(call.changes)) -%}
    {%- if upstream and upstream.texts and 'cdc_batch' not in spark_cdc.columns_of(call.changes) | map('lower') -%}
        {%- set upstream = none -%}
    {%- endif -%}
    {%- set events = spark_cdc._facts_of_upstream(run, upstream) -%}
    {%- set done = {'spark_cdc.applied': events.last or '', 'spark_cdc.upstream': events.epoch, 'spark_cdc.begun': ''} -%}
    {%- set is_rebuild = run.is_full or upstream is none or run.properties.get('spark_cdc.upstream') != events.epoch
        or run.properties['spark_cdc.definition'] != run.fingerprint or events.affects_all -%}
    {%- if is_rebuild or events.new -%}
        {%- do spark_cdc._lock(run) -%}
    {%- endif -%}
    {%- if is_rebuild -%}
        {%- if not run.is_full and run.properties['spark_cdc.definition'] != run.fingerprint -%}
            {%- do spark_cdc._check_columns(run, spark_cdc._applied(call)) -%}
        {%- endif -%}
        {%- do spark_cdc._store_all(run, spark_cdc._applied(call), done) -%}
    {%- elif not events.new -%}
        {%- call noop_statement('main', 'no new change events') -%}{%- endcall -%}
    {%- else -%}
        {%- do spark_cdc._apply_new_events(run, events, done) -%}
    {%- endif -%}
{%- endmacro -%}


{#- The model's SELECT; in an increment, only for the affected keys: see _versions. -#}
{%- macro _applied(call, increment=none) -%}
    {%- if call.builds == 'history' -%}
        {{ return(spark_cdc._history(call.changes, call.table, call.granularity, increment)) }}
    {%- endif -%}
    {{ return(spark_cdc._current_state(call.changes, call.table, call.keep_deleted, increment)) }}
{%- endmacro -%}

{#- The incremental model of change events that a node is, or is a view over. `relation` is that model, and `texts` are the
    views over it (empty where Spark does not tell). Gives none if there is no such model, or if a view was made over another
    one (`--defer`). Every run then builds the whole model. -#}
{%- macro _incremental_upstream(node, texts=[]) -%}
    {%- if node is none or node is undefined or node.resource_type != 'model' -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set relation = api.Relation.create(database=node.database, schema=node.schema, identifier=node.alias) -%}
    {%- set named = '(?<![\\w.])' ~ modules.re.escape(relation | lower | string) ~ '(?![\\w.])' -%}
    {%- if texts and texts | last and not modules.re.search(named, texts | last | lower | replace('`', '')) -%}
        {{ return(none) }}
    {%- elif node.config.materialized == 'cdc_incremental' -%}
        {{ return({'relation': relation, 'texts': texts}) }}
    {%- elif node.config.materialized == 'view' and node.depends_on.nodes | length == 1 -%}
        {{ return(spark_cdc._incremental_upstream(
            graph.nodes.get(node.depends_on.nodes[0]), texts + [spark_cdc._view_text(relation)]
        )) }}
    {%- endif -%}
    {{ return(none) }}
{%- endmacro -%}

{#- The SQL with which a view was made. Its file may give other SQL now, with other variables. -#}
{%- macro _view_text(view) -%}
    {%- set texts = [] -%}
    {%- for row in run_query('describe extended ' ~ view) if row[0] == 'View Text' -%}
        {%- do texts.append(row[1]) -%}
    {%- endfor -%}
    {{ return(texts | last | default('', true)) }}
{%- endmacro -%}

{#- What the upstream has that the model has not seen. `last` is its last batch, `epoch` the run that last built it. `new`
    says whether there are new events, and `from` is their first commit sequence. `affects_all` says whether every key is
    affected. The upstream may be in the middle of a run, which writes retracted events before it changes the model. Such a
    batch is left to a later run. -#}
{%- macro _facts_of_upstream(run, upstream) -%}
    {%- if upstream is none -%}
        {{ return({'last': none, 'epoch': '', 'new': true, 'affects_all': true}) }}
    {%- endif -%}
    {%- set is_emptied = run.call.changes.limit == 0 -%}
    {%- set retracted = spark_cdc._side_table('replaced', of=upstream.relation) -%}
    {#- the relation that the body names was refreshed when the body was compiled -#}
    {%- if upstream.texts -%}{%- do run_query('refresh table ' ~ upstream.relation) -%}{%- endif -%}
    {#- changes if all events may be different: the model was rebuilt, or a view has other SQL -#}
    {%- set epoch = spark_cdc._properties(upstream.relation).get('spark_cdc.generation', '')
        ~ (' ' ~ local_md5(upstream.texts | join) if upstream.texts else '') -%}
    {#- batches of another epoch cannot be compared with the batch that was applied -#}
    {%- set before = run.properties.get('spark_cdc.applied', '')
        if run.properties.get('spark_cdc.upstream') == epoch else '' -%}
    {%- set applied = spark_cdc._literal(before) -%}
    {%- set of_retracted, is_running = none, false -%}
    {%- if not is_emptied and spark_cdc._is_there(retracted) -%}
        {%- do run_query('refresh table ' ~ retracted) -%}
        {%- set of_retracted = run_query(spark_cdc._news_of(retracted, applied)).rows[0] -%}
        {#- in this order: if the run has ended by now, its events can be read -#}
        {%- set is_running = of_retracted[0] is not none and spark_cdc._is_there(spark_cdc._side_table('run_*', of=upstream.relation)) -%}
    {%- endif -%}
    {%- if of_retracted is not none and of_retracted[0] is not none -%}{%- do run_query('refresh table ' ~ upstream.relation) -%}{%- endif -%}
    {%- set of_events = run_query(spark_cdc._news_of(run.call.changes, applied)).rows[0] -%}
    {%- set last = [of_events[0] or before, before if is_running or not of_retracted else of_retracted[0] or before] | max -%}
    {#- asked again, up to the batch of the events: a run may have ended meanwhile, or may still be writing -#}
    {%- if is_running or (of_events[0] or '') > ((of_retracted or [''])[0] or '') -%}
        {%- set of_retracted = none -%}
        {%- if not is_emptied and spark_cdc._is_there(retracted) -%}
            {%- do run_query('refresh table ' ~ retracted) -%}
            {%- set of_retracted = run_query(
                spark_cdc._news_of(retracted, applied) ~ ' and cdc_batch <= ' ~ spark_cdc._literal(last)
            ).rows[0] -%}
        {%- endif -%}
    {%- endif -%}
    {%- set has_retracted = of_retracted is not none and of_retracted[1] is not none -%}
    {%- set rows = [of_events] + ([of_retracted] if has_retracted else []) -%}
    {%- set froms = rows | map(attribute=1) | select | list -%}
    {{ return({
        'last': '' if is_emptied else last,
        'epoch': epoch,
        'new': froms | length > 0,
        'from': froms | min if froms else none,
        'retracted': retracted if has_retracted else none,
        'affects_all': rows | map(attribute=2) | select | list | length > 0 or (has_retracted and upstream.texts | length > 0),
    }) }}
{%- endmacro -%}

{#- For the events after the batch `applied`: the last batch, the first commit sequence, and the number of truncates. -#}
{%- macro _news_of(events, applied) -%}
select
    max(cdc_batch) as last_batch,
    min(cdc_commit_sequence) as first_commit_sequence,
    count_if(cdc_operation = 'truncate') as truncates
from {{ events }}
where cdc_batch > {{ applied }}
{%- endmacro -%}


{#- An increment. -#}
{%- macro _apply_new_events(run, events, done) -%}
    {%- set call = run.call -%}
    {%- set table = call.table -%}
    {%- set affected_keys = spark_cdc._side_table('keys_' ~ run.suffix) -%}
    {%- set effects = spark_cdc._side_table('effects_' ~ run.suffix) -%}
    {%- set increment = spark_cdc._side_table('increment_' ~ run.suffix) -%}
    {%- set columns = spark_cdc._described(run.target) -%}
    {%- do spark_cdc._note_version(run, run.target) -%}
    {%- do run_query('create table ' ~ affected_keys ~ ' using parquet as\n' ~ spark_cdc._affected_keys(run, events)) -%}
    {%- set first = run_query('select min(cdc_from) from ' ~ affected_keys).rows[0][0] or '' -%}
    {%- set changes = call.changes | string if first == ''
        else '(select * from ' ~ call.changes ~ ' where cdc_commit_sequence >= ' ~ spark_cdc._literal(first) ~ ')' -%}
    {%- set prune = none -%}
    {%- if call.builds == 'history' and first != '' -%}
        {#- not cdc_is_current: if such a condition names a partition column, Delta skips no files -#}
        {%- set prune = '(stored.cdc_valid_to_sequence is null or stored.cdc_valid_to_sequence >= '
            ~ spark_cdc._literal(first) ~ ')' -%}
    {%- endif -%}
    {%- do run_query(
        'create table ' ~ effects ~ ' using parquet as\n' ~ spark_cdc._effects_on_affected_keys(run, changes, affected_keys, columns, prune)
    ) -%}
    {#- asked first: Spark needs longer to plan the SQL for complex keys than to run it -#}
    {%- set not_plain = run_query(spark_cdc._complex_transactions(
        table, '(select * from ' ~ effects ~ ' where cdc_is_effect)', "cdc_operation = 'truncate'"
    ) ~ '\nlimit 1') -%}
    {%- set made = spark_cdc._applied(call, {'effects': effects, 'is_plain': not_plain | length == 0}) -%}
    {%- set existing -%}
select
    cdc_stored.*,
    cdc_from
from {{ effects }}
where cdc_stored is not null
    {%- endset -%}
    {#- a deleted key stays as it is if the new events do not change it -#}
    {%- set goes = "existing.cdc_from = '' or not existing.cdc_is_deleted" if call.keep_deleted else 'true' -%}
    {%- set identity = table.key + (['cdc_valid_from_sequence'] if call.builds == 'history' else []) -%}
    {%- do run_query(
        'create table ' ~ increment ~ ' using parquet as\n' ~ spark_cdc._difference(existing, made, identity, columns, goes)
    ) -%}
    {%- do spark_cdc._store_increment(run, increment, identity, done, prune) -%}
    {%- do spark_cdc._drop(affected_keys) -%}
    {%- do spark_cdc._drop(effects) -%}
    {%- do spark_cdc._drop(increment) -%}
{%- endmacro -%}

{%- macro _same_key(left, right, key) -%}
    {%- for name in key -%}
        {{ left }}.{{ spark_cdc._quote(name) }} <=> {{ right }}.{{ spark_cdc._quote(name) }}{{ ' and ' if not loop.last }}
    {%- endfor -%}
{%- endmacro -%}

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
        cdc_commit_sequence,
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
