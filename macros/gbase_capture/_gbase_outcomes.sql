{#- What became of chunks, and of the records in them that are refused. -#}

{#- CTEs to `refused`: one row for each record or tail that cannot be read, for each delivery of the chunk where it begins. -#}
{%- macro _gbase_refused(spec) -%}
deliveries as (
    select
        {{ spark_cdc._gbase_capture_id('capture_id') }} as capture_id,
        cast(chunk_number as bigint) as chunk_number,
        length(payload) as byte_count,
        {{ spark_cdc._of_quarantine(spec, spark_cdc.raw_json(spec.raw_columns)) | indent(8) }} as cdc_raw,
        case
            when capture_id is null or chunk_number is null or payload is null
                then 'capture_id, chunk_number or payload is NULL'
            when {{ spark_cdc._gbase_capture_id('capture_id') }} is null then 'capture_id is not UTF-8'
        end as cdc_problem
    from {{ spec.relation }}
),

refused as (
    select
        items.reason as cdc_reason,
        {{ spark_cdc._gbase_detail() | indent(8) }} as cdc_detail,
        deliveries.cdc_raw
    from items
    inner join deliveries
        on
            items.capture_id = deliveries.capture_id
            and items.chunk = deliveries.chunk_number
    where items.reason is not null
    union all
    select
        'truncated_record' as cdc_reason,
        cdc_problem as cdc_detail,
        cdc_raw
    from deliveries
    where cdc_problem is not null
)
{%- endmacro -%}

{#- CTEs to `judged_chunks`: whether each chunk is refused, or used. -#}
{%- macro _gbase_chunks(spec) -%}
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
        deliveries.capture_id,
        deliveries.chunk_number,
        bool_or(long_items.reason is not null) as is_refused
    from deliveries
    inner join long_items
        on
            deliveries.capture_id = long_items.capture_id
            and deliveries.chunk_number > long_items.chunk
            and deliveries.chunk_number < long_items.end_chunk
    where deliveries.byte_count > 0
    group by deliveries.capture_id, deliveries.chunk_number
),

judged_chunks as (
    select
        deliveries.cdc_problem is not null
        or coalesce(reached.is_refused, false)
        or coalesce(between_ends.is_refused, false) as is_refused,
        reached.is_refused is not null or between_ends.is_refused is not null as is_used
    from deliveries
    left join reached
        on
            deliveries.capture_id = reached.capture_id
            and deliveries.chunk_number = reached.chunk_number
            and deliveries.byte_count > 0
    left join between_ends
        on
            deliveries.capture_id = between_ends.capture_id
            and deliveries.chunk_number = between_ends.chunk_number
            and deliveries.byte_count > 0
)
{%- endmacro -%}
