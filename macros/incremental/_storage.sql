{#- How an incremental model is stored, and how a run replaces the result of the run before it.

    A model on Iceberg or Delta is a table of that format; a run changes it in one commit. On parquet it is a view over the
    table <model>__cdc_<run>. A run writes a new table and then replaces the view, which is one step in the metastore. What
    the next run has to know is stored in the properties of the model, and written in that same step. -#}

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
        {%- set changes = is_model and run.call.builds not in ('events', 'raw_log') -%}
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
    {#- a raw log has the columns of its relation in their order, which some decoders read by; Spark moves those of a partition -#}
    {%- set names = run.call.spec.raw_columns.keys() | list + ['cdc_batch'] if run.call.builds == 'raw_log' else none -%}
    {%- do spark_cdc._check_lock(run) -%}
    {%- do spark_cdc._replace_view(run, version, properties, names) -%}
{%- endmacro -%}

{#- On parquet: creates the view over a table. `names` are the columns, if not all in the order of the table. -#}
{%- macro _replace_view(run, version, properties, names=none) -%}
    {%- set columns = [] -%}
    {%- for name in names or spark_cdc._described(version) -%}
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
as select {{ spark_cdc._column_list(names) if names else '*' }} from {{ version }}
    {%- endcall -%}
    {%- do run.properties.update(properties) -%}
{%- endmacro -%}
