{#- The windows of a key, by event time, and which rows of a window count. -#}

{#- The position of a row in the order of the log. -#}
{%- macro _netiq_place(spec) -%}
    {{ return('cdc_event_time, cdc_record_id' if spec.is_by_time else 'cdc_record_id') }}
{%- endmacro -%}

{#- CTEs to `windowed`: the rows that are not refused on their own, with the windows in which precedence applies. Those that are not
    active have a reason. -#}
{%- macro _netiq_windows(spec) -%}
    {%- set reasons = [] -%}
    {%- if spec.is_by_time -%}
        {%- do reasons.append('when cdc_event_time > ' ~ spark_cdc._netiq_time_literal(spec.as_of) ~ " then 'waiting'") -%}
    {%- endif -%}
    {%- if not spec.lookups.snapshot -%}{%- do reasons.append("when cdc_event_type >= 5 then 'no_snapshot'") -%}{%- endif -%}
{{ spark_cdc._netiq_items(spec) }},

-- waiting rows are not active yet{{ '; without a snapshot, query-back rows are in quarantine' if not spec.lookups.snapshot }}
active as (
    select
        * except (cdc_reason, cdc_detail),
        {%- if reasons %}
        case
            {{ reasons | join('\n') | indent(12) }}
        end as cdc_reason
        {%- else %}
        cast(null as string) as cdc_reason
        {%- endif %}
    from judged
    where cdc_reason is null
)
    {%- if spec.lookups.snapshot %},

{{ spark_cdc._netiq_divided(spec, 'active', 'cdc_reason is null and cdc_event_type = 4') }},

-- a window is identified by its rows, without deletes
windowed as (
    select
        *,
        cdc_deletes > cdc_deletes_before as cdc_is_overtaken,
        concat_ws(
            ' ',
            count(*) over in_window,
            bit_xor(xxhash64(cdc_record_id)) over in_window,
            min(cdc_record_id) over in_window,
            max(cdc_record_id) over in_window
        ) as cdc_question
    from divided
    window in_window as (
        partition by cdc_key, cdc_object, cdc_event_time, cdc_deletes_before, cdc_event_type = 4, cdc_reason
    )
)
    {%- endif -%}
{%- endmacro -%}

{#- The CTE `divided`: the rows of `relation` with the number of earlier deletes of their key, which divide its windows. -#}
{%- macro _netiq_divided(spec, relation, is_delete) -%}
-- the deletes of a key divide its windows
divided as (
    select
        *,
        count_if({{ is_delete }}) over before as cdc_deletes_before,
        count_if({{ is_delete }}) over (partition by cdc_key) as cdc_deletes
    from {{ relation }}
    window before as (
        partition by cdc_key
        order by {{ spark_cdc._netiq_place(spec) }}
        rows between unbounded preceding and 1 preceding
    )
)
{%- endmacro -%}
