{#- The change events of one table in the capture stream of GBase 8s or Informix. See _macros.yml for the arguments. -#}
{%- macro gbase_capture(relation, table_id, key, columns, gbase_encoding=none, gbase_rtrim_char=none, null_keys=false, before_image='row') -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- if spark_cdc._is_untold(relation) -%}{{ return(spark_cdc._untold(relation)) }}{%- endif -%}
    {%- set spec = spark_cdc._spec_gbase_capture(
        relation, table_id, key, columns, gbase_encoding, gbase_rtrim_char, null_keys, before_image
    ) -%}
    {{ return(spark_cdc.decode('gbase_capture', spec)) }}
{%- endmacro -%}


{#- The change events. -#}
{%- macro _events_gbase_capture(spec) -%}
    {%- set table = {} -%}
    {%- for name in spec.columns -%}{%- do table.update({name: 'cdc_row.' ~ spark_cdc._quote(name)}) -%}{%- endfor -%}
{{ spark_cdc._gbase_judged(spec) }},

-- captures that overlap after a restart repeat changes: the first one counts
numbered as (
    select
        *,
        row_number() over (
            partition by cdc_sequence
            order by capture_id, chunk, chunk_offset
        ) as cdc_number
    from judged
    where
        kind = 'event'
        and not cdc_has_bad_value
)

{{ spark_cdc.select_events(spec, {
    'cdc_operation': 'cdc_operation',
    'cdc_sequence': 'cdc_sequence',
    'cdc_commit_sequence': 'cdc_commit_sequence',
    'cdc_commit_at': 'cdc_commit_at',
    'cdc_transaction_id': 'cdc_transaction_id',
    'cdc_changed_columns': 'case when not cdc_before_has_bad_value then cdc_changed_columns end',
    'cdc_present_columns': 'cdc_present_columns',
    'cdc_before': spark_cdc._before_of(spec, condition='not cdc_before_has_bad_value'),
    'cdc_metadata': spark_cdc._gbase_metadata(spec),
}, 'numbered', table) }}
where cdc_number = 1
{%- endmacro -%}


{#- Other facts that the source gives about a change. -#}
{%- macro _gbase_metadata(spec) -%}
named_struct(
    'capture_id', capture_id,
    'table_id', {{ spec.table_id }},
    'user_id', user_id,
    'began_at', began_at
)
{%- endmacro -%}


{#- One row for each record or tail that cannot be read, for each delivery of the chunk where it begins. -#}
{%- macro _quarantine_gbase_capture(spec) -%}
{{ spark_cdc._gbase_items(spec) }},

deliveries as (
    select
        capture_id,
        chunk_number,
        payload,
        {{ spark_cdc.raw_json(spec.raw_columns) | indent(8) }} as cdc_raw
    from {{ spec.relation }}
)

select
    'gbase_capture' as cdc_source,
    items.reason,
    {{ spark_cdc._gbase_detail() | indent(4) }} as detail,
    deliveries.cdc_raw as raw
from items
inner join deliveries
    on
        items.capture_id = cast(deliveries.capture_id as string)
        and items.chunk = cast(deliveries.chunk_number as bigint)
where items.reason is not null
union all
select
    'gbase_capture' as cdc_source,
    'truncated_record' as reason,
    case
        when capture_id is null or chunk_number is null or payload is null
            then 'capture_id, chunk_number or payload is NULL'
        else 'capture_id is not UTF-8'
    end as detail,
    cdc_raw as raw
from deliveries
where
    {{ spark_cdc._gbase_capture_id('capture_id') }} is null
    or chunk_number is null
    or payload is null
{%- endmacro -%}


{#- The four counts, for `raw_counts`. A chunk is in quarantine if any part of it is. Otherwise it is used if any record of
    it is. -#}
{%- macro _raw_counts_gbase_capture(spec) -%}
{{ spark_cdc._gbase_items(spec) }},

-- the chunks at both ends of each record, and those between
reached as (
    select
        capture_id,
        chunk_number,
        bool_or(reason is not null) as is_refused
    from items
        lateral view explode(array(chunk, end_chunk)) ends as chunk_number
    group by capture_id, chunk_number
),

long_items as (
    select * from items
    where end_chunk > try_add(chunk, 1)
),

between_ends as (
    select
        raw.capture_id,
        raw.chunk_number,
        bool_or(long_items.reason is not null) as is_refused
    from raw
    inner join long_items
        on
            raw.capture_id = long_items.capture_id
            and raw.chunk_number > long_items.chunk
            and raw.chunk_number < long_items.end_chunk
    group by raw.capture_id, raw.chunk_number
),

judged_chunks as (
    select
        {{ spark_cdc._gbase_capture_id('chunks_there.capture_id') }} is null
        or chunks_there.chunk_number is null
        or chunks_there.payload is null
        or coalesce(reached.is_refused, false)
        or coalesce(between_ends.is_refused, false) as is_refused,
        reached.is_refused is not null or between_ends.is_refused is not null as is_used
    from {{ spec.relation }} as chunks_there
    left join reached
        on
            cast(chunks_there.capture_id as string) = reached.capture_id
            and cast(chunks_there.chunk_number as bigint) = reached.chunk_number
            and length(chunks_there.payload) > 0
    left join between_ends
        on
            cast(chunks_there.capture_id as string) = between_ends.capture_id
            and cast(chunks_there.chunk_number as bigint) = between_ends.chunk_number
            and length(chunks_there.payload) > 0
)

select
    count(*) as raw_rows,
    count_if(not is_refused and is_used) as used_rows,
    count_if(not is_refused and not is_used) as no_op_rows,
    count_if(is_refused) as quarantined_rows
from judged_chunks
{%- endmacro -%}
