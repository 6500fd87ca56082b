{#- One run at a time: the lock of a model, the tables that killed runs left, and the versions of tables that a run has read. -#}

{#- Acquires the model's lock and breaks an older one; drops tables of killed runs. A run that may have nothing to write does
    this only when it knows that it has. -#}
{%- macro _lock(run) -%}
    {%- if run.lock is defined -%}
        {{ return(none) }}
    {%- endif -%}
    {%- do run.update({'lock': spark_cdc._side_table('run_' ~ run.suffix)}) -%}
    {%- do run_query('create table ' ~ run.lock ~ ' (started_at timestamp) using parquet') -%}
    {%- set left_over = spark_cdc._left_over(run) -%}
    {%- for relation in left_over if '__cdc_run_' in relation.identifier -%}{%- do spark_cdc._drop(relation) -%}{%- endfor -%}
    {#- after the older lock is broken, so that no run ends unnoticed; before the tables of that run are dropped -#}
    {%- if run.properties and spark_cdc._own(spark_cdc._properties(run.existing)) != spark_cdc._own(run.properties) -%}
        {%- do spark_cdc._drop(run.lock) -%}
        {{ exceptions.raise_compiler_error(
            'spark_cdc.cdc_incremental: another run of ' ~ this ~ ' has ended after this one began, so this one stops.'
            ~ ' The table is correct. Run one at a time.'
        ) }}
    {%- endif -%}
    {%- if left_over and run.properties.get('spark_cdc.quarantine') -%}{%- do spark_cdc._show_quarantine(run) -%}{%- endif -%}
    {%- for relation in left_over if '__cdc_run_' not in relation.identifier -%}{%- do spark_cdc._drop(relation) -%}{%- endfor -%}
{%- endmacro -%}

{#- The relations that a model's properties name, in the metastore's spelling: the raw rows, the state of a stream, and so on. If
    the model is a view, its table is among them, and the one before it, which somebody may still be reading. -#}
{%- macro _named_in(properties) -%}
    {%- set named = [] -%}
    {%- for name in ('raw', 'state', 'answers', 'quarantine', 'quarantine_before', 'stored_in', 'stored_in_before') if properties.get('spark_cdc.' ~ name) -%}
        {%- do named.append(properties['spark_cdc.' ~ name] | lower) -%}
    {%- endfor -%}
    {{ return(named) }}
{%- endmacro -%}

{#- The side tables of killed runs: locks, tables of one run, and tables that were not dropped. Raw rows and parser states of
    the last day are kept. A run whose lock was broken may be in its last statement, which puts them to use when it ends. `tables`
    are the names of the tables in the schema, if they were listed already. -#}
{%- macro _left_over(run, tables=none) -%}
    {%- set prefix = this.identifier ~ '__cdc_' -%}
    {%- set kept = spark_cdc._named_in(run.properties) + ([run.lock.identifier | lower] if run.lock is defined else []) -%}
    {%- set a_day_ago = modules.datetime.datetime.now(modules.pytz.utc) - modules.datetime.timedelta(days=1) -%}
    {%- set a_day_ago = a_day_ago.strftime('%Y%m%d%H%M%S%f') -%}
    {%- set left_over, there = [], [] -%}
    {%- set names = tables if tables is not none else spark_cdc._tables_like(prefix ~ '*') -%}
    {%- for name in names if (name | lower).startswith(prefix | lower) -%}
        {%- do there.append(name | lower) -%}
        {%- set found = modules.re.fullmatch(
            '(run|raw|replaced|missing|read|rows|groups|answers|added|decoded|reread|quarantine|state|touched|keys|effects|increment)?_?([0-9]+)', name[prefix | length:] | lower
        ) -%}
        {%- if found and name | lower not in kept and not (found[1] in ('raw', 'state') and found[2] > a_day_ago) -%}
            {%- do left_over.append(this.incorporate(path={'identifier': name}, type='table')) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do run.update({'side_tables': there}) -%}
    {{ return(left_over) }}
{%- endmacro -%}

{#- Stops if another run of the model began after this one, before its result is overwritten. With a `relation` it also stops
    if this relation is no longer as this run read it. This happens if the last statement of a run ends after its lock was
    broken. -#}
{%- macro _check_lock(run, relation=none) -%}
    {%- do spark_cdc._check_logs(run) -%}
    {%- if not spark_cdc._is_there(run.lock) -%}
        {{ exceptions.raise_compiler_error(
            'spark_cdc.cdc_incremental: another run of ' ~ this ~ ' began after this one, so this one stops.'
            ~ ' The table is correct. Run one at a time.'
        ) }}
    {%- elif relation is not none and relation.identifier in run.versions -%}
        {%- do run_query('refresh table ' ~ relation) -%}
        {%- if spark_cdc._of_format(run.file_format, 'was_written')(relation, run.versions[relation.identifier]) -%}
            {%- do spark_cdc._drop(run.lock) -%}
            {{ exceptions.raise_compiler_error(
                'spark_cdc.cdc_incremental: ' ~ relation ~ ' was written while this run worked, perhaps by an earlier run of ' ~ this
                ~ '. So this one stops, and the next one does its work. Run one at a time.'
            ) }}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}

{#- Stores the version of a table before the run reads it; the run later changes the table according to what it read. The
    table was refreshed when the run began. A model that is a view has none: a run replaces it as a whole. -#}
{%- macro _note_version(run, relation) -%}
    {%- if run.format.kind == 'table' or relation.identifier != run.target.identifier -%}
        {%- do run.versions.update({relation.identifier: spark_cdc._of_format(run.file_format, 'version')(relation)}) -%}
    {%- endif -%}
{%- endmacro -%}
