{#- Runs of models of change events, with their quarantine (_quarantined.sql).

    A run finds the rows of the raw relation that it has not read (_new_rows.sql). It adds older rows whose decoding depends
    on the new ones, decodes all of these, and writes the difference into the model. Then it stores the new rows. If a run is
    killed before that, the next run finds the same rows new, and its result is the same.

    The macro _dependencies_<decoder>(spec) says which older rows these are; `decode` in _macros.yml describes its keys.
    Without this macro all rows are decoded. A decoder with parser state has _resume_<decoder>(spec) instead (_resumed.sql). -#}

{%- macro _run_decoded(run) -%}
    {%- set resume = spark_cdc._part_of_decoder('cdc_incremental', 'resume', run.call.decoder, is_optional=true) -%}
    {%- do run.update({
        'retracted': spark_cdc._side_table('replaced'),
        'missing': spark_cdc._side_table('missing_' ~ run.suffix),
        'to_decode': spark_cdc._side_table('rows_' ~ run.suffix),
        'groups': spark_cdc._side_table('groups_' ~ run.suffix),
        'answers': this.incorporate(path={'identifier': run.properties['spark_cdc.answers']}, type='table')
            if run.properties.get('spark_cdc.answers') and not run.is_full else none,
        'resume': resume,
        'raw_columns': spark_cdc._columns_to_keep(run.call.spec),
    }) -%}
    {%- do spark_cdc._keep_as_of(run) -%}
    {%- do spark_cdc._begin_to_read_logs(run) -%}
    {%- do run.update({'raw_watermark': none if run.logs else spark_cdc._raw_watermark(run.call.spec)}) -%}
    {%- if run.logs -%}
        {%- do spark_cdc._add_dependencies_of_logs(run) -%}
    {%- else -%}
        {%- do run.update({
            'raw': spark_cdc._side_table('raw_' ~ run.suffix) if run.is_full
                else this.incorporate(path={'identifier': run.properties['spark_cdc.raw']}, type='table'),
        }) -%}
        {%- do spark_cdc._add_dependencies(run) -%}
    {%- endif -%}
    {%- if run.logs -%}
    {%- elif not run.is_full and run.raw.identifier | lower not in run.side_tables and not spark_cdc._is_there(run.raw) -%}
        {{ spark_cdc._stop(
            'cdc_incremental', 'the table ' ~ run.raw ~ ' with the stored raw rows of ' ~ this ~ ' does not exist',
            '--full-refresh, which builds the model again from the rows that the raw relation has now',
            'dbt run --full-refresh --select ' ~ model.name
        ) }}
    {%- elif not run.is_full -%}
        {%- do run_query('refresh table ' ~ run.raw) -%}
    {%- endif -%}
    {%- do spark_cdc._note_look_ups(run) -%}
    {%- if spark_cdc._hides_known_rows(run) -%}
        {%- call noop_statement('main', 'nothing is known of the raw log') -%}{%- endcall -%}
        {{ return(none) }}
    {%- endif -%}
    {%- if run.lock is not defined and spark_cdc._has_read_logs(run) -%}
        {%- call noop_statement('main', spark_cdc._no_new_raw_rows(run)) -%}{%- endcall -%}
        {{ return(none) }}
    {%- endif -%}
    {%- do spark_cdc._lock(run) -%}
    {#- another server may have added files to a log up to a batch that this model has read -#}
    {%- for log in run.logs.values() if log.is_stored -%}{%- do run_query('refresh table ' ~ log.relation) -%}{%- endfor -%}
    {%- if run.is_full or run.is_other -%}
        {%- do spark_cdc._number_run(run) -%}
    {%- endif -%}
    {%- if run.is_full -%}
        {#- copied first, so that every later read sees the same rows -#}
        {%- if not run.logs -%}{%- do spark_cdc._copy_raw_rows(run) -%}{%- endif -%}
        {%- do spark_cdc._decode_all(run, {
            'spark_cdc.generation': run.batch, 'spark_cdc.raw': '' if run.logs else run.raw.identifier, 'spark_cdc.raw_added_to': 0
        }) -%}
    {%- elif run.logs and run.is_other -%}
        {%- do spark_cdc._check_columns(run, spark_cdc._decoded(run, run.call.spec.relation)) -%}
        {%- do spark_cdc._read_part_of_logs(run, 'all') -%}
        {%- do spark_cdc._decode_all(run, {'spark_cdc.generation': run.batch}) -%}
    {%- else -%}
        {%- if run.logs -%}
            {%- do spark_cdc._find_new_rows_in_logs(run) -%}
        {%- else -%}
            {%- do spark_cdc._find_new_rows(run) -%}
        {%- endif -%}
        {%- set extent = 'rebuild' if run.is_other else spark_cdc._extent(run) -%}
        {%- if extent == 'rebuild' -%}
            {%- do spark_cdc._check_columns(run, spark_cdc._decoded(run, run.call.spec.relation)) -%}
            {%- do spark_cdc._keep_undecoded_rows(run) -%}
            {%- do spark_cdc._decode_all(run, {'spark_cdc.generation': run.batch}) -%}
        {%- elif extent == 'nothing' -%}
            {%- call noop_statement('main', spark_cdc._no_new_raw_rows(run)) -%}{%- endcall -%}
        {%- elif resume -%}
            {%- do spark_cdc._resume_with_new_rows(run) -%}
        {%- else -%}
            {%- do spark_cdc._decode_new_rows(run, extent) -%}
        {%- endif -%}
        {%- do spark_cdc._drop_new_rows(run) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The decoder's SELECT over the raw rows in `relation`: of events or of quarantine. `more` is added to the spec. In an increment
    it has `built`, the model before this run, and `new_rows`, the new raw rows. `is_part`: the rows are those of affected
    groups alone. -#}
{%- macro _decoded(run, relation, more={}, builds='events') -%}
    {{ return(spark_cdc._select_of_decoder(builds, dict(
        dict(run.call.spec, relation=relation, inputs=spark_cdc._inputs_as_given(run.call.spec), batch=run.batch), **dict(more)
    ))) }}
{%- endmacro -%}

{#- Builds the model from all rows that were read. Look-ups are asked again. -#}
{%- macro _decode_all(run, properties) -%}
    {%- if run.resume -%}
        {%- do spark_cdc._resume_all(run, properties) -%}
    {%- else -%}
        {%- set all_rows = spark_cdc._raw_columns_of(run, run.raw) -%}
        {%- set inputs = spark_cdc._inputs_of(run, {run.raw: none}) -%}
        {%- do run.update({'answers': none}) -%}
        {%- do spark_cdc._ask(run, all_rows, {'inputs': inputs}) -%}
        {%- set more = {'inputs': inputs, 'answers': run.answers} -%}
        {%- do properties.update(spark_cdc._properties_of_look_ups(run)) -%}
        {%- do properties.update(spark_cdc._write_quarantine(run, spark_cdc._decoded(run, all_rows, more, 'quarantine'))) -%}
        {%- do spark_cdc._store_all(run, spark_cdc._decoded(run, all_rows, more), properties) -%}
        {%- do spark_cdc._show_quarantine(run) -%}
    {%- endif -%}
{%- endmacro -%}

{#- An increment. -#}
{%- macro _decode_new_rows(run, extent) -%}
    {%- if not run.has_new_rows -%}{%- do spark_cdc._begin_increment(run) -%}{%- endif -%}
    {%- set more = {'built': run.target, 'new_rows': spark_cdc._raw_columns_of(run, run.to_decode, 'cdc_is_new') if run.has_new_rows else none} -%}
    {%- set affected = {} -%}
    {%- if extent == 'groups' -%}
        {%- set affected = spark_cdc._add_affected_rows(run) -%}
        {%- set rows_to_decode = spark_cdc._raw_columns_of(run, run.to_decode) -%}
        {%- do more.update({'inputs': spark_cdc._inputs_of(run, {run.to_decode: none}), 'is_part': true}) -%}
        {%- do spark_cdc._ask(run, rows_to_decode, more, affected) -%}
        {%- set more = dict(more, answers=run.answers) -%}
        {%- set sql = spark_cdc._changes_in_events(run, spark_cdc._decoded(run, rows_to_decode, more), affected) -%}
        {%- set quarantine = spark_cdc._quarantine_after_groups(run, spark_cdc._decoded(run, rows_to_decode, more, 'quarantine')) -%}
    {%- else -%}
        {%- set all_rows = spark_cdc._all_raw_rows(run) -%}
        {%- do more.update({'inputs': spark_cdc._inputs_of(
            run, dict([(run.raw, none)] + ([(run.to_decode, 'cdc_is_new')] if run.has_new_rows else []))
        )}) -%}
        {%- do spark_cdc._ask(run, all_rows, more) -%}
        {%- set more = dict(more, answers=run.answers) -%}
        {%- set sql = spark_cdc._changes_in_events(run, spark_cdc._decoded(run, all_rows, more)) -%}
        {%- set quarantine = spark_cdc._decoded(run, all_rows, more, 'quarantine') -%}
    {%- endif -%}
    {%- set noted = dict(run.get('watermark') or {}, **spark_cdc._properties_of_look_ups(run)) -%}
    {%- do noted.update(spark_cdc._property_of_run(run)) -%}
    {#- otherwise a row that another run has just added would be stored twice -#}
    {%- if not run.logs -%}{%- do spark_cdc._check_lock(run, run.raw) -%}{%- endif -%}
    {%- do spark_cdc._write_increment(run, sql) -%}
    {%- do noted.update(spark_cdc._write_quarantine(run, quarantine)) -%}
    {%- do spark_cdc._keep_retracted_events(run) -%}
    {%- set range = spark_cdc._sequence_range('stored.cdc_sequence', affected.low, affected.high)
        if affected and run.dependencies.is_prefix else spark_cdc._range_of_increment(run) -%}
    {%- do spark_cdc._store_increment(run, ['cdc_sequence'], noted, range) -%}
    {%- do spark_cdc._show_quarantine(run) -%}
    {%- do spark_cdc._keep_new_rows(run) -%}
{%- endmacro -%}
