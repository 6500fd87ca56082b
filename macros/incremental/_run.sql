{#- The state of a run of an incremental model: how a run begins and ends, and which tables belong to the model. -#}

{#- The state of a run: a dict. -#}
{%- macro _begin_run(call) -%}
    {%- set file_format = spark_cdc._file_format() -%}
    {%- do spark_cdc._of_format(file_format, 'check')(call) -%}
    {%- set found = spark_cdc._existing() -%}
    {%- set existing, properties = found.relation, found.properties -%}
    {%- set stored_format = properties.get('spark_cdc.file_format', file_format) -%}
    {%- if stored_format != file_format and not should_full_refresh() -%}
        {{ spark_cdc._stop(
            'cdc_incremental', this ~ ' is stored as ' ~ stored_format ~ ', and file_format is ' ~ file_format,
            'the same file_format; or --full-refresh, which builds the model again from the rows that the raw relation has now',
            'dbt run --full-refresh --select ' ~ model.name
        ) }}
    {%- endif -%}
    {%- set is_ours = properties.get('spark_cdc.file_format') == file_format -%}
    {%- set format = spark_cdc._of_format(file_format, 'facts')() -%}
    {%- set batch = modules.datetime.datetime.now(modules.pytz.utc).strftime('%Y-%m-%dT%H:%M:%S.%fZ') -%}
    {%- set run = {
        'call': call,
        'file_format': file_format,
        'format': format,
        'target': this.incorporate(type=format.kind),
        'existing': existing,
        'properties': dict(properties) if is_ours else {},
        'properties_before': properties if is_ours else {},
        'is_full': should_full_refresh() or not is_ours,
        'batch': batch,
        'suffix': modules.re.sub('[^0-9]', '', batch),
        'fingerprint': local_md5(tojson(call.fingerprint_of)),
        'versions': {},
    } -%}
    {%- if is_ours -%}
        {%- do spark_cdc._of_format(file_format, 'begin')(run) -%}
    {%- elif existing is not none and not spark_cdc._of_format(file_format, 'replaces')(existing) -%}
        {%- do adapter.drop_relation(existing) -%}
        {#- a catalog may show a view that it did not create only as a table -#}
        {%- if spark_cdc._is_there(existing) -%}{%- do run_query('drop table ' ~ existing) -%}{%- endif -%}
    {%- endif -%}
    {%- if spark_cdc._left_over(run, spark_cdc._tables_at_begin()) or not spark_cdc._may_find_nothing(run) -%}
        {%- do spark_cdc._lock(run) -%}
    {%- endif -%}
    {{ return(run) }}
{%- endmacro -%}

{#- Whether this run may find out without the lock that it has nothing to do. -#}
{%- macro _may_find_nothing(run) -%}
    {%- if run.call.builds == 'raw_log' -%}
        {{ return(not run.is_full and not run.properties.get('spark_cdc.raw_is_partial')) }}
    {%- endif -%}
    {{ return(run.call.builds != 'events' or (not run.is_full and run.properties.get('spark_cdc.read'))) }}
{%- endmacro -%}

{#- The model as the run before left it: its `relation`, or none, and its `properties`. For a model of this package dbt's own list of
    relations is not asked, since it is read as a whole for each question. That list is empty if a table was dropped while Spark
    listed it, and it lacks schemas in another catalog. -#}
{%- macro _existing() -%}
    {%- if this.identifier | lower in spark_cdc._tables_at_begin() -%}
        {%- set properties = spark_cdc._properties(this) -%}
        {%- set stored_format = properties.get('spark_cdc.file_format') -%}
        {%- if stored_format in spark_cdc._table_formats() -%}
            {%- set kind = spark_cdc._of_format(stored_format, 'facts')().kind -%}
            {%- if kind == 'table' -%}{%- do run_query('refresh table ' ~ this) -%}{%- endif -%}
            {{ return({
                'relation': this.incorporate(type=kind), 'properties': spark_cdc._properties(this) if kind == 'table' else properties
            }) }}
        {%- endif -%}
    {%- endif -%}
    {%- set existing = load_relation(this) -%}
    {%- if existing is not none and not existing.is_view -%}{%- do run_query('refresh table ' ~ existing) -%}{%- endif -%}
    {%- if existing is none and spark_cdc._is_there(this) -%}{%- set existing = this.incorporate(type='table') -%}{%- endif -%}
    {{ return({'relation': existing, 'properties': spark_cdc._properties(existing) if existing is not none else {}}) }}
{%- endmacro -%}

{#- Releases the lock, and drops tables that the properties no longer name. Tells the models downstream that nothing changed. -#}
{%- macro _end_run(run) -%}
    {%- if run.lock is not defined -%}{%- do spark_cdc._note_unchanged(run) -%}{%- endif -%}
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
    {#- a view is replaced together with the property; rows of a table may be of a later run, which was killed -#}
    {%- set is_view, last_run = run.format.kind == 'view', run.properties.get('spark_cdc.last_run', '') -%}
    {%- set later, relations = [last_run] if is_view and last_run >= run.batch else [], [] if is_view else [run.target] -%}
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
    {{ return(spark_cdc._tables_like(relation.identifier, relation) | length > 0) }}
{%- endmacro -%}

{#- The names of the tables and views in the schema of a relation that match a pattern, without temporary views. -#}
{%- macro _tables_like(pattern, relation=none) -%}
    {%- set names = [] -%}
    {%- for row in run_query('show tables in ' ~ (relation or this).without_identifier() ~ " like '" ~ pattern ~ "'") if row[0] -%}
        {%- do names.append(row[1]) -%}
    {%- endfor -%}
    {{ return(names) }}
{%- endmacro -%}

{#- Drops a table and its files. Without `purge` some catalogs leave the files. -#}
{%- macro _drop(relation) -%}
    {%- do run_query('drop table if exists ' ~ relation ~ ' purge') -%}
{%- endmacro -%}
