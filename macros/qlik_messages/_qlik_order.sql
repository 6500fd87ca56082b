{#- From rows to change events: their order, conflicts, and which delivery of a message counts. -#}

{#- Whether there can be loads that are placed by offsets. A run that decodes a part of a log has none: see the dependencies. -#}
{%- macro _qlik_has_loads(spec) -%}
    {{ return('offset' in spec.found and not spec.is_part) }}
{%- endmacro -%}

{#- CTEs to `judged`: what each delivery says, conflicts included (rule 15), and its place in the order. -#}
{%- macro _qlik_judged(spec) -%}
    {%- set has_loads = spark_cdc._qlik_has_loads(spec) -%}
{{ 'with ' }}
    {%- if 'metadata' in spec.lookups -%}
versions as (
    {{ spark_cdc._qlik_versions({
        'relation': spec.lookups.metadata, 'raw_columns': spec.metadata_columns, 'found': spec.metadata_found,
        'columns': spark_cdc._qlik_version_columns(),
    }) | indent(4) }}
),

{% endif -%}
{{ spark_cdc._qlik_decoded(spec) }},

    {%- if has_loads %}

-- the changes and loads of each partition of a topic, if there are loads at all
positions as (
    select distinct
        coalesce(cdc_topic, '') as cdc_topic,
        cdc_partition_digits,
        cdc_offset,
        cdc_operation = 'load' as cdc_is_load,
        if(cdc_operation = 'load', null, cdc_change_seq) as cdc_anchor
    from (
        select
            cdc_topic,
            cdc_partition_digits,
            cdc_offset,
            cdc_operation,
            cdc_change_seq,
            min(cdc_content) over of_change <=> max(cdc_content) over of_change as cdc_is_agreed
        from contents
        where
            cdc_reason is null
            and exists (
                select 1 as cdc_one
                from messages
                where cdc_message.operation = 'load'
            )
        window of_change as (
            partition by cdc_place, if(cdc_operation = 'load', cdc_same, cdc_change_seq)
        )
    ) as changes_and_loads
    where cdc_is_agreed or cdc_operation = 'load'
),

anchors as (
    select
        cdc_topic,
        cdc_partition_digits,
        cdc_offset,
        max(cdc_anchor) over (
            partition by cdc_topic, cdc_partition_digits
            order by greatest(cdc_offset, -9223372036854775807)
            range between unbounded preceding and 1 preceding
        ) as cdc_anchor,
        cdc_is_load
    from positions
),
    {%- endif %}

sequenced as (
    select
        contents.*,
        case
            when contents.cdc_operation = 'load'
                then {{ "coalesce(anchors.cdc_anchor, repeat('0', 35))" if has_loads else "repeat('0', 35)" }}
        end as cdc_anchor,
        case
            when contents.cdc_operation = 'load'
                then concat_ws(
                    '.',
                    {{ "coalesce(anchors.cdc_anchor, repeat('0', 35))" if has_loads else "repeat('0', 35)" }},
                    contents.cdc_partition_digits,
                    coalesce(lpad(cast(contents.cdc_offset as string), 19, '0'), contents.cdc_hash)
                )
            else contents.cdc_change_seq
        end as cdc_sequence,
        {%- if has_loads %}
        case
            when contents.cdc_operation = 'load' and contents.cdc_offset is not null
                then coalesce(contents.cdc_topic, '')
        end as cdc_load_topic
        {%- else %}
        cast(null as string) as cdc_load_topic
        {%- endif %}
    from contents
    {%- if has_loads %}
    left join anchors
        on
            contents.cdc_operation = 'load'
            and coalesce(contents.cdc_topic, '') = anchors.cdc_topic
            and contents.cdc_partition_digits = anchors.cdc_partition_digits
            and contents.cdc_offset = anchors.cdc_offset
            and anchors.cdc_is_load
    {%- endif %}
),

-- The commit of a transaction is its first change here, even if it is in conflict. Offsets of one partition are of one
-- topic: if loads of several topics are at one place, the names of all but the first tell them apart.
judged as (
    select
        * except (cdc_sequence, cdc_reason),
        concat_ws(
            '.',
            cdc_sequence,
            case
                when cdc_load_topic > min(case when cdc_reason is null then cdc_load_topic end) over of_place
                    then md5(cdc_load_topic)
            end
        ) as cdc_sequence,
        case
            when cdc_operation = 'load' then concat(cdc_anchor, '.')
            when cdc_transaction_id is null then cdc_change_seq
            else min(case when cdc_reason is null then cdc_change_seq end) over of_transaction
        end as cdc_commit_sequence,
        case
            when cdc_reason is not null then cdc_reason
            when not min(cdc_content) over of_position <=> max(cdc_content) over of_position
                then 'sequence_conflict'
        end as cdc_reason,
        row_number() over of_event as cdc_event_number,
        count_if(cdc_reason is null) over of_position as cdc_raw_rows
    from sequenced
    window
        of_transaction as (partition by cdc_place, left(cdc_change_seq, 16), cdc_transaction_id),
        of_place as (partition by cdc_place, cdc_sequence),
        of_position as (partition by cdc_place, cdc_sequence, cdc_load_topic),
        of_event as (
            partition by cdc_place, cdc_sequence, cdc_load_topic
            order by
                cdc_reason is not null asc,
                cdc_delivery_number asc,
                cdc_timestamp asc nulls last,
                cdc_topic asc,
                cdc_partition asc,
                cdc_offset asc
        )
)
{%- endmacro -%}
