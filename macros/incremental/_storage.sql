{#- How an incremental model is stored, and how a run replaces the result of the run before it.

    A model on Iceberg or Delta is a table of that format; a run changes it in one commit. On parquet it is a view over the
    table <model>__cdc_<run>. A run writes a new table and then replaces the view, which is one step in the metastore. What
    the next run has to know is stored in the properties of the model, and written in that same step. -#}

{#- The state of a run: a dict. -#}
{%- macro _begin_run(call) -%}
    {%- set file_format = config.get('file_format', 'parquet') -%}
    {%- if file_format not in ('parquet', 'iceberg', 'delta') -%}
        {{ spark_cdc._stop(
            'cdc_incremental', 'file_format is ' ~ file_format, 'parquet, iceberg or delta',
            "config(materialized='cdc_incremental', file_format='iceberg')"
        ) }}
    {%- endif -%}
    {%- if file_format == 'parquet' and config.get('location_root') is not none -%}
        {{ spark_cdc._stop(
            'cdc_incremental', 'location_root is ' ~ config.get('location_root') ~ ', and file_format is parquet',
            'location_root on iceberg and delta; on parquet a schema with a location: each run creates a table and drops one,'
            ~ ' and Spark does not delete the files of a dropped table that has a location of its own', "create schema lake location 's3a://lake/…'"
        ) }}
    {%- endif -%}
    {%- if file_format == 'iceberg' and call.builds != 'quarantine' -%}
        {%- set collated = [] -%}
        {%- for name, data_type in (call.spec.columns if call.spec else call.table.collated).items() if ' collate ' in data_type | lower -%}
            {%- do collated.append(name) -%}
        {%- endfor -%}
        {%- for name in collated + (call.table.key if call.table and call.table.key_is_collated else []) -%}
            {{ spark_cdc._stop(
                'cdc_incremental', 'file_format is iceberg, and the column ' ~ name ~ ' has a collation',
                'text without a collation, since Iceberg has no collations: cast it in a view over the relation that the model reads',
                'create view … as select * except (' ~ name ~ '), cast(' ~ name ~ ' as string) as ' ~ name ~ ' from …'
            ) }}
        {%- endfor -%}
    {%- endif -%}
    {%- set existing = spark_cdc._existing() -%}
    {%- if existing is not none and not existing.is_view -%}{%- do run_query('refresh table ' ~ existing) -%}{%- endif -%}
    {%- set properties = spark_cdc._properties(existing) if existing is not none else {} -%}
    {%- set stored_format = properties.get('spark_cdc.file_format', file_format) -%}
    {%- if stored_format != file_format and not should_full_refresh() -%}
        {{ spark_cdc._stop(
            'cdc_incremental', this ~ ' is stored as ' ~ stored_format ~ ', and file_format is ' ~ file_format,
            'the same file_format; or --full-refresh, which builds the model again from the rows that the raw relation has now',
            'dbt run --full-refresh --select ' ~ model.name
        ) }}
    {%- endif -%}
    {%- set is_ours = properties.get('spark_cdc.file_format') == file_format -%}
    {%- set kind = 'view' if file_format == 'parquet' else 'table' -%}
    {%- set batch = modules.datetime.datetime.now(modules.pytz.utc).strftime('%Y-%m-%dT%H:%M:%S.%fZ') -%}
    {%- set run = {
        'call': call,
        'file_format': file_format,
        'target': this.incorporate(type=kind),
        'existing': existing,
        'properties': dict(properties) if is_ours else {},
        'properties_before': properties if is_ours else {},
        'is_full': should_full_refresh() or not is_ours,
        'batch': batch,
        'suffix': modules.re.sub('[^0-9]', '', batch),
        'fingerprint': local_md5(tojson(call.fingerprint_of)),
        'versions': {},
    } -%}
    {%- set can_be_replaced = existing is not none and (
        (file_format == 'iceberg' and existing.is_iceberg) or (file_format == 'delta' and existing.is_delta)
    ) -%}
    {%- if existing is not none and not is_ours and not can_be_replaced -%}
        {%- do adapter.drop_relation(existing) -%}
        {#- Iceberg's catalog shows a view that it did not create only as a table -#}
        {%- if spark_cdc._is_there(existing) -%}{%- do run_query('drop table ' ~ existing) -%}{%- endif -%}
    {%- elif is_ours and kind == 'view' and spark_cdc._is_foreign(properties) -%}
        {%- do spark_cdc._make_view_again(run) -%}
    {%- endif -%}
    {%- if call.builds in ('events', 'quarantine') or spark_cdc._left_over(run) -%}
        {%- do spark_cdc._lock(run) -%}
    {%- endif -%}
    {{ return(run) }}
{%- endmacro -%}

{#- The model as the run before left it, or none. dbt's own list is not enough. It is empty if a table was dropped while
    Spark listed it, and it lacks schemas in another catalog. -#}
{%- macro _existing() -%}
    {%- set existing = load_relation(this) -%}
    {%- if existing is none and spark_cdc._is_there(this) -%}
        {%- set stored_format = spark_cdc._properties(this).get('spark_cdc.file_format') -%}
        {%- set existing = this.incorporate(type='view' if stored_format == 'parquet' else 'table') -%}
    {%- endif -%}
    {{ return(existing) }}
{%- endmacro -%}

{#- Whether a view with these properties was created before Spark had Iceberg's catalog. That catalog can neither replace nor
    drop such a view. -#}
{%- macro _is_foreign(properties) -%}
    {%- set catalog = run_query('set spark.sql.catalog.spark_catalog').rows[0][1] -%}
    {{ return('iceberg' in catalog and 'table_type' not in properties) }}
{%- endmacro -%}

{#- Creates such a view again in that catalog, with the same SQL and properties. The catalog can drop the old one as a
    table. -#}
{%- macro _make_view_again(run) -%}
    {%- set ours = spark_cdc._own(run.properties) -%}
    {%- do run_query('drop table ' ~ run.target) -%}
    {%- do run_query(
        'create view ' ~ run.target ~ ' tblproperties (' ~ spark_cdc._property_list(ours) ~ ') as\nselect * from '
        ~ this.incorporate(path={'identifier': ours['spark_cdc.stored_in']})
    ) -%}
{%- endmacro -%}

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
    {%- for relation in left_over if '__cdc_run_' not in relation.identifier -%}{%- do spark_cdc._drop(relation) -%}{%- endfor -%}
{%- endmacro -%}

{#- Releases the lock, and drops tables that the properties no longer name. -#}
{%- macro _end_run(run) -%}
    {%- for identifier in spark_cdc._named_in(run.properties_before) if identifier not in spark_cdc._named_in(run.properties) -%}
        {%- do spark_cdc._drop(this.incorporate(path={'identifier': identifier}, type='table')) -%}
    {%- endfor -%}
    {%- if run.lock is defined -%}{%- do spark_cdc._drop(run.lock) -%}{%- endif -%}
{%- endmacro -%}

{#- Makes the batch of a run greater than all batches in the model, even if the clock went back. Only runs with something to
    write need this. -#}
{%- macro _number_run(run) -%}
    {%- if run.call.builds != 'events' or not run.properties -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set later, relations = [], [run.target] -%}
    {%- if run.retracted.identifier | lower in run.side_tables -%}
        {%- do run_query('refresh table ' ~ run.retracted) -%}
        {%- do relations.append(run.retracted) -%}
    {%- endif -%}
    {%- for relation in relations -%}
        {%- do later.append(run_query(
            'select max(cdc_batch) from ' ~ relation ~ ' where cdc_batch >= ' ~ spark_cdc._literal(run.batch)
        ).rows[0][0]) -%}
    {%- endfor -%}
    {%- if later | select | list -%}
        {%- do run.update({'batch': later | select | max ~ '+'}) -%}
    {%- endif -%}
{%- endmacro -%}

{#- A side table of this model: <model>__cdc_<name>. -#}
{%- macro _side_table(name, of=none) -%}
    {%- set of = of or this -%}
    {{ return(api.Relation.create(
        database=of.database, schema=of.schema, identifier=of.identifier ~ '__cdc_' ~ name, type='table'
    )) }}
{%- endmacro -%}

{#- Whether a relation exists according to the metastore: dbt's own list lacks relations that this run created. -#}
{%- macro _is_there(relation) -%}
    {%- set found = run_query('show tables in ' ~ relation.without_identifier() ~ " like '" ~ relation.identifier ~ "'") -%}
    {{ return(found | length > 0) }}
{%- endmacro -%}

{#- Drops a table and its files. Without `purge` Iceberg's catalog leaves the files, even of parquet tables. -#}
{%- macro _drop(relation) -%}
    {%- do run_query('drop table if exists ' ~ relation ~ ' purge') -%}
{%- endmacro -%}

{#- The table properties of a relation, a dict. -#}
{%- macro _properties(relation) -%}
    {%- set properties = {} -%}
    {%- for row in run_query('show tblproperties ' ~ relation) -%}
        {%- do properties.update({row[0]: row[1]}) -%}
    {%- endfor -%}
    {{ return(properties) }}
{%- endmacro -%}

{#- The table properties that belong to this package. -#}
{%- macro _own(properties) -%}
    {%- set own = {} -%}
    {%- for name, value in properties.items() if name.startswith('spark_cdc.') -%}
        {%- do own.update({name: value}) -%}
    {%- endfor -%}
    {{ return(own) }}
{%- endmacro -%}

{#- The relations that a model's properties name, in the metastore's spelling: the raw rows, the state of a stream and, on
    parquet, the table and the one before it. Somebody may still be reading that one. -#}
{%- macro _named_in(properties) -%}
    {%- set named = [] -%}
    {%- for name in ('raw', 'state', 'answers', 'stored_in', 'stored_in_before') if properties.get('spark_cdc.' ~ name) -%}
        {%- do named.append(properties['spark_cdc.' ~ name] | lower) -%}
    {%- endfor -%}
    {{ return(named) }}
{%- endmacro -%}

{#- The side tables of killed runs: locks, tables of one run, and tables that were not dropped. Raw rows and parser states of
    the last day are kept. A run whose lock was broken may be in its last statement, which puts them to use when it ends. -#}
{%- macro _left_over(run) -%}
    {%- set prefix = this.identifier ~ '__cdc_' -%}
    {%- set kept = spark_cdc._named_in(run.properties) + ([run.lock.identifier | lower] if run.lock is defined else []) -%}
    {%- set a_day_ago = modules.datetime.datetime.now(modules.pytz.utc) - modules.datetime.timedelta(days=1) -%}
    {%- set a_day_ago = a_day_ago.strftime('%Y%m%d%H%M%S%f') -%}
    {%- set left_over, there = [], [] -%}
    {%- for row in run_query('show tables in ' ~ this.without_identifier() ~ " like '" ~ prefix ~ "*'") -%}
        {%- do there.append(row[1] | lower) -%}
        {%- set found = modules.re.fullmatch(
            '(run|raw|replaced|missing|read|rows|groups|answers|added|decoded|reread|state|touched|keys|effects|increment)?_?([0-9]+)', row[1][prefix | length:] | lower
        ) -%}
        {%- if found and row[1] | lower not in kept and not (found[1] in ('raw', 'state') and found[2] > a_day_ago) -%}
            {%- do left_over.append(this.incorporate(path={'identifier': row[1]}, type='table')) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do run.update({'side_tables': there}) -%}
    {{ return(left_over) }}
{%- endmacro -%}

{#- Stops if another run of the model began after this one, before its result is overwritten. With a `relation` it also stops
    if this relation is no longer as this run read it. This happens if the last statement of a run ends after its lock was
    broken. -#}
{%- macro _check_lock(run, relation=none) -%}
    {%- if not spark_cdc._is_there(run.lock) -%}
        {{ exceptions.raise_compiler_error(
            'spark_cdc.cdc_incremental: another run of ' ~ this ~ ' began after this one, so this one stops.'
            ~ ' The table is correct. Run one at a time.'
        ) }}
    {%- elif relation is not none and relation.identifier in run.versions -%}
        {%- do run_query('refresh table ' ~ relation) -%}
        {%- if spark_cdc._was_written(run, relation, run.versions[relation.identifier]) -%}
            {%- do spark_cdc._drop(run.lock) -%}
            {{ exceptions.raise_compiler_error(
                'spark_cdc.cdc_incremental: ' ~ relation ~ ' was written while this run worked, perhaps by an earlier run of ' ~ this
                ~ '. So this one stops, and the next one does its work. Run one at a time.'
            ) }}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}

{#- Stores the version of a table before the run reads it; the run later changes the table according to what it read. The
    table was refreshed when the run began. -#}
{%- macro _note_version(run, relation) -%}
    {%- if run.file_format != 'parquet' or relation.identifier != run.target.identifier -%}
        {%- do run.versions.update({relation.identifier: spark_cdc._version(run, relation)}) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The version of a table. On parquet a run replaces the model as a whole, and the number of stored raw rows never falls:
    there it is their number. -#}
{%- macro _version(run, relation) -%}
    {%- if run.file_format == 'delta' -%}
        {{ return(run_query('describe history ' ~ relation.quote(identifier=true) ~ ' limit 1').rows[0]['version']) }}
    {%- elif run.file_format == 'iceberg' -%}
        {%- set current = run_query('select snapshot_id from ' ~ relation ~ ".refs where name = 'main'") -%}
        {{ return(current.rows[0][0] if current.rows else none) }}
    {%- endif -%}
    {{ return(run_query('select count(*) from ' ~ relation).rows[0][0]) }}
{%- endmacro -%}

{#- Whether the rows of a table changed after a version. Maintenance does not change rows. -#}
{%- macro _was_written(run, relation, version) -%}
    {%- if run.file_format == 'parquet' -%}
        {{ return(spark_cdc._version(run, relation) != version) }}
    {%- elif run.file_format == 'iceberg' -%}
        {#- goes back from the current snapshot, past snapshots that only compact files -#}
        {%- set walk = namespace(at=spark_cdc._version(run, relation)) -%}
        {%- set snapshots = 'select snapshot_id, parent_id, operation from ' ~ relation ~ '.snapshots order by committed_at desc' -%}
        {%- for row in (run_query(snapshots) if walk.at != version else []) -%}
            {%- if walk.at != version and walk.at == row['snapshot_id'] and row['operation'] == 'replace' -%}
                {%- set walk.at = row['parent_id'] -%}
            {%- endif -%}
        {%- endfor -%}
        {{ return(walk.at != version) }}
    {%- endif -%}
    {%- set others = (
        'OPTIMIZE', 'REORG', 'VACUUM START', 'VACUUM END', 'SET TBLPROPERTIES', 'UNSET TBLPROPERTIES', 'CHANGE COLUMN'
    ) -%}
    {%- for row in run_query('describe history ' ~ relation.quote(identifier=true) ~ ' limit 20') -%}
        {%- if row['version'] == version -%}
            {{ return(false) }}
        {%- elif row['operation'] not in others -%}
            {{ return(true) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(true) }}
{%- endmacro -%}


{#- Properties as a list in SQL. -#}
{%- macro _property_list(properties) -%}
    {%- for name, value in properties.items() -%}
        {{ spark_cdc._literal(name) }} = {{ spark_cdc._literal(value | string) }}{{ ', ' if not loop.last }}
    {%- endfor -%}
{%- endmacro -%}

{#- `create table … as` in the model's format. With `is_model` it includes what the model's config says. -#}
{%- macro _create_as(run, relation, sql, properties={}, is_model=false) -%}
    {%- set own = {} -%}
    {%- set is_split = is_model and run.call.builds == 'history' and config.get('partition_by') is none -%}
    {%- if run.file_format == 'iceberg' -%}
        {#- a changed row is marked in a small file of its own, and its data file stays -#}
        {%- do own.update({
            'format-version': '3', 'write.merge.mode': 'merge-on-read', 'write.delete.mode': 'merge-on-read',
            'write.update.mode': 'merge-on-read',
        }) -%}
        {#- each task may write into both partitions: otherwise Spark shuffles all rows by partition -#}
        {%- if is_split -%}
            {%- do own.update({'write.distribution-mode': 'none', 'write.spark.fanout.enabled': 'true'}) -%}
        {%- endif -%}
    {%- elif run.file_format == 'delta' -%}
        {%- set changes = is_model and run.call.builds != 'events' -%}
        {%- do own.update({
            'delta.enableDeletionVectors': changes | string | lower, 'delta.columnMapping.mode': 'name',
        }) -%}
    {%- endif -%}
    {%- if is_model -%}
        {%- do own.update(spark_cdc._statistics_of_model(run)) -%}
        {%- do own.update(config.get('tblproperties') or {}) -%}
    {%- endif -%}
    {%- do own.update(properties) -%}
create {{ 'or replace ' if run.file_format != 'parquet' }}table {{ relation }}
using {{ run.file_format }}
    {%- if is_model %}
{{ options_clause() }}
        {%- if config.get('partition_by') is not none %}
{{ partition_cols(label='partitioned by') }}
        {%- elif is_split and run.file_format != 'parquet' %}
partitioned by (cdc_is_current)
        {%- endif %}
{{ clustered_cols(label='clustered by') }}
{{ comment_clause() }}
        {%- if config.get('location_root') is not none %}
location {{ spark_cdc._literal(config.get('location_root') ~ '/' ~ relation.identifier) }}
        {%- endif %}
    {%- endif %}
    {%- if own %}
tblproperties ({{ spark_cdc._property_list(own) }})
    {%- endif %}
as
{{ sql }}
{%- endmacro -%}

{#- Properties that make a table format store each file's range of the columns `asked`. Runs filter by these columns, and
    skip files that cannot match. By default Delta stores the ranges of the first 32 columns and Iceberg of the first 100,
    where fields of structs count. `others` are the columns that Delta stores as well, 32 in all. Both are dicts of name ->
    type. -#}
{%- macro _statistics(run, asked, others) -%}
    {%- set properties = {} -%}
    {%- if run.file_format == 'iceberg' -%}
        {%- for name in asked -%}
            {%- do properties.update({'write.metadata.metrics.column.' ~ name: 'full'}) -%}
        {%- endfor -%}
    {%- elif run.file_format == 'delta' -%}
        {%- set partitioned_by = config.get('partition_by') or [] -%}
        {%- set partitioned_by = [partitioned_by] if partitioned_by is string else partitioned_by -%}
        {%- set names = [] -%}
        {%- for name, data_type in dict(asked, **others).items()
            if name | lower not in partitioned_by | map('lower') and modules.re.fullmatch(
                '(tiny|small|big)?int|integer|byte|short|long|float|real|double|(decimal|dec|numeric)\\b.*'
                ~ '|date|timestamp|timestamp_ntz|string|(var)?char\\(.*', data_type | lower | trim
            ) -%}
            {%- do names.append(name) -%}
        {%- endfor -%}
        {%- do properties.update({
            'delta.dataSkippingStatsColumns': spark_cdc._column_list(names[:[32, asked | length] | max])
        }) -%}
    {%- endif -%}
    {{ return(properties) }}
{%- endmacro -%}

{#- These properties for the model: its own runs, and runs of models built on it, filter by these columns. -#}
{%- macro _statistics_of_model(run) -%}
    {%- set call = run.call -%}
    {%- if run.file_format == 'parquet' or call.builds == 'quarantine' -%}
        {{ return({}) }}
    {%- endif -%}
    {%- set asked, others = {
        'events': [
            {'cdc_sequence': 'string', 'cdc_commit_sequence': 'string', 'cdc_batch': 'string'},
            {'cdc_commit_at': 'timestamp'},
        ],
        'current_state': [{'cdc_commit_sequence': 'string'}, {'cdc_commit_at': 'timestamp'}],
        'history': [
            {'cdc_valid_from_sequence': 'string', 'cdc_valid_to_sequence': 'string', 'cdc_is_current': 'boolean'},
            {'cdc_valid_from': 'timestamp', 'cdc_valid_to': 'timestamp'},
        ],
    }[call.builds] -%}
    {%- set table = call.spec or call.table -%}
    {%- set types = table.columns if table.columns is mapping else spark_cdc.columns_of(call.changes) -%}
    {%- for name in table.columns -%}
        {%- do (asked if name in table.key else others).update({name: types[name]}) -%}
    {%- endfor -%}
    {{ return(spark_cdc._statistics(run, asked, others)) }}
{%- endmacro -%}

{#- These properties for the stored raw rows: runs filter by the group and by the watermark. -#}
{%- macro _statistics_of_raw(run) -%}
    {%- set spec = run.call.spec -%}
    {%- set watermark = run.raw_watermark -%}
    {%- set asked = {'cdc_group': 'string'} -%}
    {%- for name in ([watermark.column] + watermark.within if watermark else []) -%}
        {%- do asked.update({name: spec.raw_columns[name]}) -%}
    {%- endfor -%}
    {#- Delta has no ranges for a char, and a raw column that was added later can be one -#}
    {%- set others = {} -%}
    {%- for name, data_type in spec.raw_columns.items() if not (data_type | lower).startswith('char(') -%}
        {%- do others.update({name: data_type}) -%}
    {%- endfor -%}
    {{ return(spark_cdc._statistics(run, asked, others)) }}
{%- endmacro -%}

{#- Stops if a text column that partitions the model has '' in `relation`. On parquet and Delta Spark stores NULL in its
    place, and a later run would not find the row again. If `made_of` is given, the relation holds the stored result of that
    select. -#}
{%- macro _check_partitions(run, relation, made_of=none) -%}
    {%- set given = config.get('partition_by') or [] -%}
    {%- set partitioned_by = [given] if given is string else given -%}
    {%- set may_be_stored_so = partitioned_by and run.file_format != 'iceberg' and run.call.builds != 'quarantine' -%}
    {%- for name, data_type in (spark_cdc._described(relation) if may_be_stored_so else {}).items()
        if name | lower in partitioned_by | map('lower') and modules.re.match('(string|char|varchar)\\b', data_type | lower) -%}
        {#- a truncate has no key -#}
        {%- set column = ' where ' ~ ("cdc_operation <> 'truncate' and " if run.call.builds == 'events' else '') ~ spark_cdc._quote(name) -%}
        {%- set found = ['select 1 from ' ~ relation ~ column ~ (' is null' if made_of else " = ''") ~ ' limit 1'] -%}
        {%- set about = run.call.spec or run.call.table -%}
        {%- if made_of and (name not in about.key or about.null_keys) -%}
            {%- do found.append('select 1 from (' ~ made_of ~ ') as made_of' ~ column ~ " = '' limit 1") -%}
        {%- endif -%}
        {%- if run_query(found[0]) | length > 0 and run_query(found[-1]) | length > 0 -%}
            {{ spark_cdc._stop(
                'cdc_incremental', this ~ " is partitioned by the column " ~ name ~ ", which has '' in it",
                "a text column in which no row has '' (on parquet and Delta Spark stores NULL in its place); or Iceberg",
                "config(materialized='cdc_incremental', file_format='iceberg', partition_by=['" ~ name ~ "'])"
            ) }}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Builds the model from `sql`. -#}
{%- macro _store_all(run, sql, properties) -%}
    {%- set sql = spark_cdc._as_contracted(sql) -%}
    {%- set properties = spark_cdc._all_properties(run, properties) -%}
    {%- do spark_cdc._check_lock(run) -%}
    {%- if run.file_format == 'parquet' -%}
        {%- do spark_cdc._store_version(run, sql, properties, is_all=true) -%}
    {%- else -%}
        {%- do spark_cdc._forget_columns(run) -%}
        {#- until this is checked, the table counts as one that the next run builds again -#}
        {%- set is_checked = config.get('partition_by') and run.file_format == 'delta' -%}
        {%- do properties.update({'spark_cdc.definition': ''} if is_checked else {}) -%}
        {%- call statement('main') -%}
            {{ spark_cdc._create_as(run, run.target, sql, properties, is_model=true) }}
        {%- endcall -%}
        {%- do run.properties.update(properties) -%}
        {%- if is_checked -%}
            {%- do spark_cdc._check_partitions(run, run.target, sql) -%}
            {%- do spark_cdc._check_lock(run) -%}
            {%- do spark_cdc._store_properties(run, {'spark_cdc.definition': run.fingerprint}) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}

{#- Iceberg keeps the properties of a replaced table. It then rejects every change of properties if one of them names a
    column that no longer exists. -#}
{%- macro _forget_columns(run) -%}
    {%- set names = [] -%}
    {%- for name in run.properties if name.startswith('write.metadata.metrics.column.') -%}
        {%- do names.append(spark_cdc._literal(name)) -%}
    {%- endfor -%}
    {%- if names -%}
        {%- do run_query('alter table ' ~ run.target ~ ' unset tblproperties (' ~ names | join(', ') ~ ')') -%}
    {%- endif -%}
{%- endmacro -%}

{#- Changes the model by `increment`, a table of rows. They replace the rows with the same `identity`; with cdc_is_removed
    they only remove them. Without `is_unique` several rows may have one identity: all of them are removed, then the others
    are added. `changed` are the properties to change, or none. `prune` is a condition that holds for all rows of the model
    that the increment can replace. -#}
{%- macro _store_increment(run, increment, identity, changed, prune=none, is_unique=true) -%}
    {%- set properties = spark_cdc._all_properties(run, changed) -%}
    {%- set names, same, values = [], [], [] -%}
    {%- for column in spark_cdc._described(run.target) -%}
        {%- set name = spark_cdc._quote(column) -%}
        {%- do names.append(name) -%}
        {%- do values.append('stored.' ~ name ~ ' = increment.' ~ name) -%}
    {%- endfor -%}
    {%- for name in identity -%}
        {%- do same.append('stored.' ~ spark_cdc._quote(name) ~ ' <=> increment.' ~ spark_cdc._quote(name)) -%}
    {%- endfor -%}
    {%- set columns = names | join(', ') -%}
    {%- set is_any = run_query('select 1 from ' ~ increment ~ ' limit 1') | length > 0 -%}
    {%- do spark_cdc._check_partitions(run, increment) -%}
    {%- do spark_cdc._check_lock(run, run.target if is_any else none) -%}
    {%- if not is_any -%}
        {%- call noop_statement('main', 'nothing changes') -%}{%- endcall -%}
    {%- elif run.file_format == 'parquet' -%}
        {%- set stored = this.incorporate(path={'identifier': run.properties['spark_cdc.stored_in']}) -%}
        {%- set sql -%}
select {{ columns }} from {{ stored }} as stored
left anti join {{ increment }} as increment
    on {{ same | join(' and ') }}
union all
select {{ columns }} from {{ increment }}
where not cdc_is_removed
        {%- endset -%}
        {%- do spark_cdc._store_version(run, sql, properties) -%}
    {%- else -%}
        {%- if run.file_format == 'delta' and run.call.builds == 'events' -%}
            {%- do spark_cdc._allow_deletion_vectors(run, increment) -%}
        {%- elif run.call.builds == 'current_state' -%}
            {%- do spark_cdc._store_properties(run, {'spark_cdc.begun': run.batch}) -%}
        {%- endif -%}
        {%- call statement('main') -%}
merge into {{ run.target }} as stored
using {{ increment }} as increment
    on {{ same | join(' and ') }}{{ ' and ' ~ prune if prune }}{{ ' and increment.cdc_is_removed' if not is_unique }}
when matched and increment.cdc_is_removed then delete
            {%- if is_unique %}
when matched then update set {{ values | join(', ') }}
            {%- endif %}
when not matched and not increment.cdc_is_removed
    then insert ({{ columns }}) values (increment.{{ names | join(', increment.') }})
        {%- endcall -%}
    {%- endif -%}
    {%- set outdated = [] -%}
    {%- for name, value in (changed or {}).items() if run.properties.get(name) != value -%}
        {%- do outdated.append(name) -%}
    {%- endfor -%}
    {%- if outdated -%}
        {%- do spark_cdc._store_properties(run, changed) -%}
    {%- endif -%}
{%- endmacro -%}

{#- On Delta a model of change events gets deletion vectors with the first run that replaces an event. If a table can have
    them, Delta lists all its files to plan a read, again for each step. -#}
{%- macro _allow_deletion_vectors(run, increment) -%}
    {%- set name = 'delta.enableDeletionVectors' -%}
    {%- if run.properties.get(name) != 'true' and name not in (config.get('tblproperties') or {})
        and run_query('select 1 from ' ~ increment ~ ' where cdc_old is not null limit 1') | length > 0 -%}
        {%- do spark_cdc._store_properties(run, {name: 'true'}) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The properties that every run writes, with `properties` in addition. -#}
{%- macro _all_properties(run, properties) -%}
    {%- set all_properties = {
        'spark_cdc.file_format': run.file_format,
        'spark_cdc.definition': run.fingerprint,
        'spark_cdc.generation': run.properties.get('spark_cdc.generation', run.batch),
        'spark_cdc.raw': run.properties.get('spark_cdc.raw', ''),
        'spark_cdc.raw_added_to': run.properties.get('spark_cdc.raw_added_to', 0),
        'spark_cdc.raw_is_partial': run.properties.get('spark_cdc.raw_is_partial', ''),
        'spark_cdc.state': run.properties.get('spark_cdc.state', ''),
        'spark_cdc.kept_by': run.get('kept_by', ''),
        'spark_cdc.answers': run.properties.get('spark_cdc.answers', ''),
        'spark_cdc.as_of': run.properties.get('spark_cdc.as_of', ''),
    } -%}
    {%- do all_properties.update(run.get('watermark') or {}) -%}
    {%- do all_properties.update(properties or {}) -%}
    {{ return(all_properties) }}
{%- endmacro -%}

{#- On parquet: creates the next table, then the view over it. -#}
{%- macro _store_version(run, sql, properties, is_all=false) -%}
    {%- set version = spark_cdc._side_table(run.suffix) -%}
    {%- call statement('main') -%}
        {{ spark_cdc._create_as(run, version, sql, is_model=true) }}
    {%- endcall -%}
    {%- if is_all -%}{%- do spark_cdc._check_partitions(run, version, sql) -%}{%- endif -%}
    {%- do properties.update({'spark_cdc.stored_in': version.identifier}) -%}
    {%- if run.properties.get('spark_cdc.stored_in') -%}
        {%- do properties.update({'spark_cdc.stored_in_before': run.properties['spark_cdc.stored_in']}) -%}
    {%- endif -%}
    {%- do spark_cdc._check_lock(run) -%}
    {%- set columns = [] -%}
    {%- for name in spark_cdc._described(version) -%}
        {%- set described = {} -%}
        {%- for known in model.columns.values() if config.persist_column_docs() and known.name | lower == name | lower -%}
            {%- do described.update({'as': known.description}) -%}
        {%- endfor -%}
        {%- do columns.append(
            spark_cdc._quote(name) ~ (' comment ' ~ spark_cdc._literal(described['as']) if described.get('as') else '')
        ) -%}
    {%- endfor -%}
    {%- call statement('view') -%}
create or replace view {{ run.target }} ({{ columns | join(', ') }})
{{ comment_clause() }}
tblproperties ({{ spark_cdc._property_list(properties) }})
as select * from {{ version }}
    {%- endcall -%}
    {%- do run.properties.update(properties) -%}
{%- endmacro -%}

{#- Writes properties without writing rows. -#}
{%- macro _store_properties(run, properties) -%}
    {%- call statement('properties') -%}
alter {{ 'view' if run.file_format == 'parquet' else 'table' }} {{ run.target }} set tblproperties ({{ spark_cdc._property_list(properties) }})
    {%- endcall -%}
    {%- do run.properties.update(properties) -%}
{%- endmacro -%}

{#- The select with the columns of the model's contract, which it is checked against; without a contract, the select
    itself. -#}
{%- macro _as_contracted(sql) -%}
    {%- if config.get('contract').enforced -%}
        {{ get_assert_columns_equivalent(sql) }}
        {{ return(get_select_subquery(sql)) }}
    {%- endif -%}
    {{ return(sql) }}
{%- endmacro -%}


{#- Checks a model whose columns changed, before it is built again from all stored rows. New columns and wider types are
    accepted. A missing column or another type stops. -#}
{%- macro _check_columns(run, sql) -%}
    {%- set now = {} -%}
    {%- for column in run_query('describe query ' ~ sql) -%}
        {%- do now.update({column.col_name | lower: column.data_type}) -%}
    {%- endfor -%}
    {%- set lost = [] -%}
    {%- for name, data_type in spark_cdc._described(run.target).items() if not name.startswith('cdc_') -%}
        {%- set type_now = now.get(name | lower) -%}
        {%- if type_now is none -%}
            {%- do lost.append(name ~ ', which its model no longer has') -%}
        {%- elif not spark_cdc._is_wider(
            spark_cdc._type_as_stored(type_now, run.file_format), spark_cdc._type_as_stored(data_type, run.file_format)
        ) -%}
            {%- do lost.append(name ~ ' of type ' ~ data_type ~ ', which is now ' ~ type_now) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if lost -%}
        {{ spark_cdc._stop(
            'cdc_incremental',
            this ~ ' has the column ' ~ lost | join('; and '),
            'new columns and wider types; or --full-refresh, which builds the table again with its present columns',
            'dbt run --full-refresh --select ' ~ model.name
        ) }}
    {%- endif -%}
{%- endmacro -%}


{#- A type as the model's table has it, for comparison. In a table Spark shows string for the char and varchar of a select.
    Iceberg has no collations and no integer smaller than int. -#}
{%- macro _type_as_stored(data_type, file_format) -%}
    {%- set stored = modules.re.sub('\\b(var)?char\\(\\d+\\)', 'string', data_type | lower) -%}
    {%- if file_format == 'iceberg' -%}
        {%- set stored = modules.re.sub(' collate \\w+', '', modules.re.sub('\\b(tiny|small)int\\b', 'int', stored)) -%}
    {%- endif -%}
    {{ return(stored | replace(' ', '')) }}
{%- endmacro -%}


{#- The difference between two selects of rows. Both have the same `columns`, a dict of name -> type, and one row for each
    `identity`. The result has the rows of `made` that are missing in `existing` or differ there. It also has, as
    cdc_is_removed, the rows that only `existing` has, if they meet `goes`, a condition on `existing`. With `keep_old`,
    cdc_old is the row of `existing`. -#}
{%- macro _difference(existing, made, identity, columns, goes='true', keep_old=false) -%}
    {%- set same = [] -%}
    {%- for name in identity -%}
        {%- do same.append('existing.' ~ spark_cdc._quote(name) ~ ' <=> made.' ~ spark_cdc._quote(name)) -%}
    {%- endfor -%}
with existing as (
    select
        *,
        {{ spark_cdc._struct(columns) | indent(8) }} as cdc_row
    from (
        {{ existing | indent(8) }}
    ) as existing
),

made as (
    select
        *,
        {{ spark_cdc._struct(columns) | indent(8) }} as cdc_row
    from (
        {{ made | indent(8) }}
    ) as made
),

differing_rows as (
    select
        made.cdc_row is null as cdc_is_removed,
        existing.cdc_row as cdc_old,
        coalesce(made.cdc_row, existing.cdc_row) as cdc_row
    from existing
    full outer join made
        on {{ same | join(' and ') }}
    where
        not (
            {{ spark_cdc._is_same_row('existing.cdc_row', 'made.cdc_row', columns) | indent(12) }}
        )
        and (made.cdc_row is not null or {{ goes }})
)

select
    cdc_is_removed,
    {{ 'cdc_old,' if keep_old }}
    cdc_row.*
from differing_rows
{%- endmacro -%}
