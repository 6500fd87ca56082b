{#- The state of a run of an incremental model: how a run begins and ends, and which tables belong to the model. -#}

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
    {%- if call.builds in ('events', 'quarantine', 'raw_log') or spark_cdc._left_over(run) -%}
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
