{#- Runs of incremental models of a GBase stream. The general way of macros/incremental/_decoded.sql, to decode the rows of a
    group again with each new one, would read a capture from its beginning in every run. So a run leaves the state of each
    capture in <model>__cdc_state_<run>: the records of open transactions, the table's schemas, the end of the last chunk
    where it is no whole record, and what the reader's buffer held. The next run goes on from there, with the new chunks alone.

    That holds while chunks come in order. A chunk that belongs before one that was read, a record that may repeat one the
    state no longer knows, and a state that does not fit the rows that were read (the run before was killed) make a run
    decode all chunks again, and write what differs. -#}

{%- macro _run_gbase_capture(run) -%}
    {%- do run.update({
        'added': spark_cdc._helper('added_' ~ run.suffix),
        'decoded': spark_cdc._helper('decoded_' ~ run.suffix),
        'state': spark_cdc._helper('state_' ~ run.suffix),
        'names': spark_cdc._column_list(run.call.layout.types_there),
        'kept_new_rows': true,
    }) -%}
    {%- if run.is_full -%}
        {%- do spark_cdc._copy_raw_rows(run) -%}
        {%- do spark_cdc._gbase_decode(run, {'relation': run.raw}) -%}
        {%- do spark_cdc._gbase_store_all(run, {
            'spark_cdc.generation': run.batch, 'spark_cdc.raw': run.raw.identifier, 'spark_cdc.raw_added_to': 0
        }) -%}
    {%- else -%}
        {%- do spark_cdc._read_new_rows(run) -%}
        {%- if run.properties['spark_cdc.definition'] != run.definition -%}
            {%- do spark_cdc._check_columns(run, spark_cdc._decoded(run, run.call.layout.relation)) -%}
            {%- do spark_cdc._keep_undecoded_rows(run) -%}
            {%- do spark_cdc._gbase_decode(run, {'relation': run.raw}) -%}
            {%- do spark_cdc._gbase_store_all(run, {'spark_cdc.generation': run.batch}) -%}
        {%- elif run.has_new_rows -%}
            {%- do spark_cdc._gbase_add_new_rows(run) -%}
        {%- else -%}
            {%- call noop_statement('main', 'no new raw rows') -%}{%- endcall -%}
        {%- endif -%}
        {%- do spark_cdc._drop_new_rows(run) -%}
    {%- endif -%}
    {%- do spark_cdc._drop(run.decoded) -%}
{%- endmacro -%}

{#- Decodes chunks into `run.decoded`. `changes` are what is other than in the layout of the call. -#}
{%- macro _gbase_decode(run, changes) -%}
    {%- do run.update({'layout': dict(run.call.layout, **dict(changes))}) -%}
    {%- do spark_cdc._drop(run.decoded) -%}
    {%- do run_query(
        'create table ' ~ run.decoded ~ ' using parquet as\n' ~ spark_cdc._gbase_decoded(run.layout) ~ '\nselect * from decoded'
    ) -%}
    {%- do run.layout.update({'decoded': run.decoded}) -%}
{%- endmacro -%}

{#- The select that the model is, of what is in `run.decoded`, with the raw rows in `relation`. -#}
{%- macro _gbase_select(run, relation=none) -%}
    {%- set layout = dict(run.layout, relation=relation or run.layout.relation) -%}
    {%- if run.call.builds == 'events' -%}
        {{ return(spark_cdc._events_gbase_capture(layout, run.batch)) }}
    {%- endif -%}
    {{ return(spark_cdc._quarantine_gbase_capture(layout)) }}
{%- endmacro -%}

{#- Makes the model anew from `run.decoded`. -#}
{%- macro _gbase_store_all(run, properties) -%}
    {%- do spark_cdc._gbase_write_state(run) -%}
    {%- do spark_cdc._store_all(run, spark_cdc._gbase_select(run), dict(properties, **{'spark_cdc.state': run.state.identifier})) -%}
{%- endmacro -%}

{#- Writes the state that `run.decoded` ends with; with `before`, an earlier one, that of the other captures too. Besides rows of
    spark_cdc_gbase_changes it has one of the kind `through` for each capture: in chunk the last chunk number, in chunk_offset
    how many raw rows were read. It is kept for as many captures as may still go on: those of this run, and those whose ids
    sort last. A chunk of another one makes its run decode all. -#}
{%- macro _gbase_write_state(run, before=none) -%}
    {%- set columns = 'capture_id, kind, chunk, chunk_offset, end_chunk, transaction_id, reason, detail, content' -%}
    {%- set read = [run.raw] if run.kept_new_rows else [run.raw, run.read] -%}
    {%- set sql -%}
create table {{ run.state }} using parquet as
with through as (
    {{ spark_cdc._gbase_through(read, 'true' if before is none else 'capture_id in (select capture_id from ' ~ run.decoded ~ ')') | indent(4) }}
    {%- if before is not none %}
    union all
    -- of a capture that was not decoded no more is known than before
    select
        state.capture_id,
        greatest(state.chunk, rows_read.chunk) as chunk,
        state.chunk_offset + coalesce(rows_read.chunk_offset, 0) as chunk_offset
    from {{ before }} as state
    left join (
        {{ spark_cdc._gbase_through([run.read]) | indent(8) }}
    ) as rows_read
        on state.capture_id = rows_read.capture_id
    where
        state.kind = 'through'
        and state.capture_id not in (select capture_id from {{ run.decoded }})
    {%- endif %}
),

kept as (
    select through.*
    from through
    left join (select distinct capture_id from {{ run.decoded }}) as decoded
        on through.capture_id = decoded.capture_id
    order by decoded.capture_id is null, through.capture_id desc
    limit {{ spark_cdc._gbase_captures_in_state() }}
),

state as (
    select distinct {{ columns }} from {{ run.decoded }}
    where kind in ('open', 'known', 'framer', 'tail')
    {%- if before is not none %}
    union all
    select {{ columns }} from {{ before }}
    where
        kind <> 'through'
        and capture_id not in (select capture_id from {{ run.decoded }})
    {%- endif %}
)

select * from state
where capture_id in (select capture_id from kept)
union all
select
    capture_id,
    'through' as kind,
    chunk,
    chunk_offset,
    cast(null as bigint) as end_chunk,
    cast(null as int) as transaction_id,
    cast(null as string) as reason,
    cast(null as string) as detail,
    cast(null as binary) as content
from kept
    {%- endset -%}
    {%- do run_query(sql) -%}
{%- endmacro -%}

{#- For how many captures the state is kept. The variable is for tests and not public. -#}
{%- macro _gbase_captures_in_state() -%}
    {{ return(var('spark_cdc_internal_captures_in_state', 100)) }}
{%- endmacro -%}

{#- How far the raw rows of these relations reach in each capture that meets a condition, and how many they are. -#}
{%- macro _gbase_through(relations, condition='true') -%}
select
    capture_id,
    max(chunk_number) as chunk,
    count(*) as chunk_offset
from (
    {%- for relation in relations %}
    {{ 'union all' if not loop.first }}
    select
        cast(capture_id as string) as capture_id,
        cast(chunk_number as bigint) as chunk_number
    from {{ relation }}
    {%- endfor %}
) as rows_read
where
    capture_id is not null
    and chunk_number is not null
    and {{ condition }}
group by capture_id
{%- endmacro -%}


{#- An increment. -#}
{%- macro _gbase_add_new_rows(run) -%}
    {%- set increment = spark_cdc._helper('increment_' ~ run.suffix) -%}
    {%- set all_rows = '(select ' ~ run.names ~ ' from ' ~ run.raw ~ ' union all select ' ~ run.names ~ ' from ' ~ run.read
        ~ ') as all_rows' -%}
    {#- of the rows that are new those that say something new -#}
    {%- do run_query(
        'create table ' ~ run.added ~ ' using parquet as\nselect ' ~ run.names ~ ' from ' ~ run.read
        ~ ' as rows_read\nleft anti join ' ~ run.raw ~ ' as known\n    on rows_read.cdc_hash_1 = known.cdc_hash_1'
        ~ ' and rows_read.cdc_hash_2 = known.cdc_hash_2'
    ) -%}
    {%- set before = run.properties.get('spark_cdc.state') -%}
    {%- set before = this.incorporate(path={'identifier': before}, type='table') if before else none -%}
    {%- set goes_on = before is not none and spark_cdc._is_there(before) and spark_cdc._gbase_goes_on(run, before) -%}
    {%- if goes_on -%}
        {%- do spark_cdc._gbase_decode(run, {'relation': run.added, 'state': before}) -%}
        {%- set goes_on = run_query('select 1 from ' ~ run.decoded ~ " where kind = 'doubtful' limit 1") | length == 0 -%}
    {%- endif -%}
    {%- if not goes_on -%}
        {%- do spark_cdc._gbase_decode(run, {'relation': all_rows}) -%}
    {%- endif -%}
    {%- do run.update({'kept_new_rows': false}) -%}
    {%- do spark_cdc._gbase_write_state(run, before if goes_on else none) -%}

    {%- set is_events = run.call.builds == 'events' -%}
    {%- if is_events -%}
        {%- do run_query('create table ' ~ increment ~ ' using parquet as\n' ~ spark_cdc._gbase_events_difference(run, goes_on)) -%}
        {%- do spark_cdc._keep_replaced_events(run, increment) -%}
        {%- do spark_cdc._check_partitions(run, increment) -%}
    {%- elif goes_on -%}
        {%- do spark_cdc._gbase_reread(run, before) -%}
        {%- do run_query('create table ' ~ increment ~ ' using parquet as\n' ~ spark_cdc._gbase_quarantine_difference(run, before)) -%}
    {%- endif -%}

    {#- from here until all is written no state fits: after a run that is killed the next one decodes all -#}
    {%- do spark_cdc._check_claim(run, run.raw) -%}
    {%- do spark_cdc._store_properties(run, {'spark_cdc.state': ''}) -%}
    {%- if is_events -%}
        {%- set range = run_query('select min(cdc_sequence), max(cdc_sequence) from ' ~ increment).rows[0] -%}
        {%- do spark_cdc._store_increment(
            run, increment, ['cdc_sequence'], none, spark_cdc._sequence_range('stored.cdc_sequence', range[0], range[1])
        ) -%}
    {%- elif goes_on -%}
        {%- do spark_cdc._store_increment(run, increment, ['raw'], none, is_unique=false) -%}
    {%- else -%}
        {%- do spark_cdc._store_all(run, spark_cdc._gbase_select(run, all_rows), {}) -%}
    {%- endif -%}
    {%- do spark_cdc._keep_new_rows(run) -%}
    {%- do spark_cdc._store_properties(run, dict({'spark_cdc.state': run.state.identifier}, **(run.get('watermark') or {}))) -%}
    {%- for relation in (run.added, increment, spark_cdc._helper('reread_' ~ run.suffix)) -%}
        {%- do spark_cdc._drop(relation) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Whether the new chunks lie behind those that the state is of, and it is of all that were read. -#}
{%- macro _gbase_goes_on(run, before) -%}
    {%- set sql -%}
with new_rows as (
    select
        cast(capture_id as string) as capture_id,
        min(cast(chunk_number as bigint)) as first_chunk
    from {{ run.added }}
    where capture_id is not null and chunk_number is not null and length(payload) > 0
    group by cast(capture_id as string)
),

rows_read as (
    select
        cast(capture_id as string) as capture_id,
        max(cast(chunk_number as bigint)) as last_chunk,
        count(*) as row_count
    from {{ run.raw }}
    where capture_id is not null and chunk_number is not null
    group by cast(capture_id as string)
)

select 1
from new_rows
left join rows_read
    on new_rows.capture_id = rows_read.capture_id
left join {{ before }} as state
    on new_rows.capture_id = state.capture_id and state.kind = 'through'
where
    not rows_read.last_chunk <=> state.chunk
    or not rows_read.row_count <=> state.chunk_offset
    or new_rows.first_chunk <= rows_read.last_chunk
limit 1
    {%- endset -%}
    {{ return(run_query(sql) | length == 0) }}
{%- endmacro -%}


{#- What changes in the model's events. Where the captures went on, nothing is taken out: an event that another capture has
    told before only changes hands if that one comes first. -#}
{%- macro _gbase_events_difference(run, goes_on) -%}
    {%- set columns = spark_cdc._described(run.target) -%}
    {%- do columns.pop('cdc_batch') -%}
    {%- set events = spark_cdc._gbase_select(run) -%}
    {%- set existing = 'select * from ' ~ run.target -%}
    {%- if goes_on -%}
        {%- set existing = existing ~ '\nwhere cdc_sequence in (select cdc_sequence from ' ~ run.decoded ~ " where kind = 'event')" -%}
        {%- set events -%}
select * from (
    {{ events | indent(4) }}
) as events
left anti join {{ run.target }} as stored
    on
        events.cdc_sequence = stored.cdc_sequence
        and stored.cdc_metadata.capture_id <= events.cdc_metadata.capture_id
        {%- endset -%}
    {%- endif -%}
select
    *,
    {{ spark_cdc._literal(run.batch) }} as cdc_batch
from (
    {{ spark_cdc._difference(
        existing, events, ['cdc_sequence'], columns, goes='false' if goes_on else 'true', keep_old=true
    ) | indent(4) }}
) as difference
{%- endmacro -%}


{#- Writes the raw rows whose entries may change: the chunks in which something was found, those in which the last run found
    an end that was no whole record, and every delivery of a row that is new. -#}
{%- macro _gbase_reread(run, before) -%}
    {%- set sql -%}
create table {{ spark_cdc._helper('reread_' ~ run.suffix) }} using parquet as
{{ spark_cdc._gbase_items(run.layout) }},

places as (
    select
        capture_id,
        chunk
    from items
    where reason is not null
    union
    select
        capture_id,
        chunk
    from {{ before }}
    where
        kind = 'tail'
        and capture_id in (select capture_id from {{ run.decoded }})
)

select {{ run.names }} from {{ run.raw }}
where
    (cast(capture_id as string), cast(chunk_number as bigint)) in (select capture_id, chunk from places)
    or (cdc_hash_1, cdc_hash_2) in (select cdc_hash_1, cdc_hash_2 from {{ run.read }})
union all
select {{ run.names }} from {{ run.read }}
    {%- endset -%}
    {%- do run_query(sql) -%}
{%- endmacro -%}

{#- What changes in the model's quarantined rows: all entries of these raw rows, for those that are now. -#}
{%- macro _gbase_quarantine_difference(run, before) -%}
with deliveries as (
    select
        {{ spark_cdc._raw_json(run.call.layout.types_there) | indent(8) }} as cdc_raw,
        count(*) as cdc_times
    from {{ spark_cdc._helper('reread_' ~ run.suffix) }}
    group by 1
),

found as (
    {{ spark_cdc._gbase_select(run, spark_cdc._helper('reread_' ~ run.suffix)) | indent(4) }}
),

-- ends of chunks that the new ones go on from
completed as (
    select
        items.capture_id,
        items.reason,
        {{ spark_cdc._gbase_detail() | indent(8) }} as detail
    from (
        select
            *,
            cast(null as int) as record_number
        from {{ before }}
        where
            kind = 'tail'
            and capture_id in (select capture_id from {{ run.decoded }})
    ) as items
),

entries as (
    select
        reason,
        detail,
        raw
    from found
    union
    select
        stored.reason,
        stored.detail,
        stored.raw
    from {{ run.target }} as stored
    left anti join completed
        on
            get_json_object(stored.raw, '$.{{ spark_cdc._gbase_spelled(run.layout, 'capture_id') }}') = completed.capture_id
            and stored.reason = completed.reason
            and stored.detail = completed.detail
    where stored.raw in (select cdc_raw from deliveries)
)

select
    true as cdc_is_removed,
    cast(null as string) as cdc_source,
    cast(null as string) as reason,
    cast(null as string) as detail,
    cdc_raw as raw
from deliveries
where cdc_raw in (select raw from {{ run.target }})
union all
select
    false as cdc_is_removed,
    'gbase_capture' as cdc_source,
    entries.reason,
    entries.detail,
    entries.raw
from entries
inner join deliveries
    on entries.raw = deliveries.cdc_raw
    lateral view explode(sequence(1L, deliveries.cdc_times)) times as cdc_time
{%- endmacro -%}

{#- A column as the relation spells it. -#}
{%- macro _gbase_spelled(layout, name) -%}
    {%- for there in layout.types_there if there | lower == name -%}{{ return(there) }}{%- endfor -%}
{%- endmacro -%}


{#- For the general part of a run: the capture, which the raw rows that were read are kept with. -#}
{%- macro _together_gbase_capture(layout) -%}
    {{ return({'group': 'cast(capture_id as string)', 'sequence_prefix': none}) }}
{%- endmacro -%}
