{#- The deliveries with the reason if they are in quarantine. -#}

{#- CTEs to `judged`: every delivery, with the reason if it is in quarantine. -#}
{%- macro _db2_judged(spec) -%}
    {%- set has_base = spec.lookups.base -%}
{{ spark_cdc._db2_capture_rows(spec, as_delivered=true) }},
    {%- if not has_base %}

{{ spark_cdc._db2_doubtful() }},
    {%- endif %}

{{ spark_cdc._db2_positions(spec, 'well_formed' if has_base else 'doubtful') }},
    {%- if has_base %}

{{ spark_cdc._db2_keys(spec, 'positions') }},

{{ spark_cdc._db2_answered_keys(spec) }},
    {%- endif %}

judged as (
    select
        cdc_reason,
        cdc_raw,
        cdc_commitseq_as_written,
        cdc_intentseq_as_written,
        cdc_operation,
        cdc_null_keys,
        cdc_bad_values
    from judged_alone
    where cdc_reason is not null
    union all
    select
        {%- if has_base %}
        case
            when keyed.cdc_is_conflict then 'sequence_conflict'
            when answered_keys.cdc_bad_base is not null then 'bad_value'
        end as cdc_reason,
        {%- else %}
        case when cdc_is_conflict then 'sequence_conflict' end as cdc_reason,
        {%- endif %}
        cdc_raw,
        cdc_commitseq_as_written,
        cdc_intentseq_as_written,
        cdc_operation,
        '' as cdc_null_keys,
        {{ 'answered_keys.cdc_bad_base' if has_base else 'cast(null as string)' }} as cdc_bad_values
    {%- if has_base %}
    from keyed
    left join answered_keys
        on keyed.cdc_key = answered_keys.cdc_key
    {%- else %}
    from positions
    union all
    select /*+ broadcast(repeated) */
        cast(null as string) as cdc_reason,
        cdc_raw,
        cdc_commitseq_as_written,
        cdc_intentseq_as_written,
        cast(null as string) as cdc_operation,
        '' as cdc_null_keys,
        cast(null as string) as cdc_bad_values
    from well_formed
    left anti join repeated
        on pmod(xxhash64(well_formed.cdc_place, well_formed.cdc_intentseq), 1048576) = repeated.cdc_bucket
    {%- endif %}
)
{%- endmacro -%}

{#- CTEs to `doubtful`: the rows whose position other rows may have. Such positions are kept as hash buckets, which always fit
    in memory. -#}
{%- macro _db2_doubtful() -%}
positions_of_several as (
    select xxhash64(cdc_place, cdc_intentseq) as cdc_hash
    from well_formed
    group by xxhash64(cdc_place, cdc_intentseq)
    having count(*) > 1
),

repeated as (
    select distinct pmod(cdc_hash, 1048576) as cdc_bucket
    from positions_of_several
),

doubtful as (
    select /*+ broadcast(repeated) */ well_formed.*
    from well_formed
    left semi join repeated
        on pmod(xxhash64(well_formed.cdc_place, well_formed.cdc_intentseq), 1048576) = repeated.cdc_bucket
)
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
