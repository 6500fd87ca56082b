{#- Models on parquet. formats.sql says what each macro is for.

    A model is a view over the table <model>__cdc_<run>. A run writes a new table and then replaces the view, which is one step
    in the metastore. Raw rows, and those of a raw log, are appended. Each append leaves small files, and after a hundred of
    them all rows are written into another table. -#}

{%- macro _parquet_facts() -%}
    {{ return({
        'kind': 'view',
        'create': 'create table',
        'splits_history': false,
        'has_ranges': false,
        'keeps_empty_text': false,
        'keeps_char': true,
        'places_columns': false,
    }) }}
{%- endmacro -%}

{%- macro _parquet_check(call) -%}
    {%- if config.get('location_root') is not none -%}
        {{ spark_cdc._stop(
            'cdc_incremental', 'location_root is ' ~ config.get('location_root') ~ ', and file_format is parquet',
            'location_root on iceberg and delta; on parquet a schema with a location: each run creates a table and drops one,'
            ~ ' and Spark does not delete the files of a dropped table that has a location of its own', "create schema lake location 's3a://lake/…'"
        ) }}
    {%- endif -%}
{%- endmacro -%}

{%- macro _parquet_replaces(existing) -%}
    {{ return(false) }}
{%- endmacro -%}

{#- A view that was created before Spark had Iceberg's catalog is created again in that catalog, with the same SQL and
    properties. The catalog can neither replace nor drop such a view, except as a table. -#}
{%- macro _parquet_begin(run) -%}
    {%- set found = spark_cdc._found_by_command() -%}
    {%- if not found.catalog -%}
        {%- do found.update({'catalog': run_query('set spark.sql.catalog.spark_catalog').rows[0][1]}) -%}
    {%- endif -%}
    {%- if 'iceberg' in found.catalog and 'table_type' not in run.properties_before -%}
        {%- set ours = spark_cdc._own(run.properties) -%}
        {%- do run_query('drop table ' ~ run.target) -%}
        {%- do run_query(
            'create view ' ~ run.target ~ ' tblproperties (' ~ spark_cdc._property_list(ours) ~ ') as\nselect * from '
            ~ this.incorporate(path={'identifier': ours['spark_cdc.stored_in']})
        ) -%}
        {%- if ours.get('spark_cdc.quarantine') -%}
            {%- do spark_cdc._drop(spark_cdc._side_table('quarantine')) -%}
            {%- do spark_cdc._show_quarantine(run) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro _parquet_table_properties(run, is_model, is_split) -%}
    {{ return({}) }}
{%- endmacro -%}

{#- docs/performance.md has what was measured. Few columns of change data repeat their values, so dictionaries cost more than
    they save; zstd finds the repetitions. -#}
{%- macro _parquet_options(given) -%}
    {%- set options, names = {}, given.keys() | map('lower') | list -%}
    {%- if 'compression' not in names and 'parquet.compression' not in names -%}{%- do options.update({'compression': 'zstd'}) -%}{%- endif -%}
    {%- if 'parquet.enable.dictionary' not in names -%}{%- do options.update({'parquet.enable.dictionary': 'false'}) -%}{%- endif -%}
    {{ return(dict(options, **given)) }}
{%- endmacro -%}

{%- macro _parquet_statistics(asked, others) -%}
    {{ return({}) }}
{%- endmacro -%}

{%- macro _parquet_type_as_stored(data_type) -%}
    {{ return(data_type) }}
{%- endmacro -%}

{%- macro _parquet_type_as_kept(data_type) -%}
    {{ return(data_type) }}
{%- endmacro -%}

{#- A run replaces the model as a whole, and the number of stored raw rows never falls: it is their version. -#}
{%- macro _parquet_version(relation) -%}
    {{ return(run_query('select count(*) from ' ~ relation).rows[0][0]) }}
{%- endmacro -%}

{%- macro _parquet_was_written(relation, version) -%}
    {{ return(spark_cdc._parquet_version(relation) != version) }}
{%- endmacro -%}

{%- macro _parquet_store_all(run, sql, properties) -%}
    {%- do spark_cdc._store_version(run, sql, properties, is_all=true) -%}
{%- endmacro -%}

{%- macro _parquet_store_increment(run, increment, names, same, changed, prune) -%}
    {%- set columns = names | join(', ') -%}
    {%- set stored = this.incorporate(path={'identifier': run.properties['spark_cdc.stored_in']}) -%}
    {%- set sql -%}
select {{ columns }} from {{ stored }} as stored
left anti join {{ increment }} as increment
    on {{ same }}
union all
select {{ columns }} from {{ increment }}
where not cdc_is_removed
    {%- endset -%}
    {%- do spark_cdc._store_version(run, sql, spark_cdc._all_properties(run, changed)) -%}
{%- endmacro -%}

{#- Creates the next table, then the view over it. -#}
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
    {%- set names = spark_cdc._columns_of_log(run.call.spec) + ['cdc_batch'] if run.call.builds == 'raw_log'
        else none if is_all else spark_cdc._columns_of_target(run) | list -%}
    {%- do spark_cdc._check_lock(run) -%}
    {%- do spark_cdc._replace_view(run, version, properties, names) -%}
{%- endmacro -%}

{#- Creates the view over a table. `names` are the columns, if not all in the order of the table. -#}
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

{#- The number of appends before all rows are written again. The variable is for tests and not public. -#}
{%- macro _additions_before_rewrite() -%}
    {{ return(var('spark_cdc_internal_additions_before_rewrite', 100)) }}
{%- endmacro -%}

{%- macro _parquet_append_raw_rows(run, names, new_rows) -%}
    {%- set times = run.properties.get('spark_cdc.raw_added_to', '0') | int -%}
    {%- if times < spark_cdc._additions_before_rewrite() -%}
        {%- do spark_cdc._store_properties(run, {'spark_cdc.raw_is_partial': 'true'}) -%}
        {%- do spark_cdc._insert_raw_rows(run, names, new_rows) -%}
        {%- do spark_cdc._store_properties(run, {'spark_cdc.raw_added_to': times + 1, 'spark_cdc.raw_is_partial': ''}) -%}
    {%- else -%}
        {%- do run.update({'raw': spark_cdc._side_table('raw_' ~ run.suffix)}) -%}
        {%- do run_query(spark_cdc._create_as(
            run, run.raw,
            'select ' ~ names ~ ' from ' ~ this.incorporate(path={'identifier': run.properties['spark_cdc.raw']})
            ~ '\nunion all\n' ~ new_rows
        )) -%}
        {%- do spark_cdc._check_lock(run) -%}
        {%- do spark_cdc._store_properties(run, {
            'spark_cdc.raw': run.raw.identifier, 'spark_cdc.raw_added_to': 0, 'spark_cdc.raw_is_partial': ''
        }) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro _parquet_append_to_log(run, names, new_rows, properties) -%}
    {%- set times = run.properties.get('spark_cdc.raw_added_to') or '0' -%}
    {%- if times | int < spark_cdc._additions_before_rewrite() -%}
        {%- do spark_cdc._insert_into_log(run, names, new_rows, properties) -%}
    {%- else -%}
        {%- do spark_cdc._store_version(
            run, 'select ' ~ names ~ ' from ' ~ run.raw ~ '\nunion all\n' ~ new_rows,
            spark_cdc._all_properties(run, dict(properties, **{'spark_cdc.raw_added_to': 0}))
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#- A new column is at the end of the table; the view shows it at its place. -#}
{%- macro _parquet_follow_columns(run) -%}
    {%- set names = spark_cdc._columns_of_log(run.call.spec) + ['cdc_batch'] -%}
    {%- if spark_cdc._described(run.target).keys() | list != names -%}
        {%- do spark_cdc._check_lock(run) -%}
        {%- do spark_cdc._replace_view(run, run.raw, spark_cdc._own(run.properties), names) -%}
    {%- endif -%}
{%- endmacro -%}
