{#- How runs of incremental models continue in a GBase stream: see macros/incremental/_resumed.sql. The state of each capture
    has the records of open transactions and the table's schemas. It also has the end of the last chunk if that is not a
    whole record, and the reader's buffer.

    The state is valid while chunks come in order. In three cases a run decodes all chunks again. A chunk belongs before one
    that was read. A record may repeat one that the state no longer has. Or the state does not fit the rows that were read,
    since the run before was killed. -#}

{%- macro _resume_gbase_capture(spec) -%}
    {{ return({
        'decoded': spark_cdc._gbase_decoded(spec) ~ '\nselect * from decoded',
        'state': spark_cdc._gbase_state(spec),
        'breaks': spark_cdc._gbase_breaks(spec),
        'doubts': 'select 1 from ' ~ spec.decoded ~ " where kind = 'doubtful'",
        'sequences': 'select cdc_sequence from ' ~ spec.decoded ~ " where kind = 'event'",
        'replaces': 'events.cdc_metadata.capture_id < stored.cdc_metadata.capture_id',
        'reread': spark_cdc._gbase_may_change(spec),
        'entries': spark_cdc._gbase_entries(spec),
    }) }}
{%- endmacro -%}


{#- The state after spec.decoded; with an earlier state in spec.state, also for the other captures. It has rows of
    spark_cdc_gbase_changes, and for each capture one row of the kind `through`. There `chunk` is the last chunk number, and
    chunk_offset the number of raw rows that were read. The state is kept for the captures that may still continue: those of
    this run, and those whose ids sort last. For a chunk of any other capture a run decodes all chunks. -#}
{%- macro _gbase_state(spec) -%}
    {%- set columns = 'capture_id, kind, chunk, chunk_offset, end_chunk, transaction_id, reason, detail, content' -%}
    {%- set decoded, before = spec.decoded, spec.state -%}
with through as (
    {{ spark_cdc._gbase_through(spec.all_rows, 'true' if not before else 'capture_id in (select capture_id from ' ~ decoded ~ ')') | indent(4) }}
    {%- if before %}
    union all
    -- a capture that was not decoded keeps its state
    select
        state.capture_id,
        greatest(state.chunk, rows_read.chunk) as chunk,
        state.chunk_offset + coalesce(rows_read.chunk_offset, 0) as chunk_offset
    from {{ before }} as state
    left join (
        {{ spark_cdc._gbase_through(spec.new_rows) | indent(8) }}
    ) as rows_read
        on state.capture_id = rows_read.capture_id
    where
        state.kind = 'through'
        and state.capture_id not in (select capture_id from {{ decoded }})
    {%- endif %}
),

kept as (
    select through.*
    from through
    left join (select distinct capture_id from {{ decoded }}) as decoded
        on through.capture_id = decoded.capture_id
    order by decoded.capture_id is null, through.capture_id desc
    limit {{ spark_cdc._gbase_captures_in_state() }}
),

state as (
    select distinct {{ columns }} from {{ decoded }}
    where kind in ('open', 'known', 'framer', 'tail')
    {%- if before %}
    union all
    select {{ columns }} from {{ before }}
    where
        kind <> 'through'
        and capture_id not in (select capture_id from {{ decoded }})
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
{%- endmacro -%}

{#- The number of captures whose state is kept. The variable is for tests and not public. -#}
{%- macro _gbase_captures_in_state() -%}
    {{ return(var('spark_cdc_internal_captures_in_state', 100)) }}
{%- endmacro -%}

{#- The last chunk number and the number of raw rows of each capture, for rows that meet a condition. -#}
{%- macro _gbase_through(rows, condition='true') -%}
select
    capture_id,
    max(chunk_number) as chunk,
    count(*) as chunk_offset
from (
    select
        {{ spark_cdc._gbase_capture_id('capture_id') }} as capture_id,
        cast(chunk_number as bigint) as chunk_number
    from {{ rows }}
) as rows_read
where
    capture_id is not null
    and chunk_number is not null
    and {{ condition }}
group by capture_id
{%- endmacro -%}


{#- Has a row unless two conditions hold: the new chunks come after the chunks of the state, and the state covers all chunks
    that were read. -#}
{%- macro _gbase_breaks(spec) -%}
with new_rows as (
    select
        {{ spark_cdc._gbase_capture_id('capture_id') }} as capture_id,
        min(cast(chunk_number as bigint)) as first_chunk
    from {{ spec.relation }}
    where
        {{ spark_cdc._gbase_capture_id('capture_id') }} is not null
        and chunk_number is not null
        and length(payload) > 0
    group by {{ spark_cdc._gbase_capture_id('capture_id') }}
),

rows_read as (
    {{ spark_cdc._gbase_through(spec.kept) | indent(4) }}
)

select 1
from new_rows
left join rows_read
    on new_rows.capture_id = rows_read.capture_id
left join {{ spec.state }} as state
    on new_rows.capture_id = state.capture_id and state.kind = 'through'
where
    not rows_read.chunk <=> state.chunk
    or not rows_read.chunk_offset <=> state.chunk_offset
    or new_rows.first_chunk <= rows_read.chunk
{%- endmacro -%}


{#- Whether the entries of a chunk may change: something was found in it, or the last run found that its end is not a whole
    record. -#}
{%- macro _gbase_may_change(spec) -%}
(cast(capture_id as string), cast(chunk_number as bigint)) in (
    {{ spark_cdc._gbase_items(spec) | indent(4) }}

    select
        capture_id,
        chunk
    from items
    where reason is not null
    union
    select
        capture_id,
        chunk
    from {{ spec.state }}
    where
        kind = 'tail'
        and capture_id in (select capture_id from {{ spec.decoded }})
)
{%- endmacro -%}

{#- All entries of the chunks in spec.reread: those found now, and earlier ones whose chunk does not continue in the new
    chunks. -#}
{%- macro _gbase_entries(spec) -%}
with deliveries as (
    select
        {{ spark_cdc.raw_json(spec.raw_columns) | indent(8) }} as cdc_raw,
        count(*) as cdc_times
    from {{ spec.reread }}
    group by 1
),

found as (
    {{ spark_cdc._select_of_decoder('quarantine', dict(spec, relation=spec.reread)) | indent(4) }}
),

completed as (
    select
        items.capture_id,
        items.reason,
        {{ spark_cdc._gbase_detail() | indent(8) }} as detail
    from (
        select
            *,
            cast(null as int) as record_number
        from {{ spec.state }}
        where
            kind = 'tail'
            and capture_id in (select capture_id from {{ spec.decoded }})
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
    from {{ spec.quarantined }} as stored
    left anti join completed
        on
            get_json_object(stored.raw, '$.{{ spark_cdc._gbase_spelled(spec, 'capture_id') }}') = completed.capture_id
            and stored.reason = completed.reason
            and stored.detail = completed.detail
    where stored.raw in (select cdc_raw from deliveries)
)

select
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
{%- macro _gbase_spelled(spec, name) -%}
    {%- for there in spec.raw_columns if there | lower == name -%}{{ return(there) }}{%- endfor -%}
{%- endmacro -%}

{#- The transactions that are open at the end of the stream: in the capture whose id sorts last. A later capture repeats what
    was open at the end of an earlier one, so that is never more than once open. -#}
{%- macro _open_transactions_gbase_capture(state) -%}
select count(distinct records.transaction_id) as open_transactions
from {{ state }} as records
where
    records.kind = 'open'
    and records.capture_id = (
        select max(captures.capture_id)
        from {{ state }} as captures
        where captures.kind = 'through'
    )
{%- endmacro -%}
