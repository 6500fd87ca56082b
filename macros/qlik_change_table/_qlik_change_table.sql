{#- The parts of the decoder of Qlik change tables. Sources: Qlik Replicate Help, "Change Tables", "Using the Change Table
    model", "Header Columns"; Qlik Talend Data Integration Help, "Change tables"; one captured Oracle table. -#}

{#- CTEs from the raw rows to `judged`: each raw row that is refused, with the reason, and each change sequence at most once as event
    and once as before image. -#}
{%- macro _qlik_change_table_rows(spec) -%}
    {%- set headers = spec.headers -%}
    {%- set row = spark_cdc._qlik_row_of(spec, spec.sources, spec.raw_columns) -%}
    {#- What makes a row the same change: headers that only inform differ where a task copies a change again. -#}
    {%- set change = ['cdc_operation', 'cdc_transaction_id', 'cdc_mask_as_written', 'cdc_row'] + (['cdc_bytes'] if row.collated else []) -%}
    {%- set informing = [] -%}
    {%- for header in ('stream_position', 'operation_name', 'timestamp', 'partition_name') if header == 'operation_name' or header in headers -%}
        {%- do informing.append('cdc_' ~ header) -%}
    {%- endfor -%}
with raw as (
    select
        cast({{ spark_cdc._quote(headers['change_seq']) }} as string) as cdc_change_seq,
        {{ spark_cdc._qlik_header(spec, 'change_oper') }} as cdc_change_oper,
        {{ spark_cdc._qlik_header(spec, 'operation') }} as cdc_operation_name,
        {{ spark_cdc._qlik_mask(spec) | indent(8) }} as cdc_mask,
        coalesce(
            {{ spark_cdc._qlik_operation(
                spark_cdc._qlik_header(spec, 'change_oper'), spark_cdc._qlik_header(spec, 'operation')
            ) | indent(12) }} = 'before image',
            false
        ) as cdc_is_before,
        case
            when rtrim({{ spark_cdc._qlik_header(spec, 'transaction_id', trimmed=false) }}) <> ''
                then {{ spark_cdc._qlik_header(spec, 'transaction_id', trimmed=false) }}
        end as cdc_transaction_id,
        {%- for header in ('stream_position', 'timestamp', 'partition_name') if header in headers %}
        {{ spark_cdc._bytewise(spark_cdc._quote(headers[header]), spec.raw_columns[headers[header]]) }} as cdc_{{ header }},
        {%- endfor %}
        {{ row.fields | indent(8) }} as cdc_row,
        {{ row.casts | join('\nor ') | indent(8) or 'false' }} as cdc_has_bad_value,
        -- here: if this is a view, Spark 4.1 finds no fields of cdc_row in the conditions of a generator
        {{ row.null_keys | join('\nor ') | indent(8) or 'false' }} as cdc_has_null_key,
        {{ spark_cdc._of_quarantine(spec, spark_cdc.raw_json(spec.raw_columns)) | indent(8) }} as cdc_raw,
        case
            when cdc_has_bad_value
                then {{ spark_cdc._of_quarantine(spec, spark_cdc._bad_value_detail(row.bad_values)) | indent(16) }}
        end as cdc_bad_values,
        {%- if row.collated %}
        -- texts that are equal in their collation make different rows
        array(
            {{ row.collated | join(',\n') | indent(12) }}
        ) as cdc_bytes,
        {%- endif %}
        {{ spark_cdc._qlik_header(spec, 'change_mask', trimmed=false) }} as cdc_mask_as_written
    from {{ spec.relation }}
),

-- The content of a row, or the reason why it is in quarantine. These are generators, so that Spark reads each
-- header once a row: it copies expressions of a select into everything above.
judged_alone as (
    select
        raw.*,
        header.*,
        verdict.cdc_reason
    from raw
        lateral view inline(array(named_struct(
            'cdc_operation', {{ spark_cdc._qlik_operation('cdc_change_oper', 'cdc_operation_name') | indent(12) }},
            'cdc_other_operation', {{ spark_cdc._qlik_operation_in('cdc_operation_name', 'name') | indent(12) }},
            {{ spark_cdc._qlik_mask_words(spec, named=true) | indent(12) }},
            'cdc_mask_rest', {{ spark_cdc._qlik_mask_rest(spec) }}
        ))) header as
        cdc_operation,
        cdc_other_operation,
        {%- for word in range(spark_cdc._qlik_word_count(spec)) %}
        cdc_mask_{{ word }},
        {%- endfor %}
        cdc_mask_rest
        lateral view explode(array(
            case
                when not coalesce(
                    {{ spark_cdc._qlik_change_seq_is_good('cdc_change_seq') | indent(20) }},
                    false
                ) then 'bad_change_seq'
                when cdc_operation is null then 'unknown_operation'
                when cdc_operation <> 'truncate' and cdc_operation <> cdc_other_operation then 'operation_mismatch'
                when cdc_operation <> 'truncate' and cdc_has_bad_value then 'bad_value'
                when
                    cdc_operation in ('insert', 'update')
                    and cdc_mask_as_written is not null
                    and not (
                        {{ spark_cdc._qlik_mask_is_good(spec) | indent(24) }}
                    )
                    then 'bad_mask'
                when cdc_operation in ('insert', 'update', 'delete') and cdc_has_null_key then 'null_key'
            end
        )) verdict as cdc_reason
),

well_formed as (
    select * from judged_alone
    where cdc_reason is null
),

-- Change sequences that may be on more than one row of the same kind, or on rows of two transactions.
{%- if spec.builds != 'events' %}
-- Also those of a before image that may have no update.
{%- endif %}
-- They are kept as hash buckets. A bucket has whole sequences, and all buckets always fit in memory. Rows in other buckets
-- need no further check.
claims as (
    select
        xxhash64(cdc_change_seq) as cdc_hash,
        count_if(cdc_is_before) as cdc_before_images,
        count_if(not cdc_is_before) as cdc_event_rows,
        {%- if spec.builds != 'events' %}
        count_if(cdc_operation = 'update') as cdc_updates,
        {%- endif %}
        min(hash(cdc_change_seq)) as cdc_least_hash,
        max(hash(cdc_change_seq)) as cdc_greatest_hash,
        min(xxhash64(cdc_transaction_id)) as cdc_least_transaction,
        max(xxhash64(cdc_transaction_id)) as cdc_greatest_transaction
    from {{ 'raw' if spec.builds == 'events' else 'well_formed' }}
    group by xxhash64(cdc_change_seq)
),

doubtful as (
    select distinct pmod(cdc_hash, 1048576) as cdc_bucket
    from claims
    where
        cdc_before_images > 1
        or cdc_event_rows > 1
        {%- if spec.builds != 'events' %}
        or cdc_before_images > cdc_updates
        {%- endif %}
        or cdc_least_hash <> cdc_greatest_hash
        or cdc_least_transaction <> cdc_greatest_transaction
),

delivered as (
    select /*+ broadcast(doubtful) */
        judged_alone.*,
        case
            when judged_alone.cdc_reason is null
                then struct({{ change | join(', ') }})
        end as cdc_delivery
    from judged_alone
    left semi join doubtful
        on pmod(xxhash64(judged_alone.cdc_change_seq), 1048576) = doubtful.cdc_bucket
),

-- Rows of the same change are one row, the least by what only informs. The least and the greatest differ if there are others.
compared as (
    select
        * except (cdc_transaction_id),
        min(case when not cdc_is_before then cdc_delivery end) over of_sequence as cdc_least_event,
        max(case when not cdc_is_before then cdc_delivery end) over of_sequence as cdc_greatest_event,
        min(case when cdc_is_before then cdc_delivery end) over of_sequence as cdc_least_before,
        max(case when cdc_is_before then cdc_delivery end) over of_sequence as cdc_greatest_before,
        bool_or(cdc_reason is null and cdc_operation = 'update') over of_sequence as cdc_has_update,
        row_number() over of_change as cdc_copy,
        count(*) over (partition by cdc_change_seq, cdc_is_before, cdc_reason) as cdc_raw_rows,
        -- a before image belongs to the transaction of its update
        max(case when not cdc_is_before and cdc_reason is null then cdc_transaction_id end)
            over of_sequence as cdc_transaction_id
    from delivered
    window
        of_sequence as (partition by cdc_change_seq),
        of_change as (
            partition by cdc_change_seq, cdc_is_before, cdc_reason
            order by {{ informing | join(', ') }}
        )
),

compared_rows as (
    select
        * except (
            cdc_reason,
            cdc_delivery,
            cdc_least_event,
            cdc_greatest_event,
            cdc_least_before,
            cdc_greatest_before,
            cdc_has_update
        ),
        -- not in the select with the windows: Spark cannot compare collated texts there
        case
            when cdc_reason is not null then cdc_reason
            when not cdc_is_before and cdc_least_event <> cdc_greatest_event then 'sequence_conflict'
            when cdc_is_before and cdc_least_before <> cdc_greatest_before then 'sequence_conflict'
            when
                cdc_is_before and (cdc_least_event <> cdc_greatest_event or not cdc_has_update)
                then 'orphan_before_image'
        end as cdc_reason
    from compared
),

judged as (
    select /*+ broadcast(doubtful) */
        judged_alone.* except (cdc_transaction_id, cdc_reason),
        1L as cdc_raw_rows,
        judged_alone.cdc_transaction_id,
        judged_alone.cdc_reason
    from judged_alone
    left anti join doubtful
        on pmod(xxhash64(judged_alone.cdc_change_seq), 1048576) = doubtful.cdc_bucket
    union all
    select
        * except (cdc_copy, cdc_raw_rows, cdc_transaction_id, cdc_reason),
        if(cdc_reason is null, cdc_raw_rows, 1L) as cdc_raw_rows,
        cdc_transaction_id,
        cdc_reason
    from compared_rows
    where
        cdc_reason is not null
        or cdc_copy = 1
)
{%- endmacro -%}
