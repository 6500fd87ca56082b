{#- What each raw row says by itself, and why a row cannot be read. -#}

{#- CTEs from the log to `judged`: the rows of the table, and rows without a table name. A row that is refused has its
    reason and its detail. Of the others each record id is there once. A row that is or may be refused has its raw rows in
    cdc_raws. -#}
{%- macro _netiq_items(spec) -%}
    {%- set keys = [] -%}
    {%- for name in spec.key -%}
        {%- set value = spark_cdc._netiq_value(spark_cdc._netiq_key_text('cdc_key_columns', 'cdc_key_parts.values', name), spec.columns[name]) -%}
        {%- do keys.append(spark_cdc._literal(name) ~ ', ' ~ spark_cdc._bytewise(value, spec.columns[name])) -%}
    {%- endfor -%}
    {%- set columns = [
        'cdc_record_id', 'cdc_status', 'cdc_event_type', 'cdc_event_time', 'cdc_perpetrator', 'cdc_object', 'cdc_column', 'cdc_new_value',
        'cdc_key',
    ] + (['cdc_old_value', 'cdc_spelled'] if spec.is_spelled else []) -%}
with raw as (
    select
        {{ spark_cdc._netiq_raw_columns(spec) | indent(8) }},
        cast({{ spark_cdc._netiq_raw(spec, 'record_id') }} as string) as cdc_record_id_as_logged,
        cast({{ spark_cdc._netiq_raw(spec, 'event_type') }} as string) as cdc_event_type_as_logged,
        {{ spark_cdc._as_text(spark_cdc._netiq_raw(spec, 'event_time'), spark_cdc._netiq_raw_type(spec, 'event_time')) | indent(8) }} as cdc_event_time_as_logged,
        {{ spark_cdc._of_quarantine(spec, spark_cdc._raw_row(spec.raw_columns)) | indent(8) }} as cdc_raw
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
compared as (
    select /*+ broadcast(repeated) */
        judged_alone.* except (cdc_status{{ ', cdc_spelled' if spec.is_spelled }}),
        coalesce(max(nullif(judged_alone.cdc_status, 'N')) over of_id, 'N') as cdc_status,
        {%- if spec.is_spelled %}
        min(judged_alone.cdc_spelled) over of_id as cdc_spelled,
        {%- endif %}
        min({{ spark_cdc._netiq_content(spec) | indent(8) }}) over of_id as cdc_least,
        max({{ spark_cdc._netiq_content(spec) | indent(8) }}) over of_id as cdc_greatest,
        collect_list(judged_alone.cdc_raw) over of_id as cdc_raws,
        count(*) over of_id as cdc_raw_rows,
        row_number() over (partition by judged_alone.cdc_record_id order by judged_alone.cdc_status) as cdc_copy
    from judged_alone
    left semi join repeated
        on pmod(xxhash64(judged_alone.cdc_record_id), 1048576) = repeated.cdc_bucket
    where judged_alone.cdc_reason is null
    window of_id as (partition by judged_alone.cdc_record_id)
),

judged as (
    select /*+ broadcast(repeated) */
        {{ columns | join(',\n        ') }},
        case when cdc_reason is not null or cdc_event_type >= 5 then array(cdc_raw) end as cdc_raws,
        1L as cdc_raw_rows,
        cdc_reason,
        {{ spark_cdc._of_quarantine(spec, spark_cdc._netiq_detail(spec)) | indent(8) }} as cdc_detail
    from judged_alone
    left anti join repeated
        on
            judged_alone.cdc_reason is null
            and pmod(xxhash64(judged_alone.cdc_record_id), 1048576) = repeated.cdc_bucket
    union all
    select
        {{ columns | join(',\n        ') }},
        if(cdc_least <=> cdc_greatest, cdc_raws, array(cdc_raw)) as cdc_raws,
        if(cdc_least <=> cdc_greatest, cdc_raw_rows, 1L) as cdc_raw_rows,
        if(cdc_least <=> cdc_greatest, null, 'sequence_conflict') as cdc_reason,
        if(cdc_least <=> cdc_greatest, null, concat('another row has record_id ', cdc_record_id)) as cdc_detail
    from compared
    where
        cdc_copy = 1
        or not cdc_least <=> cdc_greatest
)
{%- endmacro -%}

{#- What quarantine says of a row that is refused on its own. -#}
{%- macro _netiq_detail(spec) -%}
    {%- set bad_keys = [] -%}
    {%- for name in spec.key -%}
        {%- do bad_keys.append(
            'when cdc_key.' ~ spark_cdc._quote(name) ~ ' is null\n    then ' ~ spark_cdc._call('concat', [
                "'table_key is '", spark_cdc._shown('cdc_object'), spark_cdc._literal('; ' ~ name ~ ' in it is no ' ~ spec.columns[name])
            ]) | indent(4)
        ) -%}
    {%- endfor -%}
case cdc_reason
    when 'missing_table_name' then 'table_name is NULL, empty, or ends with a dot'
    when 'bad_record_id' then concat('record_id is ', coalesce(cdc_record_id_as_logged, 'NULL'))
    when 'bad_status' then concat('status is ', coalesce(cdc_status, 'NULL'))
    when 'unknown_operation' then concat('event_type is ', coalesce(cdc_event_type_as_logged, 'NULL'))
    when 'null_event_time' then 'event_time is NULL'
    when 'bad_event_time' then concat('event_time is ', cdc_event_time_as_logged)
    when 'malformed_table_key' then concat('table_key is ', coalesce({{ spark_cdc._shown('cdc_object') }}, 'NULL'))
    when 'missing_column_name' then 'column_name is NULL or empty'
    {%- if spec.key %}
    when 'key_mismatch'
        then concat('table_key is ', {{ spark_cdc._shown('cdc_object') }}, {{ spark_cdc._literal('; the key is ' ~ spec.key | join(', ')) }})
    when 'bad_value'
        then case
            {{ bad_keys | join('\n') | indent(12) }}
            else concat(
                cdc_column,
                ': \'',
                {{ spark_cdc._shown('cdc_new_value') }},
                '\' is no ',
                {{ spark_cdc._netiq_type_of(spec, 'cdc_column') | indent(16) }}
            )
        end
    {%- endif %}
end
{%- endmacro -%}

{#- The declared type of a column, by its name in lower case. -#}
{%- macro _netiq_type_of(spec, name) -%}
case {{ name }}
    {%- for column, data_type in spec.columns.items() %}
    when {{ spark_cdc._literal(column | lower) }} then {{ spark_cdc._literal(data_type) }}
    {%- endfor %}
end
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
