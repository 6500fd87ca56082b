{#- How a decoder reads raw logs. It keeps no raw rows: its property spark_cdc.read says up to which batch it has read each log.
    The rows of later batches are new. -#}

{#- The raw logs of a run, by the names of the decoder's inputs ('' is its relation), and what is new in each. Empty if one of
    the relations is no raw log: then the model keeps the rows of all of them. -#}
{%- macro _logs_of(run) -%}
    {%- set logs, before = {}, {} -%}
    {%- if run.properties.get('spark_cdc.read') and not run.is_full -%}{%- do before.update(fromjson(run.properties['spark_cdc.read'])) -%}{%- endif -%}
    {%- for name, relation in dict({'': run.call.spec.relation}, **run.call.spec.inputs).items() -%}
        {%- set log, types, texts = spark_cdc._raw_log_of(relation), [], [] -%}
        {%- if log is none -%}
            {{ return({}) }}
        {%- endif -%}
        {%- set columns = {'cdc_batch': 'string'} if log.is_stored and not log.views else spark_cdc.columns_of(relation) -%}
        {%- for column, data_type in columns.items() if column | lower == 'cdc_batch' -%}{%- do types.append(data_type) -%}{%- endfor -%}
        {%- for view in log.views -%}
            {%- set text = spark_cdc._view_text(view) -%}
            {%- set below = log.relation if loop.last else log.views[loop.index] -%}
            {#- a view that was made over another log (`--defer`) -#}
            {%- if not spark_cdc._is_view_over(text, below) -%}
                {{ return({}) }}
            {%- endif -%}
            {%- do texts.append(text) -%}
        {%- endfor -%}
        {%- if not types -%}
            {{ return({}) }}
        {%- endif -%}
        {%- do logs.update({name: dict(
            log, type=types[0], columns=columns, texts=texts, is_emptied=relation.limit == 0, before=before.get(name),
            source=api.Relation.create(database=relation.database, schema=relation.schema, identifier=relation.identifier)
        )}) -%}
    {%- endfor -%}
    {%- set is_edited = run.properties.get('spark_cdc.definition') != run.fingerprint -%}
    {%- for name, log in logs.items() -%}{%- do log.update(spark_cdc._news_of_log(log, is_edited)) -%}{%- endfor -%}
    {{ return(logs) }}
{%- endmacro -%}

{#- What is new in a log. `identity` changes if the log was built again, or a view over it has other SQL. `batch` is the last one.
    `is_reread` says whether the last batch that was read has other rows now. For that, a log that is a view has two checksums:
    `rows` of the last batch, and `no_batch` of the rows without one. With `--empty` nothing is new. A model that will read rows,
    such as an edited one, does not rely on what the command noted about the log. -#}
{%- macro _news_of_log(log, is_edited) -%}
    {%- set noted = (spark_cdc._unchanged(log.relation) or {}).get('properties') or {} -%}
    {%- set is_read = not is_edited and log.before and log.before.batch == noted.get('spark_cdc.last_batch') -%}
    {%- set properties = {} if not log.is_stored else noted if is_read else spark_cdc._properties(log.relation) -%}
    {%- if log.is_stored and 'spark_cdc.last_batch' not in properties -%}
        {{ spark_cdc._stop(
            'cdc_incremental', log.relation ~ ' is no raw log that a run of cdc_incremental has written',
            'a raw log that was built before the models that read it', 'dbt run --select ' ~ log.relation.identifier
        ) }}
    {%- endif -%}
    {%- set facts = log.texts + [log.type, properties.get('spark_cdc.generation') or spark_cdc._view_text(log.relation)] -%}
    {%- set before = log.before -%}
    {%- set identity = before.log if log.is_emptied and before else log.relation ~ ' ' ~ local_md5(facts | join('\n')) -%}
    {%- set before = before if before and before.log == identity else none -%}
    {%- set found = {
        'identity': identity, 'generation': properties.get('spark_cdc.generation'), 'is_other': before is none,
        'read': before.batch if before else none, 'is_reread': false, 'rows': '', 'no_batch': '',
    } -%}
    {%- if log.is_emptied -%}
        {{ return(dict(dict(found, batch='' if log.is_stored else none), **(before or {}))) }}
    {%- endif -%}
    {#- after the properties: files up to the last batch are there by now -#}
    {%- if not log.is_stored or found.read != properties['spark_cdc.last_batch'] -%}
        {%- do run_query('refresh table ' ~ log.relation) -%}
    {%- endif -%}
    {%- if log.is_stored -%}
        {{ return(dict(found, batch=properties['spark_cdc.last_batch'])) }}
    {%- endif -%}
    {%- set no_batch = spark_cdc._checksum(log, 'cdc_batch is null') -%}
    {%- set last = spark_cdc._last_batch(log, before.batch if before else none) -%}
    {%- set rows_read = spark_cdc._checksum_of_batch(log, before.batch) if before else none -%}
    {{ return(dict(
        found, batch=last, no_batch=no_batch,
        is_reread=before is not none and [rows_read, no_batch] != [before.rows, before.no_batch],
        rows=rows_read if before and last == before.batch else spark_cdc._checksum_of_batch(log, last)
    )) }}
{%- endmacro -%}

{#- The last batch of a view from a batch on, as text that is the same in each session. Rows of a batch in the future wait for it:
    see _believed_watermark. -#}
{%- macro _last_batch(log, batch) -%}
    {%- set last = 'max(' ~ spark_cdc._believed_watermark('cdc_batch', log.type, false) ~ ')' -%}
    {%- set condition = '\nwhere cdc_batch >= ' ~ spark_cdc._cast_literal(batch, log.type) if batch is not none else '' -%}
    {{ return(run_query(
        'select ' ~ spark_cdc._literal_text(last, log.type) ~ ' from ' ~ log.source ~ condition
    ).rows[0][0]) }}
{%- endmacro -%}

{#- The number of some rows of a view, and a checksum of them. -#}
{%- macro _checksum(log, condition) -%}
    {%- set found = run_query(
        'select count(*), bit_xor(xxhash64(' ~ spark_cdc._hashed_values(log.columns) ~ ')) from ' ~ log.source ~ ' where ' ~ condition
    ).rows[0] -%}
    {{ return(found[0] ~ ' ' ~ found[1]) }}
{%- endmacro -%}

{%- macro _checksum_of_batch(log, batch) -%}
    {{ return(spark_cdc._checksum(log, 'cdc_batch = ' ~ spark_cdc._cast_literal(batch, log.type)) if batch is not none else '') }}
{%- endmacro -%}

{#- The property of a model that has read logs up to their last batches. -#}
{%- macro _property_of_logs(logs) -%}
    {%- set read = {} -%}
    {%- for name, log in logs.items() -%}
        {%- do read.update({name: {'log': log.identity, 'batch': log.batch, 'rows': log.rows, 'no_batch': log.no_batch}}) -%}
    {%- endfor -%}
    {{ return({'spark_cdc.read': tojson(read)}) }}
{%- endmacro -%}

{#- A condition for rows of a log: `known` are those that were read before, `new` the others, `all` both. Rows that land
    meanwhile are left to the next run. -#}
{%- macro _rows_of_log(log, part) -%}
    {%- set no_batch = 'false' if log.is_stored or (log.is_emptied and log.is_other) else 'cdc_batch is null' -%}
    {%- set to_last = no_batch if log.batch is none else 'cdc_batch <= ' ~ spark_cdc._cast_literal(log.batch, log.type) -%}
    {%- set read = spark_cdc._cast_literal(log.read, log.type) if log.read is not none else none -%}
    {%- if part == 'known' -%}
        {%- if log.is_other -%}
            {{ return('false') }}
        {%- elif log.is_reread -%}
            {{ return('cdc_batch < ' ~ read if read else 'false') }}
        {%- endif -%}
        {{ return('(' ~ ('cdc_batch <= ' ~ read ~ ' or ' if read else '') ~ no_batch ~ ')') }}
    {%- elif part == 'new' and not log.is_other -%}
        {%- set after = 'cdc_batch ' ~ ('>= ' if log.is_reread else '> ') ~ read if read else 'cdc_batch is not null' -%}
        {{ return('(' ~ to_last ~ ' and ' ~ after ~ (' or cdc_batch is null' if log.is_reread) ~ ')') }}
    {%- endif -%}
    {{ return('(' ~ to_last ~ ' or ' ~ no_batch ~ ')') }}
{%- endmacro -%}


{#- Sets what a run reads, before anything else is known of it. -#}
{%- macro _begin_to_read_logs(run) -%}
    {%- set logs = spark_cdc._logs_of(run) -%}
    {%- set keeps_rows, reads_logs = run.properties.get('spark_cdc.raw'), run.properties.get('spark_cdc.read') -%}
    {%- if not run.is_full and ((logs and keeps_rows) or (not logs and reads_logs)) -%}
        {{ spark_cdc._stop(
            'cdc_incremental',
            this ~ (' has raw rows of its own, and now reads a raw log' if logs else ' has read a raw log, and now reads another relation'),
            '--full-refresh, which builds the model again from the rows that the relation has now', 'dbt run --full-refresh --select ' ~ model.name
        ) }}
    {%- endif -%}
    {%- do run.update({'logs': logs}) -%}
    {%- if logs -%}
        {#- the relations without `limit 0`: with `--empty` known rows stay known -#}
        {%- set inputs = {} -%}
        {%- for name in run.call.spec.inputs -%}{%- do inputs.update({name: logs[name].source}) -%}{%- endfor -%}
        {%- do run.call.spec.update({'relation': logs[''].source, 'inputs': inputs}) -%}
        {%- do run.update({
            'dependencies': {},
            'watermark': spark_cdc._property_of_logs(logs),
            'is_other_log': logs.values() | selectattr('is_other') | list | length > 0,
            'is_reread': logs.values() | selectattr('is_reread') | list | length > 0,
        }) -%}
    {%- endif -%}
{%- endmacro -%}

{#- Adds the decoder's dependencies to a run. They say which rows of the logs are kept, and are then asked again about these. -#}
{%- macro _add_dependencies_of_logs(run) -%}
    {%- set part = 'all' if run.is_full else 'known' -%}
    {%- for _ in range(2) -%}
        {%- do run.update({'raw': spark_cdc._relation_to_keep(run, part)}) -%}
        {%- do spark_cdc._add_dependencies(run) -%}
    {%- endfor -%}
    {%- do spark_cdc._read_part_of_logs(run, part) -%}
    {%- do run.update({'is_other': run.is_other or run.is_other_log}) -%}
{%- endmacro -%}

{#- Sets `run.raw` to a part of the logs, as the stored raw rows of other models are. -#}
{%- macro _read_part_of_logs(run, part) -%}
    {%- do run.update({'raw': '(' ~ spark_cdc._delivered(run, spark_cdc._relation_to_keep(run, part)) ~ ')'}) -%}
{%- endmacro -%}

{#- Whether the logs have no new rows, and nothing else is to be decoded again. -#}
{%- macro _has_read_logs(run) -%}
    {%- do run.update({'has_new_rows': false}) -%}
    {{ return(
        not run.is_full and not run.is_other and run.properties.get('spark_cdc.read') == run.watermark['spark_cdc.read']
        and spark_cdc._extent(run) == 'nothing'
    ) }}
{%- endmacro -%}

{#- Writes the new rows into `run.to_decode`; `run.has_new_rows` says whether there are any. -#}
{%- macro _find_new_rows_in_logs(run) -%}
    {%- set is_read = run.properties.get('spark_cdc.read') == run.watermark['spark_cdc.read'] -%}
    {%- set new_rows = spark_cdc._relation_to_keep(run, 'new') -%}
    {%- do run.update({'has_new_rows': not is_read and run_query('select 1 from ' ~ new_rows ~ ' as new_rows limit 1') | length > 0}) -%}
    {%- if run.has_new_rows -%}
        {%- do spark_cdc._begin_increment(run) -%}
        {%- do run_query(
            'create table ' ~ run.to_decode ~ ' using parquet as\nselect *' ~ spark_cdc._flags(run, 'true') ~ '\nfrom (\n'
            ~ spark_cdc._delivered(run, new_rows) ~ '\n) as delivered'
        ) -%}
    {%- elif not is_read -%}
        {%- do spark_cdc._check_lock(run) -%}
        {%- do spark_cdc._store_properties(run, run.watermark) -%}
    {%- endif -%}
{%- endmacro -%}

{#- Stops if a log was built again after this run began: its rows have other batches now. -#}
{%- macro _check_logs(run) -%}
    {%- for log in (run.logs or {}).values()
        if log.is_stored and spark_cdc._properties(log.relation).get('spark_cdc.generation') != log.generation -%}
        {{ exceptions.raise_compiler_error(
            'spark_cdc.cdc_incremental: ' ~ log.relation ~ ' was built again while this run of ' ~ this ~ ' read it, so this one stops.'
            ~ ' The table is correct, and the next run reads the new rows.'
        ) }}
    {%- endfor -%}
{%- endmacro -%}

{#- Whether an emptied view hides what was read (`--empty`): then a run leaves the model as it is. -#}
{%- macro _hides_known_rows(run) -%}
    {%- set hiding = [] -%}
    {%- for log in (run.logs or {}).values() if log.is_emptied and (log.views or not log.is_stored) -%}{%- do hiding.append(log) -%}{%- endfor -%}
    {{ return(hiding | length > 0 and not run.is_full) }}
{%- endmacro -%}
