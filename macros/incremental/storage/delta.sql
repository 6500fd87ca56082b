{#- Models on Delta. formats.sql says what each macro is for. -#}

{%- macro _delta_facts() -%}
    {{ return({
        'kind': 'table',
        'create': 'create or replace table',
        'splits_history': true,
        'has_ranges': true,
        'keeps_empty_text': false,
        'keeps_char': false,
        'places_columns': true,
    }) }}
{%- endmacro -%}

{%- macro _delta_check(call) -%}{%- endmacro -%}

{%- macro _delta_replaces(existing) -%}
    {{ return(existing.is_delta) }}
{%- endmacro -%}

{%- macro _delta_begin(run) -%}{%- endmacro -%}

{#- Without deletion vectors a changed row makes Delta write its data file again. `_allow_deletion_vectors` says why a model of
    change events begins without them. -#}
{%- macro _delta_table_properties(run, is_model, is_split) -%}
    {%- set changes = is_model and run.call.builds not in ('events', 'raw_log') -%}
    {{ return({'delta.enableDeletionVectors': changes | string | lower, 'delta.columnMapping.mode': 'name'}) }}
{%- endmacro -%}

{#- Delta writes as the session says, in spark.sql.parquet.compression.codec; a table has no say in it. -#}
{%- macro _delta_options(given) -%}
    {{ return(given) }}
{%- endmacro -%}

{#- By default there are ranges of the first 32 columns, where fields of structs count. With this property there are ranges of
    the columns that it names, here 32 unless more are asked for. Columns that partition the table cannot be among them, nor
    can columns of other types. -#}
{%- macro _delta_statistics(asked, others) -%}
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
    {{ return({'delta.dataSkippingStatsColumns': spark_cdc._column_list(names[:[32, asked | length] | max])}) }}
{%- endmacro -%}

{%- macro _delta_type_as_stored(data_type) -%}
    {{ return(data_type) }}
{%- endmacro -%}

{%- macro _delta_type_as_kept(data_type) -%}
    {{ return(data_type) }}
{%- endmacro -%}

{%- macro _delta_version(relation) -%}
    {{ return(run_query('describe history ' ~ relation.quote(identifier=true) ~ ' limit 1').rows[0]['version']) }}
{%- endmacro -%}

{%- macro _delta_was_written(relation, version) -%}
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

{#- Until the partitions are checked, the table counts as one that the next run builds again. -#}
{%- macro _delta_store_all(run, sql, properties) -%}
    {%- set is_checked = config.get('partition_by') -%}
    {%- do properties.update({'spark_cdc.definition': ''} if is_checked else {}) -%}
    {%- do spark_cdc._replace_table(run, sql, properties) -%}
    {%- if is_checked -%}
        {%- do spark_cdc._check_partitions(run, run.target, sql) -%}
        {%- do spark_cdc._check_lock(run) -%}
        {%- do spark_cdc._store_properties(run, {'spark_cdc.definition': run.fingerprint}) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro _delta_store_increment(run, increment, names, same, changed, prune) -%}
    {%- if run.call.builds == 'events' -%}
        {%- do spark_cdc._allow_deletion_vectors(run) -%}
    {%- endif -%}
    {%- do spark_cdc._merge(run, increment, names, same, prune) -%}
{%- endmacro -%}

{#- A model of change events gets deletion vectors with the first run that replaces an event. If a table can have them, Delta
    lists all its files to plan a read, again for each step. -#}
{%- macro _allow_deletion_vectors(run) -%}
    {%- set name = 'delta.enableDeletionVectors' -%}
    {%- if run.properties.get(name) != 'true' and name not in (config.get('tblproperties') or {}) and run.found.retracted -%}
        {%- do spark_cdc._store_properties(run, {name: 'true'}) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro _delta_append_raw_rows(run, names, new_rows) -%}
    {%- do spark_cdc._insert_raw_rows(run, names, new_rows) -%}
{%- endmacro -%}

{%- macro _delta_append_to_log(run, names, new_rows, properties) -%}
    {%- do spark_cdc._insert_into_log(run, names, new_rows, properties) -%}
{%- endmacro -%}

{%- macro _delta_follow_columns(run) -%}{%- endmacro -%}
