{#- Runs of models whose decoder parses a stream and has state. With dependencies every run would read such a stream from its
    beginning. Instead a run stores the state of the parser in <model>__cdc_state_<run>. The next run continues from it with
    the new rows alone. If that is not possible, it decodes all rows again, and writes the difference.

    For this a decoder has the macro _resume_<decoder>(spec), which gives a dict of SQL:
      decoded   select: the result of parsing spec.relation, from spec.state on if it is not none. It is stored as
                spec.decoded, which the selects below and _outcomes_<decoder> then read
      state     select: the state after this. spec.all_rows are all raw rows, including the new ones
      breaks    select: has a row if spec.relation cannot be parsed from spec.state on. spec.kept are the raw rows read before
      doubts    select: has a row if it turned out while parsing that the state does not fit
      sequences select: the cdc_sequence of each event that was parsed
      replaces  condition on `events` and `stored`: whether an event replaces the stored event with the same sequence
      reread    condition on a raw row of spec.kept: whether its entries in quarantine may change
      entries   select: the present entries of the rows in spec.reread, from spec.decoded and from the old entries in
                spec.quarantined

    The last three are used only if the run continued from a state. spec.new_rows are the new raw rows as they were
    delivered; spec.relation has no repeated ones. -#}

{#- Builds the model from all rows that were read. -#}
{%- macro _resume_all(run, properties) -%}
    {%- set all_rows = spark_cdc._raw_columns_of(run, run.raw) -%}
    {%- set spec = spark_cdc._spec_of_stream(run, {'relation': all_rows, 'all_rows': all_rows}) -%}
    {%- do spark_cdc._read_stream(run, spec) -%}
    {%- set state = spark_cdc._write_state(run, spec) -%}
    {%- set more = {'decoded': spec.decoded} -%}
    {%- do properties.update({'spark_cdc.state': state.identifier}) -%}
    {%- do properties.update(spark_cdc._write_quarantine(run, spark_cdc._decoded(run, spec.relation, more, 'quarantine'))) -%}
    {%- do spark_cdc._store_all(run, spark_cdc._decoded(run, spec.relation, more), properties) -%}
    {%- do spark_cdc._show_quarantine(run) -%}
    {%- do spark_cdc._drop(spec.decoded) -%}
{%- endmacro -%}

{#- The spec of the call, and what is needed to parse a stream. -#}
{%- macro _spec_of_stream(run, more) -%}
    {{ return(dict(
        run.call.spec, decoded=spark_cdc._side_table('decoded_' ~ run.suffix), reread=spark_cdc._side_table('reread_' ~ run.suffix),
        **dict(more)
    )) }}
{%- endmacro -%}

{#- Decodes rows into spec.decoded. -#}
{%- macro _read_stream(run, spec) -%}
    {%- do spark_cdc._drop(spec.decoded) -%}
    {%- do run_query('create table ' ~ spec.decoded ~ ' using parquet as\n' ~ run.resume(spec).decoded) -%}
{%- endmacro -%}

{#- Stores the state after parsing, and gives its relation. -#}
{%- macro _write_state(run, spec) -%}
    {%- set state = spark_cdc._side_table('state_' ~ run.suffix) -%}
    {%- do run_query('create table ' ~ state ~ ' using parquet as\n' ~ run.resume(spec).state) -%}
    {{ return(state) }}
{%- endmacro -%}

{#- An increment. -#}
{%- macro _resume_with_new_rows(run) -%}
    {%- set added = spark_cdc._side_table('added_' ~ run.suffix) -%}
    {#- the new rows, without repeats of rows read before -#}
    {%- do run_query(
        'create table ' ~ added ~ ' using parquet as\nselect ' ~ spark_cdc._column_list(run.call.spec.raw_columns) ~ ' from ' ~ run.to_decode
        ~ ' as rows_read\nleft anti join ' ~ run.raw ~ ' as known\n    on rows_read.cdc_hash_1 = known.cdc_hash_1'
        ~ ' and rows_read.cdc_hash_2 = known.cdc_hash_2'
    ) -%}
    {%- set state = run.properties.get('spark_cdc.state') -%}
    {%- set state = this.incorporate(path={'identifier': state}, type='table') if state else none -%}
    {%- set spec = spark_cdc._spec_of_stream(run, {
        'relation': added, 'state': state, 'quarantined': spark_cdc._stored_quarantine(run), 'kept': spark_cdc._raw_columns_of(run, run.raw),
        'new_rows': spark_cdc._raw_columns_of(run, run.to_decode), 'all_rows': spark_cdc._all_raw_rows(run),
    }) -%}
    {%- set goes_on = state is not none and not run.is_reread and spark_cdc._is_there(state)
        and run_query('select 1 from (\n' ~ run.resume(spec).breaks ~ '\n) as breaks limit 1') | length == 0 -%}
    {%- if goes_on -%}
        {%- do spark_cdc._read_stream(run, spec) -%}
        {%- set goes_on = run_query('select 1 from (\n' ~ run.resume(spec).doubts ~ '\n) as doubts limit 1') | length == 0 -%}
    {%- endif -%}
    {%- if not goes_on -%}
        {%- set spec = dict(spec, relation=spec.all_rows, state=none) -%}
        {%- do spark_cdc._read_stream(run, spec) -%}
    {%- endif -%}
    {%- set state_after = spark_cdc._write_state(run, spec) -%}

    {%- set more = {'decoded': spec.decoded} -%}
    {%- set made = spark_cdc._decoded(run, spec.relation, more) -%}
    {%- do spark_cdc._write_increment(run, spark_cdc._resumed_events(run, spec, made, goes_on)) -%}
    {%- if goes_on -%}{%- do spark_cdc._reread_rows(run, spec) -%}{%- endif -%}
    {%- set noted = spark_cdc._write_quarantine(
        run, spark_cdc._quarantine_after(run, spec.reread, run.resume(spec).entries) if goes_on
            else spark_cdc._decoded(run, spec.relation, more, 'quarantine')
    ) -%}
    {%- do spark_cdc._keep_retracted_events(run) -%}
    {%- do spark_cdc._check_partitions(run, run.increment) -%}

    {#- until all is written no state is valid: if the run is killed, the next one decodes all rows -#}
    {%- do spark_cdc._check_lock(run, run.raw) -%}
    {%- do spark_cdc._store_properties(run, {'spark_cdc.state': ''}) -%}
    {%- do spark_cdc._store_increment(run, ['cdc_sequence'], noted, spark_cdc._range_of_increment(run)) -%}
    {%- do spark_cdc._show_quarantine(run) -%}
    {%- do spark_cdc._keep_new_rows(run) -%}
    {%- do spark_cdc._store_properties(
        run, dict(dict({'spark_cdc.state': state_after.identifier}, **(run.get('watermark') or {})), **spark_cdc._property_of_run(run))
    ) -%}
    {%- for relation in (added, spec.reread, spec.decoded) -%}
        {%- do spark_cdc._drop(relation) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- The difference in the model's events. -#}
{%- macro _resumed_events(run, spec, made, goes_on) -%}
    {%- set existing = 'select * from ' ~ run.target -%}
    {%- if not goes_on -%}
        {{ return(spark_cdc._difference_of_events(run, existing, made)) }}
    {%- endif -%}
    {%- set events -%}
select * from (
    {{ made | indent(4) }}
) as events
left anti join {{ run.target }} as stored
    on
        events.cdc_sequence = stored.cdc_sequence
        and not ({{ run.resume(spec).replaces }})
    {%- endset -%}
    {%- set existing = existing ~ '\nwhere cdc_sequence in (' ~ run.resume(spec).sequences ~ ')' -%}
    {{ return(spark_cdc._difference_of_events(run, existing, events, goes='false')) }}
{%- endmacro -%}

{#- Stores the raw rows whose entries may change: the rows that the decoder names, and every delivery of a new row. -#}
{%- macro _reread_rows(run, spec) -%}
    {%- set names = spark_cdc._column_list(run.call.spec.raw_columns) -%}
    {%- set sql -%}
create table {{ spec.reread }} using parquet as
select {{ names }} from {{ run.raw }}
where
    (cdc_hash_1, cdc_hash_2) in (select cdc_hash_1, cdc_hash_2 from {{ run.to_decode }})
    or {{ run.resume(spec).reread | indent(4) }}
union all
select {{ names }} from {{ run.to_decode }}
    {%- endset -%}
    {%- do run_query(sql) -%}
{%- endmacro -%}
