{#- From raw rows to the rows of a capture table. Each is judged on its own, then together with the rows at its position. -#}

{#- CTEs to `well_formed`: the rows that are well formed on their own, with cdc_place, by which rows are brought together.
    The place of a change is its commit. A row of a full refresh has a place of its own, the end of its cdc_sequence: L, its
    time and its key. -#}
{%- macro _db2_capture_rows(spec, as_delivered=false) -%}
    {%- set of_commit = spark_cdc._db2_of_commit(spec.headers, spec.raw_columns) -%}
    {%- set operation, sequences = spark_cdc._quote(spec.headers.OPERATION), {} -%}
    {%- for name in ('COMMITSEQ', 'INTENTSEQ') -%}
        {%- set column = spec.headers[name] -%}
        {%- do sequences.update({name: spark_cdc._db2_sequence_bytes(spark_cdc._quote(column), spec.raw_columns[column])}) -%}
    {%- endfor -%}
    {%- set rows, befores, null_keys, bad, collated, details, key = [], [], [], [], [], [], {} -%}
    {%- for name, column in spec.sources.items() -%}
        {%- set there, type_there = spark_cdc._quote(column), spec.raw_columns[column] -%}
        {%- set value = spark_cdc._db2_value(there, type_there, spec.columns[name]) -%}
        {%- do rows.append(spark_cdc._literal(name) ~ ', ' ~ value) -%}
        {%- if name in spec.key -%}
            {%- do null_keys.append({'is_null': there ~ ' is null', 'name': 'if(' ~ there ~ ' is null, ' ~ spark_cdc._literal(column) ~ ', null)'}) -%}
            {%- do key.update({name: spark_cdc._bytewise('cdc_row.' ~ spark_cdc._quote(name), spec.columns[name])}) -%}
        {%- endif -%}
        {%- if ' collate ' in spec.columns[name] | lower -%}{%- do collated.append(spark_cdc._bytewise(value, spec.columns[name])) -%}{%- endif -%}
        {%- if spark_cdc._can_be_bad(type_there, spec.columns[name]) -%}
            {%- set is_bad = there ~ ' is not null and cdc_row.' ~ spark_cdc._quote(name) ~ ' is null' -%}
            {%- do bad.append('(' ~ is_bad ~ ')') -%}
            {%- do details.append({
                'name': column, 'type': spec.columns[name], 'is_bad': is_bad, 'text': spark_cdc._as_text(there, type_there),
            }) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for name, column in spec.befores.items() -%}
        {%- set there, type_there = spark_cdc._quote(column), spec.raw_columns[column] -%}
        {%- set value = spark_cdc._db2_value(there, type_there, spec.columns[name]) -%}
        {%- do befores.append(spark_cdc._literal(name) ~ ', ' ~ value) -%}
        {%- if ' collate ' in spec.columns[name] | lower -%}
            {%- do collated.append('case when ' ~ operation ~ " = 'U' then " ~ spark_cdc._bytewise(value, spec.columns[name]) ~ ' end') -%}
        {%- endif -%}
        {%- if spark_cdc._can_be_bad(type_there, spec.columns[name]) -%}
            {%- set is_bad = 'cdc_is_update and ' ~ there ~ ' is not null and cdc_before.' ~ spark_cdc._quote(name) ~ ' is null' -%}
            {%- do bad.append('(' ~ is_bad ~ ')') -%}
            {%- do details.append({
                'name': column, 'type': spec.columns[name], 'is_bad': is_bad, 'text': spark_cdc._as_text(there, type_there),
            }) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if 'LOGMARKER' in spec.headers -%}
        {%- set column = spec.headers.LOGMARKER -%}
        {%- set is_bad = spark_cdc._quote(column) ~ ' is not null and not ' ~ spark_cdc._is_local_time('cdc_logmarker') -%}
        {%- do bad.insert(0, '(' ~ is_bad ~ ')') -%}
        {%- do details.insert(0, {
            'name': column, 'type': 'timestamp', 'is_bad': is_bad,
            'text': spark_cdc._as_text(spark_cdc._quote(column), spec.raw_columns[column]),
        }) -%}
    {%- endif -%}
    {%- set content = ['cdc_operation'] -%}
    {%- for name in of_commit -%}{%- do content.append('cdc_' ~ name | lower) -%}{%- endfor -%}
    {%- do content.append('cdc_row') -%}
    {%- if befores -%}{%- do content.append('cdc_before') -%}{%- endif -%}
    {%- if collated -%}{%- do content.append('cdc_bytes') -%}{%- endif -%}
with raw as (
    select
        {{ sequences.COMMITSEQ | indent(8) }} as cdc_commitseq,
        {{ sequences.INTENTSEQ | indent(8) }} as cdc_intentseq,
        {{ spark_cdc._bytewise(operation, spec.raw_columns[spec.headers.OPERATION]) }} as cdc_operation,
        {%- for name, value in of_commit.items() %}
        {{ value | indent(8) }} as cdc_{{ name | lower }},
        {%- endfor %}
        named_struct(
            {{ rows | join(',\n') | indent(12) }}
        ) as cdc_row,
        {%- if befores %}
        coalesce({{ operation }} = 'U', false) as cdc_is_update,
        -- only of updates: in a delete they repeat the row
        case
            when cdc_is_update
                then named_struct(
                    {{ befores | join(',\n') | indent(20) }}
                )
        end as cdc_before,
        {%- endif %}
        {%- if collated %}
        -- texts that are equal only under their collation make different rows
        array(
            {{ collated | join(',\n') | indent(12) }}
        ) as cdc_bytes,
        {%- endif %}
        {{ bad | join('\nor ') | indent(8) or 'false' }} as cdc_has_bad_value,
        {%- if as_delivered %}
        cast({{ spark_cdc._db2_as_written(spec, 'COMMITSEQ') }} as string) as cdc_commitseq_as_written,
        cast({{ spark_cdc._db2_as_written(spec, 'INTENTSEQ') }} as string) as cdc_intentseq_as_written,
        {{ spark_cdc.raw_json(spec.raw_columns) | indent(8) }} as cdc_raw,
        {{ spark_cdc._call('concat_ws', ["', '"] + null_keys | map(attribute='name') | list) | indent(8) }} as cdc_null_keys,
        case
            when cdc_has_bad_value
                then {{ spark_cdc._bad_value_detail(details) | indent(16) }}
        end as cdc_bad_values,
        {%- endif %}
        {{ null_keys | map(attribute='is_null') | join('\nor ') | indent(8) }} as cdc_has_null_key
    from {{ spec.relation }}
),

judged_alone as (
    select
        *,
        case
            when cdc_commitseq is null or cdc_intentseq is null then 'bad_sequence'
            when coalesce(cdc_operation not in ('I', 'U', 'D'), true) then 'unknown_operation'
            when cdc_has_null_key then 'null_key'
            when cdc_has_bad_value then 'bad_value'
        end as cdc_reason
    from raw
),

well_formed as (
    select
        case
            when
                {{ spark_cdc._db2_is_load('cdc_commitseq', 'cdc_intentseq', 'cdc_operation', 'X') | indent(16) }}
                then {{ spark_cdc._db2_place_of_load(spec, spark_cdc._key_as_text(key, spec.columns)) | indent(16) }}
            else cdc_commitseq
        end as cdc_place,
        cdc_intentseq,
        {%- if as_delivered %}
        cdc_commitseq_as_written,
        cdc_intentseq_as_written,
        cdc_raw,
        {%- endif %}
        struct({{ content | join(', ') }}) as cdc_content
    from judged_alone
    where cdc_reason is null
)
{%- endmacro -%}

{#- A sequence as quarantine shows it. -#}
{%- macro _db2_as_written(spec, name) -%}
    {%- set column = spec.headers[name] -%}
    {{ return(spark_cdc._as_text(spark_cdc._quote(column), spec.raw_columns[column])) }}
{%- endmacro -%}

{#- CTEs from `rows`, some of `well_formed`, to `positions`: whether a row is the first at its position, and whether the rows at
    its position contradict each other. Without `base` a delete and an insert do not: they are the halves of one update, with
    cdc_is_half, in this order. These windows have the partitions of the window that finds pairs, and its order or the beginning
    of it, so all of them share one shuffle and one sort. Until then, the content of a row is one struct, which is shuffled
    once. -#}
{%- macro _db2_positions(spec, rows='well_formed') -%}
    {%- set has_halves = not spec.lookups.base -%}
bucketed as (
    select
        *,
        -- sorted first: numbers are compared faster than sequences, which begin alike
        xxhash64(cdc_place) as cdc_bucket,
        cdc_content.cdc_operation <> 'D' as cdc_is_after
    from {{ rows }}
),

compared as (
    select
        *,
        not lag(cdc_intentseq) over in_order <=> cdc_intentseq
        or not lag(cdc_is_after) over in_order <=> cdc_is_after as cdc_is_first,
        -- operations come first in a content: a delete is less than an insert, an insert less than an update
        min(cdc_content) over at_position as cdc_least,
        max(cdc_content) over at_position as cdc_greatest
        {%- if has_halves %},
        max(case when cdc_content.cdc_operation = 'D' then cdc_content end) over at_position as cdc_deleted,
        min(case when cdc_content.cdc_operation = 'I' then cdc_content end) over at_position as cdc_inserted
        {%- endif %}
    from bucketed
    window
        in_order as (partition by cdc_bucket, cdc_place order by cdc_intentseq, cdc_is_after),
        at_position as (
            partition by cdc_bucket, cdc_place
            order by cdc_intentseq
            range between current row and current row
        )
),

positions as (
    select
        * except (cdc_content, cdc_least, cdc_greatest{{ ', cdc_deleted, cdc_inserted' if has_halves }}),
        cdc_content.*,
        -- not in the window's own select: Spark cannot compare collated texts there
        {%- if has_halves %}
        not cdc_least <=> cdc_greatest and cdc_least <=> cdc_deleted and cdc_greatest <=> cdc_inserted as cdc_is_half,
        not cdc_least <=> cdc_greatest and not cdc_is_half as cdc_is_conflict,
        {%- else %}
        not cdc_least <=> cdc_greatest as cdc_is_conflict,
        {%- endif %}
        {{ spark_cdc._db2_is_load_place() }} as cdc_is_load
    from compared
)
{%- endmacro -%}

{#- CTEs to `distinct_rows`: each position once. -#}
{%- macro _db2_distinct_rows(spec) -%}
{{ spark_cdc._db2_capture_rows(spec) }},

{{ spark_cdc._db2_positions(spec) }},

distinct_rows as (
    select * except (cdc_is_first, cdc_is_conflict)
    from positions
    where cdc_is_first and not cdc_is_conflict
)
{%- endmacro -%}
