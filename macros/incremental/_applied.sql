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
    {%- set done = {
        'spark_cdc.applied': events.last or '', 'spark_cdc.upstream': events.epoch, 'spark_cdc.upstream_run': events.last_run,
        'spark_cdc.begun': '',
    } -%}
    {%- set is_rebuild = run.is_full or upstream is none or run.properties.get('spark_cdc.upstream') != events.epoch
        or run.properties['spark_cdc.definition'] != run.fingerprint or events.affects_all -%}
    {%- if is_rebuild or events.new -%}
        {%- do spark_cdc._lock(run) -%}
    {%- endif -%}
    {%- if is_rebuild -%}
        {%- if not run.is_full and run.properties['spark_cdc.definition'] != run.fingerprint -%}
            {%- do spark_cdc._check_columns(run, spark_cdc._applied(call)) -%}
        {%- endif -%}
        {%- set has_truncates = upstream is not none and spark_cdc._has_truncates(call.changes) -%}
        {%- do spark_cdc._store_all(run, spark_cdc._applied(call, has_truncates=has_truncates), done) -%}
    {%- elif not events.new -%}
        {%- call noop_statement('main', 'no new change events') -%}{%- endcall -%}
        {%- if run.properties.get('spark_cdc.upstream_run', '') != events.last_run -%}
            {%- do spark_cdc._lock(run) -%}
            {%- do spark_cdc._store_properties(run, {'spark_cdc.upstream_run': events.last_run}) -%}
        {%- endif -%}
    {%- else -%}
        {%- do spark_cdc._apply_new_events(run, events, done) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The model's SELECT; in an increment, only for the affected keys: see _versions. -#}
{%- macro _applied(call, increment=none, has_truncates=false) -%}
    {%- if call.builds == 'history' -%}
        {{ return(spark_cdc._history(call.changes, call.table, call.granularity, increment, has_truncates)) }}
    {%- endif -%}
    {{ return(spark_cdc._current_state(call.changes, call.table, call.keep_deleted, increment, has_truncates)) }}
{%- endmacro -%}

{#- An increment. -#}
{%- macro _apply_new_events(run, events, done) -%}
    {%- set call = run.call -%}
    {%- set table = call.table -%}
    {%- set affected_keys = spark_cdc._side_table('keys_' ~ run.suffix) -%}
    {%- set effects = spark_cdc._side_table('effects_' ~ run.suffix) -%}
    {%- set columns = spark_cdc._columns_of_target(run) -%}
    {%- do spark_cdc._note_version(run, run.target) -%}
    {%- do run_query('create table ' ~ affected_keys ~ ' using parquet as\n' ~ spark_cdc._affected_keys(run, events)) -%}
    {%- set first = run_query('select min(cdc_from) from ' ~ affected_keys).rows[0][0] or '' -%}
    {%- set changes = call.changes | string if first == ''
        else '(select * from ' ~ call.changes ~ ' where cdc_commit_sequence >= ' ~ spark_cdc._literal(first) ~ ')' -%}
    {%- set prune = none -%}
    {%- if call.builds == 'history' and first != '' -%}
        {#- not cdc_is_current: a condition on a partition column can keep a table format from skipping files -#}
        {%- set prune = '(stored.cdc_valid_to_sequence is null or stored.cdc_valid_to_sequence >= '
            ~ spark_cdc._literal(first) ~ ')' -%}
    {%- endif -%}
    {%- do run_query(
        'create table ' ~ effects ~ ' using parquet as\n' ~ spark_cdc._effects_on_affected_keys(run, changes, affected_keys, columns, prune)
    ) -%}
    {#- asked first: Spark needs longer to plan the SQL for complex keys than to run it; truncates are rare -#}
    {%- set is_quick = run_query(spark_cdc._complex_transactions(
        table, '(select * from ' ~ effects ~ ' where cdc_is_effect)', "cdc_operation = 'truncate'"
    ) ~ '\nlimit 1') | length == 0 -%}
    {%- set has_truncates = not is_quick and spark_cdc._has_truncates(effects) -%}
    {%- set is_plain = is_quick or (
        has_truncates and run_query(spark_cdc._complex_transactions_of_increment(table, effects) ~ '\nlimit 1') | length == 0
    ) -%}
    {%- set made = spark_cdc._applied(call, {'effects': effects, 'is_plain': is_plain}, has_truncates) -%}
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
    {%- do spark_cdc._write_increment(run, spark_cdc._difference(existing, made, identity, columns, goes)) -%}
    {%- do spark_cdc._store_increment(run, identity, done, prune) -%}
    {%- do spark_cdc._drop(affected_keys) -%}
    {%- do spark_cdc._drop(effects) -%}
{%- endmacro -%}

{%- macro _same_key(left, right, key) -%}
    {%- for name in key -%}
        {{ left }}.{{ spark_cdc._quote(name) }} <=> {{ right }}.{{ spark_cdc._quote(name) }}{{ ' and ' if not loop.last }}
    {%- endfor -%}
{%- endmacro -%}
