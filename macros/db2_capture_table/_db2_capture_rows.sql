{#- From raw rows to the rows of a capture table, each judged on its own. -#}

{#- CTEs to `placed`: each raw row with the reason if it is refused on its own, and with cdc_place, by which rows are brought
    together. The place of a change is its commit. A row of a full refresh has a place of its own, the end of its cdc_sequence:
    L, its time and its key. -#}
{%- macro _db2_capture_rows(spec) -%}
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
        {%- else %}
        cast(null as binary) as cdc_bytes,
        {%- endif %}
        {{ bad | join('\nor ') | indent(8) or 'false' }} as cdc_has_bad_value,
        cast({{ spark_cdc._db2_as_written(spec, 'COMMITSEQ') }} as string) as cdc_commitseq_as_written,
        cast({{ spark_cdc._db2_as_written(spec, 'INTENTSEQ') }} as string) as cdc_intentseq_as_written,
        {{ spark_cdc._of_quarantine(spec, spark_cdc.raw_json(spec.raw_columns)) | indent(8) }} as cdc_raw,
        {{ spark_cdc._call('concat_ws', ["', '"] + null_keys | map(attribute='name') | list) | indent(8) }} as cdc_null_keys,
        case
            when cdc_has_bad_value
                then {{ spark_cdc._of_quarantine(spec, spark_cdc._bad_value_detail(details)) | indent(16) }}
        end as cdc_bad_values,
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

placed as (
    select
        *,
        case
            when cdc_reason is not null then null
            when
                {{ spark_cdc._db2_is_load('cdc_commitseq', 'cdc_intentseq', 'cdc_operation', 'X') | indent(16) }}
                then {{ spark_cdc._db2_place_of_load(spec, spark_cdc._key_as_text(key, spec.columns)) | indent(16) }}
            else cdc_commitseq
        end as cdc_place
    from judged_alone
)
{%- endmacro -%}

{#- A sequence as quarantine shows it. -#}
{%- macro _db2_as_written(spec, name) -%}
    {%- set column = spec.headers[name] -%}
    {{ return(spark_cdc._as_text(spark_cdc._quote(column), spec.raw_columns[column])) }}
{%- endmacro -%}
