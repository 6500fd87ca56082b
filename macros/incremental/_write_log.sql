{#- Runs of a raw log that keeps its rows. It only grows. Each run adds the rows that are new, with the batch of the run.

    The property spark_cdc.last_batch is written after the rows. Increments read up to that batch, so they never see half of one.
    If a run is killed while it adds rows, the next run adds those that are missing, and publishes both. -#}

{%- macro _run_raw_log(run) -%}
    {%- set stored_in = run.properties.get('spark_cdc.stored_in') -%}
    {%- do run.update({
        'raw': spark_cdc._table_of_log(run),
        'missing': spark_cdc._side_table('missing_' ~ run.suffix),
        'raw_columns': run.call.spec.raw_columns,
        'raw_watermark': spark_cdc._raw_watermark(run.call.spec),
        'dependencies': {},
    }) -%}
    {%- do spark_cdc._note_look_ups(run) -%}
    {%- if run.call.reader -%}{%- do run.update({'look_ups': (run.look_ups or '') ~ tojson(run.call.spec.options)}) -%}{%- endif -%}
    {%- if not run.is_full and run.properties.get('spark_cdc.last_batch') and run.properties.get('spark_cdc.definition') not in ('', run.fingerprint) -%}
        {{ spark_cdc._stop(
            'cdc_incremental', this ~ ' is a raw log of another kind, and has rows', '--full-refresh, which builds the raw log again from the'
            ~ ' rows that the relation has now; or another name for this model', 'dbt run --full-refresh --select ' ~ model.name
        ) }}
    {%- endif -%}
    {#- another kind of model was there before, or a check of the first rows failed -#}
    {%- if run.is_full or run.properties.get('spark_cdc.definition') != run.fingerprint -%}
        {%- do spark_cdc._lock(run) -%}
        {%- do spark_cdc._store_all(run, spark_cdc._select_of_log(run.call, spark_cdc._literal(run.batch)), dict(
            spark_cdc._properties_of_look_ups(run), **{'spark_cdc.generation': run.batch, 'spark_cdc.last_batch': run.batch}
        )) -%}
        {%- do spark_cdc._note_watermark_of_log(run, 'true') -%}
    {%- else -%}
        {%- if stored_in and stored_in | lower not in run.side_tables and not spark_cdc._is_there(run.raw) -%}
            {{ spark_cdc._stop(
                'cdc_incremental', 'the table ' ~ run.raw ~ ' with the rows of ' ~ this ~ ' does not exist',
                '--full-refresh, which builds the raw log again from the rows that the relation has now',
                'dbt run --full-refresh --select ' ~ model.name
            ) }}
        {%- endif -%}
        {%- if run.lock is not defined and not spark_cdc._has_other_look_ups(run) and spark_cdc._was_delivered(run) -%}
            {%- call noop_statement('main', spark_cdc._no_new_raw_rows(run)) -%}{%- endcall -%}
        {%- else -%}
            {%- do spark_cdc._lock(run) -%}
            {%- do run_query('refresh table ' ~ run.raw) -%}
            {%- do spark_cdc._follow_raw_columns(run) -%}
            {%- do spark_cdc._add_to_log(run) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}

{#- Whether more may be known now of rows that wait. -#}
{%- macro _has_other_look_ups(run) -%}
    {{ return(run.look_ups != (run.properties.get('spark_cdc.look_ups') or none)) }}
{%- endmacro -%}

{#- The table with the rows of the log. -#}
{%- macro _table_of_log(run) -%}
    {%- set stored_in = run.properties.get('spark_cdc.stored_in') -%}
    {{ return(this.incorporate(path={'identifier': stored_in}, type='table') if stored_in else run.target) }}
{%- endmacro -%}

{#- Adds new columns to the log and widens others, as the relation now has them. -#}
{%- macro _follow_raw_columns(run) -%}
    {%- set kept = spark_cdc._raw_columns_kept(run) -%}
    {%- set changed, before = spark_cdc._changed_raw_columns(run, kept), namespace(name=none) -%}
    {%- for name, data_type in run.raw_columns.items() -%}
        {%- if name in changed.added -%}
            {%- set place = ' after ' ~ spark_cdc._quote(before.name) if before.name else ' first' -%}
            {%- do run_query(
                'alter table ' ~ run.raw ~ ' add columns (' ~ spark_cdc._quote(name) ~ ' ' ~ changed.added[name]
                ~ (place if run.format.places_columns else '') ~ ')'
            ) -%}
        {%- endif -%}
        {%- set before.name = name -%}
    {%- endfor -%}
    {%- if changed.widened -%}
        {%- set columns = [] -%}
        {%- for name, data_type in run.raw_columns.items() -%}
            {%- set quoted = spark_cdc._quote(name) -%}
            {%- do columns.append('cast(' ~ quoted ~ ' as ' ~ data_type ~ ') as ' ~ quoted if name in changed.widened else quoted) -%}
        {%- endfor -%}
        {%- do columns.extend(run.call.spec.computed or {}) -%}
        {%- do spark_cdc._store_all(run, 'select ' ~ columns | join(', ') ~ ', cdc_batch from ' ~ run.raw, {'spark_cdc.raw_added_to': 0}) -%}
        {%- do run.update({'raw': spark_cdc._table_of_log(run)}) -%}
    {%- else -%}
        {%- do spark_cdc._of_format(run.file_format, 'follow_columns')(run) -%}
    {%- endif -%}
    {%- do run.update({'kept': none if changed.added or changed.widened else kept}) -%}
{%- endmacro -%}

{#- The raw columns of the stored log, and their types. -#}
{%- macro _raw_columns_kept(run) -%}
    {%- set kept = spark_cdc._described(run.raw) -%}
    {%- for name in ['cdc_batch'] + (run.call.spec.computed or {}) | list -%}{%- do kept.pop(name) -%}{%- endfor -%}
    {%- do spark_cdc._complete_types(kept, run.raw) -%}
    {{ return(kept) }}
{%- endmacro -%}

{#- Adds the new rows. If a row occurs more often than in the log, the additional ones are new. -#}
{%- macro _add_to_log(run) -%}
    {%- set names = spark_cdc._column_list(spark_cdc._columns_of_log(run.call.spec)) -%}
    {%- do spark_cdc._note_version(run, run.raw) -%}
    {%- set last = run.properties['spark_cdc.last_batch'] -%}
    {%- if run.properties.get('spark_cdc.raw_is_partial') -%}
        {%- set last = [last, run_query('select max(cdc_batch) from ' ~ run.raw).rows[0][0] or ''] | max -%}
    {%- endif -%}
    {%- if last >= run.batch -%}{%- do run.update({'batch': last ~ '+'}) -%}{%- endif -%}
    {%- set since = spark_cdc._since_watermark(run) -%}
    {%- set delivered = spark_cdc._delivered(run, spark_cdc._as_kept_in_log(run, run.kept) ~ ' as cdc_rows\n' ~ since) -%}
    {%- set now = run.get('delivered') or spark_cdc._delivered_now(run, delivered, spark_cdc._delivered_to_the_run_before(run)) -%}
    {%- set stored = spark_cdc._rows_delivered_to(run.raw, run.call.spec.computed or {}) -%}
    {%- do spark_cdc._find_missing(run, delivered, spark_cdc._delivered(run, stored ~ ' as cdc_rows\n' ~ since)) -%}
    {%- set selects = [] -%}
    {%- if run.has_new_rows -%}
        {%- set missing = '(' ~ spark_cdc._missing_rows(run, delivered) ~ ')' -%}
        {%- do spark_cdc._check_partitions(run, missing, columns=run.raw_columns) -%}
        {%- do selects.append('(' ~ spark_cdc._read_for_log(run.call, missing) ~ ')' if run.call.reader else missing) -%}
    {%- endif -%}
    {%- if run.call.reader and spark_cdc._has_other_look_ups(run) -%}
        {%- set waiting = spark_cdc._rows_that_wait(run) -%}
        {%- if run_query('select 1 from ' ~ waiting ~ ' as waiting limit 1') | length > 0 -%}
            {%- do selects.append('(' ~ spark_cdc._read_for_log(run.call, waiting, has_waited=true) ~ ')') -%}
        {%- endif -%}
    {%- endif -%}
    {%- set properties = dict(spark_cdc._properties_of_look_ups(run), **{
        'spark_cdc.last_batch': run.batch if selects else last, 'spark_cdc.raw_is_partial': '', 'spark_cdc.delivered': now,
    }) -%}
    {%- if selects -%}
        {%- set new_rows = [] -%}
        {%- for rows in selects -%}
            {%- do new_rows.append('select ' ~ names ~ ', ' ~ spark_cdc._literal(run.batch) ~ ' as cdc_batch from ' ~ rows ~ ' as rows_' ~ loop.index) -%}
        {%- endfor -%}
        {%- set new_rows = new_rows | join('\nunion all\n') -%}
        {%- do spark_cdc._check_lock(run, run.raw) -%}
        {%- do spark_cdc._of_format(run.file_format, 'append_to_log')(run, names ~ ', cdc_batch', new_rows, properties) -%}
    {%- else -%}
        {%- call noop_statement('main', spark_cdc._no_new_raw_rows(run)) -%}{%- endcall -%}
    {%- endif -%}
    {%- if selects or run.properties.get('spark_cdc.raw_is_partial') or run.properties.get('spark_cdc.delivered') != now
        or spark_cdc._has_other_look_ups(run) -%}
        {%- do spark_cdc._check_lock(run) -%}
        {%- do spark_cdc._store_properties(run, properties) -%}
    {%- endif -%}
    {%- if selects -%}
        {%- do spark_cdc._note_watermark_of_log(run, 'cdc_batch = ' ~ spark_cdc._literal(run.batch)) -%}
    {%- endif -%}
    {%- do spark_cdc._drop(run.missing) -%}
{%- endmacro -%}

{#- The rows of a log whose reader may know more of them now. Equal rows are as many as have not been read once more: a run that
    was killed may have read some of them. -#}
{%- macro _rows_that_wait(run) -%}
(
    select waiting.* except (cdc_number)
    from (
        select
            *,
            row_number() over (partition by cdc_waiting_id order by cdc_batch) as cdc_number
        from {{ run.raw }}
        where cdc_waiting_id is not null
    ) as waiting
    left join (
        select
            cdc_resolved_id,
            count(*) as cdc_times
        from {{ run.raw }}
        where cdc_resolved_id is not null
        group by cdc_resolved_id
    ) as resolved
        on waiting.cdc_waiting_id = resolved.cdc_resolved_id
    where waiting.cdc_number > coalesce(resolved.cdc_times, 0)
)
{%- endmacro -%}

{#- `properties` are written after the rows. -#}
{%- macro _insert_into_log(run, names, new_rows, properties) -%}
    {%- do spark_cdc._store_properties(run, {'spark_cdc.raw_is_partial': 'true'}) -%}
    {%- call statement('main') -%}
insert into {{ run.raw }} ({{ names }})
{{ new_rows }}
    {%- endcall -%}
    {%- do properties.update({'spark_cdc.raw_added_to': (run.properties.get('spark_cdc.raw_added_to') or '0') | int + 1}) -%}
{%- endmacro -%}

{#- The relation with the types of the log's columns: a row and its copy in the log have equal hashes. -#}
{%- macro _as_kept_in_log(run, kept=none) -%}
    {%- set columns = [] -%}
    {%- if kept is none -%}{%- set kept = spark_cdc._raw_columns_kept(run) -%}{%- endif -%}
    {%- for name, data_type in run.raw_columns.items() -%}
        {%- set quoted, type_kept = spark_cdc._quote(name), spark_cdc._type_there(kept, name) -%}
        {%- do columns.append(quoted if type_kept | lower == data_type | lower else 'cast(' ~ quoted ~ ' as ' ~ type_kept ~ ') as ' ~ quoted) -%}
    {%- endfor -%}
    {{ return('(select ' ~ columns | join(', ') ~ ' from ' ~ run.call.spec.relation ~ ')') }}
{%- endmacro -%}

{%- macro _type_there(columns, name) -%}
    {%- for there, data_type in columns.items() if there | lower == name | lower -%}{{ return(data_type) }}{%- endfor -%}
{%- endmacro -%}

{#- Stores the last value of the watermark in rows of the log. A run that is killed before this asks all rows. -#}
{%- macro _note_watermark_of_log(run, condition) -%}
    {%- set watermark = run.raw_watermark -%}
    {%- if watermark is not none and not watermark.within -%}
        {%- set last = spark_cdc._last_watermark(watermark, run.target, condition, run) -%}
        {%- if last is not none -%}
            {%- do spark_cdc._store_properties(run, {spark_cdc._watermark_property(watermark): last}) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}
