{#- What each raw row says by itself, and why a row cannot be read. -#}

{#- CTEs from the log to `judged_alone` and `merged`. `judged_alone` has the rows of the table, and rows without a table
    name, with the reason if one is refused on its own. `merged` has each well-formed row once. -#}
{%- macro _netiq_items(spec, as_delivered=false) -%}
    {%- set keys = [] -%}
    {%- for name in spec.key -%}
        {%- set value = spark_cdc._netiq_value(spark_cdc._netiq_key_text('cdc_key_columns', 'cdc_key_parts.values', name), spec.columns[name]) -%}
        {%- do keys.append(spark_cdc._literal(name) ~ ', ' ~ spark_cdc._bytewise(value, spec.columns[name])) -%}
    {%- endfor -%}
with raw as (
    select
        {{ spark_cdc._netiq_raw_columns(spec) | indent(8) }}
        {%- if as_delivered %},
        cast({{ spark_cdc._netiq_raw(spec, 'record_id') }} as string) as cdc_record_id_as_logged,
        cast({{ spark_cdc._netiq_raw(spec, 'event_type') }} as string) as cdc_event_type_as_logged,
        {{ spark_cdc._as_text(spark_cdc._netiq_raw(spec, 'event_time'), spark_cdc._netiq_raw_type(spec, 'event_time')) | indent(8) }} as cdc_event_time_as_logged,
        {{ spark_cdc.raw_json(spec.raw_columns) | indent(8) }} as cdc_raw
        {%- endif %}
    from {{ spec.relation }}
    where {{ spark_cdc._netiq_is_of_table(spec) }}
),

-- generators, so that Spark parses each key once for each row
parsed as (
    select
        raw.*,
        parts.cdc_key_parts,
        columns.cdc_key_columns
    from raw
        lateral view explode(array(
            {{ spark_cdc._netiq_key_parts('cdc_object') | indent(12) }}
        )) parts as cdc_key_parts
        lateral view explode(array(
            {{ spark_cdc._netiq_key_columns(spec, 'cdc_key_parts.names') | indent(12) }}
        )) columns as cdc_key_columns
),

keyed as (
    select
        parsed.*,
        keys.cdc_key
    from parsed
        lateral view explode(array(
            named_struct(
                {{ keys | join(',\n') | indent(16) }}
            )
        )) keys as cdc_key
),

judged_alone as (
    select
        keyed.* except (cdc_key_parts, cdc_key_columns),
        verdict.cdc_reason
    from keyed
        lateral view explode(array(
            {{ spark_cdc._netiq_reason(spec) | indent(12) }}
        )) verdict as cdc_reason
),

well_formed as (
    select * from judged_alone
    where cdc_reason is null
),

-- Hashes of record ids that can occur in several rows. A bucket holds whole ids. There are so few buckets that
-- they always fit in memory. Rows outside of them are not compared.
claims as (
    select xxhash64(cdc_record_id) as cdc_hash
    from raw
    where cdc_record_id is not null
    group by xxhash64(cdc_record_id)
    having count(*) > 1
),

repeated as (
    select distinct pmod(cdc_hash, 1048576) as cdc_bucket
    from claims
),

-- rows of one record id are one row if they agree in everything except the status; another status wins over N
gathered as (
    select /*+ broadcast(repeated) */
        cdc_record_id,
        coalesce(max(nullif(cdc_status, 'N')), 'N') as cdc_status,
        min({{ spark_cdc._netiq_content(spec) | indent(8) }}) as cdc_least,
        max({{ spark_cdc._netiq_content(spec) | indent(8) }}) as cdc_greatest
        {{- ',\n        min(cdc_spelled) as cdc_spelled' if spec.is_spelled }}
    from well_formed
    left semi join repeated
        on pmod(xxhash64(well_formed.cdc_record_id), 1048576) = repeated.cdc_bucket
    group by cdc_record_id
),

merged as (
    select /*+ broadcast(repeated) */
        cdc_record_id,
        cdc_status,
        cdc_event_type,
        cdc_event_time,
        cdc_perpetrator,
        cdc_object,
        cdc_column,
        cdc_new_value,
        cdc_key
        {{- ',\n        cdc_old_value,\n        cdc_spelled' if spec.is_spelled }}
    from well_formed
    left anti join repeated
        on pmod(xxhash64(well_formed.cdc_record_id), 1048576) = repeated.cdc_bucket
    union all
    select
        cdc_record_id,
        cdc_status,
        cdc_least.cdc_event_type,
        cdc_least.cdc_event_time,
        cdc_least.cdc_perpetrator,
        cdc_least.cdc_object,
        cdc_least.cdc_column,
        cdc_least.cdc_new_value,
        cdc_least.cdc_key
        {{- ',\n        cdc_least.cdc_old_value,\n        cdc_spelled' if spec.is_spelled }}
    from gathered
    where cdc_least <=> cdc_greatest
)
{%- endmacro -%}

{#- The first reason why a row is refused on its own. Without a key, only the reasons that need no key. -#}
{%- macro _netiq_reason(spec) -%}
    {%- set mismatch, bad_keys = [], [] -%}
    {%- for name in spec.key -%}
        {%- do mismatch.append('not coalesce(array_contains(cdc_key_columns, ' ~ spark_cdc._literal(name | lower) ~ '), false)') -%}
        {%- do bad_keys.append('cdc_key.' ~ spark_cdc._quote(name) ~ ' is null') -%}
    {%- endfor -%}
case
    when coalesce(cdc_table, '') = '' then 'missing_table_name'
    when coalesce(cdc_record_id < 1, true) then 'bad_record_id'
    when coalesce(cdc_status not in ('N', 'S', 'W', 'E', 'F'), true) then 'bad_status'
    when coalesce(cdc_event_type not between 1 and 8, true) then 'unknown_operation'
    when cdc_has_no_time then 'null_event_time'
    when
        not {{ spark_cdc._is_local_time('cdc_event_time') | indent(8) }}
        then 'bad_event_time'
    when
        cdc_key_parts is null
        or size(array_distinct(cdc_key_parts.names)) < size(cdc_key_parts.names)
        then 'malformed_table_key'
    {%- if spec.key %}
    when
        size(cdc_key_columns) <> {{ spec.key | length }}
        or {{ mismatch | join('\n        or ') }}
        then 'key_mismatch'
    {%- endif %}
    when
        cdc_event_type not between 4 and 6
        and coalesce(cdc_column, '') = ''
        then 'missing_column_name'
    {%- if spec.key %}
    when
        {{ bad_keys | join('\n        or ') }}
        or (
            cdc_event_type <= 3
            and cdc_new_value is not null
            and {{ spark_cdc._netiq_is_bad_value(spec) | indent(12) }}
        )
        then 'bad_value'
    {%- endif %}
end
{%- endmacro -%}

{#- The values in which rows of one record id must agree. -#}
{%- macro _netiq_content(spec) -%}
struct(
    cdc_event_type,
    cdc_event_time,
    cdc_perpetrator,
    cdc_object,
    cdc_column,
    cdc_old_value,
    cdc_new_value
    {{- ',\n    cdc_key' if spec.key }}
)
{%- endmacro -%}

{#- Whether a logged value is not of its column's type. -#}
{%- macro _netiq_is_bad_value(spec) -%}
    {%- set by_type = {} -%}
    {%- for name, data_type in spec.columns.items() if spark_cdc._netiq_value('cdc_new_value', data_type) != 'cdc_new_value' -%}
        {%- do by_type.setdefault(data_type, []).append(spark_cdc._literal(name | lower)) -%}
    {%- endfor -%}
    {%- if not by_type -%}
        {{ return('false') }}
    {%- endif -%}
case
    {%- for data_type, names in by_type.items() %}
    when cdc_column in ({{ names | join(', ') }})
        then {{ spark_cdc._netiq_value('cdc_new_value', data_type) | indent(8) }} is null
    {%- endfor %}
    else false
end
{%- endmacro -%}
