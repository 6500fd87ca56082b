{#- Models on Iceberg. formats.sql says what each macro is for. -#}

{%- macro _iceberg_facts() -%}
    {{ return({
        'kind': 'table',
        'create': 'create or replace table',
        'splits_history': true,
        'has_ranges': true,
        'keeps_empty_text': true,
        'keeps_char': true,
        'places_columns': true,
    }) }}
{%- endmacro -%}

{#- Stops for columns with a collation. -#}
{%- macro _iceberg_check(call) -%}
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
{%- endmacro -%}

{%- macro _iceberg_replaces(existing) -%}
    {{ return(existing.is_iceberg) }}
{%- endmacro -%}

{%- macro _iceberg_begin(run) -%}{%- endmacro -%}

{#- With these a changed row is marked in a small file of its own, and its data file stays. -#}
{%- macro _iceberg_table_properties(run, is_model, is_split) -%}
    {%- set properties = {
        'format-version': '3', 'write.merge.mode': 'merge-on-read', 'write.delete.mode': 'merge-on-read',
        'write.update.mode': 'merge-on-read',
    } -%}
    {#- each task may write into both partitions: otherwise Spark shuffles all rows by partition -#}
    {%- if is_split -%}
        {%- do properties.update({'write.distribution-mode': 'none', 'write.spark.fanout.enabled': 'true'}) -%}
    {%- endif -%}
    {{ return(properties) }}
{%- endmacro -%}

{#- Iceberg writes zstd by itself. -#}
{%- macro _iceberg_options(given) -%}
    {{ return(given) }}
{%- endmacro -%}

{#- By default there are ranges of the first 100 columns, where fields of structs count. -#}
{%- macro _iceberg_statistics(asked, others) -%}
    {%- set properties = {} -%}
    {%- for name in asked -%}
        {%- do properties.update({'write.metadata.metrics.column.' ~ name: 'full'}) -%}
    {%- endfor -%}
    {{ return(properties) }}
{%- endmacro -%}

{#- Iceberg has no collations and no integer smaller than int. -#}
{%- macro _iceberg_type_as_stored(data_type) -%}
    {{ return(modules.re.sub(' collate \\w+', '', modules.re.sub('\\b(tiny|small)int\\b', 'int', data_type))) }}
{%- endmacro -%}

{%- macro _iceberg_type_as_kept(data_type) -%}
    {%- set type_there = data_type | lower -%}
    {%- if type_there.startswith(('char(', 'string')) -%}
        {{ return('string') }}
    {%- elif type_there in ('tinyint', 'smallint') -%}
        {{ return('int') }}
    {%- endif -%}
    {{ return(data_type) }}
{%- endmacro -%}

{%- macro _iceberg_version(relation) -%}
    {%- set current = run_query('select snapshot_id from ' ~ relation ~ ".refs where name = 'main'") -%}
    {{ return(current.rows[0][0] if current.rows else none) }}
{%- endmacro -%}

{#- Goes back from the current snapshot, past snapshots that only compact files. -#}
{%- macro _iceberg_was_written(relation, version) -%}
    {%- set walk = namespace(at=spark_cdc._iceberg_version(relation)) -%}
    {%- set snapshots = 'select snapshot_id, parent_id, operation from ' ~ relation ~ '.snapshots order by committed_at desc' -%}
    {%- for row in (run_query(snapshots) if walk.at != version else []) -%}
        {%- if walk.at != version and walk.at == row['snapshot_id'] and row['operation'] == 'replace' -%}
            {%- set walk.at = row['parent_id'] -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(walk.at != version) }}
{%- endmacro -%}

{%- macro _iceberg_store_all(run, sql, properties) -%}
    {%- do spark_cdc._forget_columns(run) -%}
    {%- do spark_cdc._replace_table(run, sql, properties) -%}
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

{%- macro _iceberg_store_increment(run, increment, names, same, changed, prune) -%}
    {%- do spark_cdc._merge(run, increment, names, same, prune) -%}
{%- endmacro -%}

{%- macro _iceberg_append_raw_rows(run, names, new_rows) -%}
    {%- do spark_cdc._insert_raw_rows(run, names, new_rows) -%}
{%- endmacro -%}

{%- macro _iceberg_append_to_log(run, names, new_rows, properties) -%}
    {%- do spark_cdc._insert_into_log(run, names, new_rows, properties) -%}
{%- endmacro -%}

{%- macro _iceberg_follow_columns(run) -%}{%- endmacro -%}
