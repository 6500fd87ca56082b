{#- The parts of the decoder of GBase capture streams. The Python functions spark_cdc_gbase_… read the bytes, and name their
    documents. The macros here pass rows to them, and turn their values into columns. In their names a stretch is a segment
    of a capture, and a bucket is a shard. -#}

{#- The id of a capture as text; NULL for bytes that are no UTF-8, which no Python function can read. -#}
{%- macro _gbase_capture_id(column) -%}
try_validate_utf8(cast({{ column }} as string))
{%- endmacro -%}

{#- CTEs from the chunks to `decoded`, the rows of spark_cdc_gbase_changes. With `spec.state`, a relation of such rows,
    parsing continues from that state. -#}
{%- macro _gbase_decoded(spec) -%}
with raw as (
    select
        {{ spark_cdc._gbase_capture_id('capture_id') }} as capture_id,
        cast(chunk_number as bigint) as chunk_number,
        payload,
        xxhash64(payload) as payload_hash
    from {{ spec.relation }}
    where
        {{ spark_cdc._gbase_capture_id('capture_id') }} is not null
        and chunk_number is not null
        and length(payload) > 0
),

chunks as (
    select
        capture_id,
        chunk_number,
        length(payload) as byte_count,
        left(payload, 16) as head,
        payload_hash
    from raw
),

-- the segments: chunks that can be read without the chunks before them
stretches as (
    select *
    from
        spark_cdc_gbase_stretches(
            table(chunks)
            partition by capture_id
            order by struct(chunk_number, payload_hash)
        )
),

stretch_chunks as (
    select
        stretches.capture_id,
        stretches.stretch,
        stretches.is_last,
        stretches.buckets,
        stretches.role,
        stretches.from_byte,
        raw.chunk_number,
        case stretches.role
            when 'context' then substring(raw.payload, stretches.from_byte + 1)
            else raw.payload
        end as payload,
        raw.payload_hash
    from stretches
    inner join raw
        on stretches.capture_id = raw.capture_id and stretches.chunk_number = raw.chunk_number
    {%- if spec.state %}
    union all
    select
        stretches.capture_id,
        stretches.stretch,
        stretches.is_last,
        stretches.buckets,
        case when stretches.is_first then 'state' else 'buffer' end as role,
        cast(null as int) as from_byte,
        cast(null as bigint) as chunk_number,
        state.content as payload,
        cast(null as bigint) as payload_hash
    from stretches
    inner join {{ spec.state }} as state
        on stretches.capture_id = state.capture_id
    where
        stretches.chunk_number = stretches.stretch
        and stretches.role = 'chunk'
        and state.kind = 'framer'
    {%- endif %}
),

framed as (
    select *
    from
        spark_cdc_gbase_records(
            {{ spec.table_id }},
            table(stretch_chunks)
            partition by struct(capture_id, stretch)
            order by struct(chunk_number, payload_hash)
        )
),

placed as (
    select
        capture_id,
        bucket,
        kind,
        chunk,
        chunk_offset,
        end_chunk,
        reason,
        detail,
        content,
        2 as part
    from framed
    {%- if spec.state %}
    union all
    -- a transaction goes to the shard of its next records, a schema to all shards
    select
        state.capture_id,
        bucket,
        state.kind,
        state.chunk,
        state.chunk_offset,
        state.end_chunk,
        state.reason,
        state.detail,
        state.content,
        case state.kind when 'known' then 0 else 1 end as part
    from {{ spec.state }} as state
    inner join stretches
        on state.capture_id = stretches.capture_id
        lateral view explode(
            case
                when state.transaction_id is null then sequence(0, stretches.buckets - 1)
                else array(pmod(state.transaction_id, stretches.buckets))
            end
        ) buckets as bucket
    where
        state.kind in ('known', 'open')
        and stretches.is_first
        and stretches.chunk_number = stretches.stretch
        and stretches.role = 'chunk'
    {%- endif %}
),

decoded as (
    select *
    from
        spark_cdc_gbase_changes(
            {{ spark_cdc._gbase_settings(spec) }},
            table(placed)
            partition by struct(capture_id, bucket)
            order by struct(part, chunk, chunk_offset)
        )
)
{%- endmacro -%}

{#- CTEs that end in `judged`: the decoded rows, with values of the declared types. If `spec.decoded` is given, it is a
    relation that already has the decoded rows. -#}
{%- macro _gbase_judged(spec) -%}
    {%- if spec.decoded -%}
with decoded as (
    select * from {{ spec.decoded }}
),
    {%- else -%}
{{ spark_cdc._gbase_decoded(spec) }},
    {%- endif %}

-- A generator, so that each value is cast once: Spark copies expressions of a select into everything above.
typed as (
    select
        decoded.*,
        images.*
    from decoded
        lateral view inline(array(named_struct(
            'cdc_row', {{ spark_cdc._gbase_row(spec, 'after') | indent(12) }},
            'cdc_before', if(
                before is null,
                null,
                {{ spark_cdc._gbase_row(spec, 'before') | indent(16) }}
            )
        ))) images as cdc_row, cdc_before
    where kind in ('event', 'refused', 'tail')
),

judged as (
    select
        *,
        {{ spark_cdc._gbase_has_bad_value(spec, 'after', 'cdc_row') | indent(8) }} as cdc_has_bad_value,
        {{ spark_cdc._gbase_has_bad_value(spec, 'before', 'cdc_before') | indent(8) }} as cdc_before_has_bad_value
    from typed
)
{%- endmacro -%}

{#- For each column of the table the SQL that reads its value: name -> {`text`: SQL, `number`: SQL or none, `family`}. -#}
{%- macro _gbase_places(spec, side) -%}
    {%- set places, counts = {}, {'texts': 0, 'others': 0, 'integers': 0, 'floats': 0} -%}
    {%- for name, data_type in spec.columns.items() -%}
        {%- set family = spark_cdc._gbase_family(data_type) -%}
        {%- set group = 'texts' if family == 'text' else 'others' -%}
        {%- set place = {'group': group, 'index': counts[group], 'number': none, 'family': family} -%}
        {%- do counts.update({group: counts[group] + 1}) -%}
        {%- if family != 'text' -%}
            {%- set list = 'floats' if family == 'float' else 'integers' -%}
            {%- do place.update({'number': side ~ '.' ~ list ~ '[' ~ counts[list] ~ ']'}) -%}
            {%- do counts.update({list: counts[list] + 1}) -%}
        {%- endif -%}
        {%- do places.update({name: place}) -%}
    {%- endfor -%}
    {%- for place in places.values() -%}
        {#- after the end of the list there is no number -#}
        {%- set index = place.index + (counts.texts if place.group == 'others' else 0) -%}
        {%- do place.update({'text': 'get(' ~ side ~ '.texts, ' ~ index ~ ')'}) -%}
    {%- endfor -%}
    {{ return(places) }}
{%- endmacro -%}
