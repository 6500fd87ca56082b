{#- Rows of full refreshes, and the units of work of commits. -#}

{#- COMMITSEQ and INTENTSEQ of the rows of a full refresh. -#}
{%- macro _db2_load_constants() -%}
    {{ return({'COMMITSEQ': '0' * 31 ~ '1', 'INTENTSEQ': '0' * 32}) }}
{%- endmacro -%}

{#- Whether a row belongs to a full refresh, by its canonical sequences: as text, or, after `X`, as bytes. -#}
{%- macro _db2_is_load(commitseq, intentseq, operation, bytes='') -%}
    {%- set load = spark_cdc._db2_load_constants() -%}
{{ operation }} = 'I'
and {{ commitseq }} = {{ bytes }}'{{ load.COMMITSEQ }}'
and {{ intentseq }} = {{ bytes }}'{{ load.INTENTSEQ }}'
{%- endmacro -%}

{#- A sequence of a raw row as text in its canonical form. -#}
{%- macro _db2_raw_sequence(spec, name) -%}
    {%- set column = spec.headers[name] -%}
    {{ return(spark_cdc._db2_sequence(spark_cdc._quote(column), spec.raw_columns[column])) }}
{%- endmacro -%}

{#- Whether a place belongs to a row of a full refresh: such a place is longer than a commit. -#}
{%- macro _db2_is_load_place(place='cdc_place') -%}
    {{ return('octet_length(' ~ place ~ ') > 16') }}
{%- endmacro -%}

{#- The place of a row of a full refresh: the part of its sequence after the anchor. -#}
{%- macro _db2_place_of_load(spec, key_text) -%}
    {%- set digits = "'" ~ '0' * 20 ~ "'" -%}
    {%- if 'LOGMARKER' in spec.headers -%}
        {%- set digits = spark_cdc._call('coalesce', [spark_cdc._time_digits('cdc_logmarker'), digits]) -%}
    {%- endif -%}
    {{ return('cast(\n    ' ~ (
        spark_cdc._call('concat', ["'L'", digits, "'.'", 'md5(cast(' ~ key_text ~ ' as binary))']) | indent(4)
    ) ~ ' as binary\n)') }}
{%- endmacro -%}

{#- CTEs from `judged` to `load_times`: the anchor of each time of a full refresh, the greatest commit up to that
    time. There are few such times. Changes are compared with the times, and never with the rows of a full refresh. -#}
{%- macro _db2_load_times(spec) -%}
load_clocks as (
    select distinct cdc_logmarker as cdc_load_at
    from placed
    where {{ spark_cdc._db2_is_load_place() }} and cdc_logmarker is not null
),

load_intervals as (
    select
        cdc_load_at,
        lag(cdc_load_at) over (order by cdc_load_at) as cdc_load_before
    from load_clocks
),

-- the last commit between two full refreshes
commits_by_load as (
    select /*+ broadcast(load_intervals) */
        load_intervals.cdc_load_at,
        max(judged.cdc_place) as cdc_commitseq
    from judged
    inner join load_intervals
        on
            judged.cdc_logmarker <= load_intervals.cdc_load_at
            and (
                load_intervals.cdc_load_before is null
                or judged.cdc_logmarker > load_intervals.cdc_load_before
            )
    where
        judged.cdc_reason is null
        and not judged.cdc_is_load
    group by load_intervals.cdc_load_at
),

load_times as (
    select
        load_clocks.cdc_load_at,
        hex(max(commits_by_load.cdc_commitseq) over (order by load_clocks.cdc_load_at)) as cdc_anchor
    from load_clocks
    left join commits_by_load
        on load_clocks.cdc_load_at = commits_by_load.cdc_load_at
)
{%- endmacro -%}

{#- CTEs to `units`, the unit of work: the smallest row of each commit. NULL counts as greater than every
    value. It has the buckets of the changes. -#}
{%- macro _db2_units(spec) -%}
    {%- set types = spec.input_columns.unit_of_work -%}
    {%- set commitseq = spark_cdc._db2_sequence_bytes(spark_cdc._quote(spec.joined.COMMITSEQ), types[spec.joined.COMMITSEQ]) -%}
    {%- set of_commit = spark_cdc._db2_of_commit(spec.joined, types) -%}
    {%- set fields = [] -%}
    {%- for name in spark_cdc._db2_told(spec) if name in spec.joined -%}
        {%- set value = 'cdc_' ~ name | lower -%}
        {%- if name == 'LOGMARKER' -%}
            {%- set value = 'case\n    when\n        ' ~ (spark_cdc._is_local_time(value) | indent(8)) ~ '\n        then ' ~ value ~ '\nend' -%}
        {%- endif -%}
        {%- do fields.append("'no_" ~ name | lower ~ "', " ~ value ~ ' is null') -%}
        {%- do fields.append("'" ~ name | lower ~ "', " ~ value) -%}
    {%- endfor -%}
unit_rows as (
    select
        {%- for name, value in of_commit.items() %}
        {{ value | indent(8) }} as cdc_{{ name | lower }},
        {%- endfor %}
        {{ commitseq | indent(8) }} as cdc_commitseq
    from {{ spec.inputs.unit_of_work }}
),

units as (
    select
        xxhash64(cdc_commitseq) as cdc_bucket,
        cdc_commitseq,
        min(
            named_struct(
                {{ fields | join(',\n') | indent(16) or "'none', true" }}
            )
        ) as cdc_unit
    from unit_rows
    where cdc_commitseq is not null
    group by xxhash64(cdc_commitseq), cdc_commitseq
)
{%- endmacro -%}
