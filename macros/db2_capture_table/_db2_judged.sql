{#- The rows at one position, judged together, and what quarantine says of a row. -#}

{#- CTEs from `placed` to `judged`: each row that is refused, with its reason, and each position once. With `base`, whose values may
    be the reason, copies of a row are there too, with cdc_is_copy. Rows contradict each other if their contents at one position
    differ. Without `base` a delete and an insert do not: they are the halves of one update, with cdc_is_half, in this order. -#}
{%- macro _db2_judged(spec) -%}
    {%- set has_halves = not spec.lookups.base -%}
    {%- set content = ['cdc_operation'] -%}
    {%- for name in spark_cdc._db2_of_commit(spec.headers, spec.raw_columns) -%}{%- do content.append('cdc_' ~ name | lower) -%}{%- endfor -%}
    {%- do content.extend(['cdc_row'] + (['cdc_before'] if spec.befores else []) + ['cdc_bytes']) -%}
{{ spark_cdc._db2_capture_rows(spec) }},

-- Positions that several rows may have. They are kept as hash buckets, which always fit in memory.
positions as (
    select xxhash64(cdc_place, cdc_intentseq) as cdc_hash
    from placed
    where cdc_reason is null
    group by xxhash64(cdc_place, cdc_intentseq)
    having count(*) > 1
),

repeated as (
    select distinct pmod(cdc_hash, 1048576) as cdc_bucket
    from positions
),

-- operations come first in a content: a delete is less than an insert, an insert less than an update
doubtful as (
    select /*+ broadcast(repeated) */
        placed.*,
        struct({{ content | join(', ') }}) as cdc_content
    from placed
    left semi join repeated
        on pmod(xxhash64(placed.cdc_place, placed.cdc_intentseq), 1048576) = repeated.cdc_bucket
    where placed.cdc_reason is null
),

compared as (
    select
        *,
        min(cdc_content) over at_position as cdc_least,
        max(cdc_content) over at_position as cdc_greatest,
        {%- if has_halves %}
        max(case when cdc_operation = 'D' then cdc_content end) over at_position as cdc_deleted,
        min(case when cdc_operation = 'I' then cdc_content end) over at_position as cdc_inserted,
        {%- endif %}
        row_number() over (partition by cdc_place, cdc_intentseq, cdc_operation <> 'D' order by cdc_intentseq) as cdc_copy,
        count(*) over (partition by cdc_place, cdc_intentseq, cdc_operation <> 'D') as cdc_copies
    from doubtful
    window at_position as (partition by cdc_place, cdc_intentseq)
),

compared_rows as (
    select
        *,
        -- not in the select with the windows: Spark cannot compare collated texts there
        {%- if has_halves %}
        not cdc_least <=> cdc_greatest and cdc_least <=> cdc_deleted and cdc_greatest <=> cdc_inserted as cdc_is_half,
        not cdc_least <=> cdc_greatest and not cdc_is_half as cdc_is_conflict
        {%- else %}
        false as cdc_is_half,
        not cdc_least <=> cdc_greatest as cdc_is_conflict
        {%- endif %}
    from compared
),

every_row as (
    select /*+ broadcast(repeated) */
        placed.*,
        false as cdc_is_half,
        false as cdc_is_copy,
        1L as cdc_raw_rows,
        placed.cdc_reason as cdc_verdict
    from placed
    left anti join repeated
        on
            placed.cdc_reason is null
            and pmod(xxhash64(placed.cdc_place, placed.cdc_intentseq), 1048576) = repeated.cdc_bucket
    union all
    select
        * except (
            cdc_content,
            cdc_least,
            cdc_greatest,
            {{ 'cdc_deleted,\n            cdc_inserted,' if has_halves }}
            cdc_copy,
            cdc_copies,
            cdc_is_half,
            cdc_is_conflict
        ),
        cdc_is_half,
        not cdc_is_conflict and cdc_copy > 1 as cdc_is_copy,
        {{ 'if(cdc_is_conflict, 1L, cdc_copies)' if has_halves else '1L' }} as cdc_raw_rows,
        if(cdc_is_conflict, 'sequence_conflict', null) as cdc_verdict
    from compared_rows
    {%- if has_halves %}
    where
        cdc_is_conflict
        or cdc_copy = 1
    {%- endif %}
),

judged as (
    select
        * except (cdc_reason, cdc_verdict),
        cdc_verdict as cdc_reason,
        -- sorted first: numbers are compared faster than sequences, which begin alike
        xxhash64(cdc_place) as cdc_bucket,
        cdc_operation <> 'D' as cdc_is_after,
        {{ spark_cdc._db2_is_load_place() }} as cdc_is_load
    from every_row
)
{%- endmacro -%}

{#- The rows of `relation` that are refused, after the events. -#}
{%- macro _db2_and_refused(spec, relation) -%}
{{ spark_cdc._and_outcomes(spec, {
    'cdc_kind': "'refused'", 'cdc_reason': 'cdc_reason', 'cdc_raw': 'cdc_raw',
    'cdc_detail': spark_cdc._of_quarantine(spec, spark_cdc._db2_detail(spec)),
}, relation, 'cdc_reason is not null') }}
{%- endmacro -%}

{#- The text of `detail`: what a person needs to see with the reason. -#}
{%- macro _db2_detail(spec) -%}
    {%- set commitseq, intentseq = spec.headers.COMMITSEQ, spec.headers.INTENTSEQ -%}
case cdc_reason
    when 'bad_sequence'
        then concat(
            {{ spark_cdc._literal(commitseq ~ ' is ') }},
            coalesce({{ spark_cdc._shown('cdc_commitseq_as_written') }}, 'NULL'),
            {{ spark_cdc._literal(', ' ~ intentseq ~ ' is ') }},
            coalesce({{ spark_cdc._shown('cdc_intentseq_as_written') }}, 'NULL')
        )
    when 'unknown_operation' then concat({{ spark_cdc._literal(spec.headers.OPERATION ~ ' is ') }}, coalesce(cdc_operation, 'NULL'))
    when 'null_key' then concat(cdc_null_keys, ' of the key is NULL')
    when 'sequence_conflict'
        then concat(
            {{ spark_cdc._literal('another row has ' ~ commitseq ~ ' ') }},
            cdc_commitseq_as_written,
            {{ spark_cdc._literal(', ' ~ intentseq ~ ' ') }},
            cdc_intentseq_as_written
        )
    when 'bad_value' then cdc_bad_values
end
{%- endmacro -%}
