{#- The rows that tasks loaded in full: the argument `full_load`. Each load is one transaction at the time of the load, before
    all changes at that time: a truncate if `full_load_at` is given, then a load event for each row. -#}

{#- The first 35 characters of the sequences of a load, as `change_seq` has them: its time to hundredths of a second, zeros. -#}
{%- macro _qlik_load_digits(spec, load_at) -%}
    {%- if spec.full_load_at is none -%}
        {{ return("'" ~ '0' * 16 ~ "'") }}
    {%- endif -%}
    {{ return(
        'case\n    when\n        ' ~ (spark_cdc._is_local_time(load_at) | indent(8)) ~ '\n        then '
        ~ (spark_cdc._call('left', [spark_cdc._time_digits(load_at), '16']) | indent(8)) ~ '\nend'
    ) }}
{%- endmacro -%}

{#- A CTE: the rows of all loads, with the reason if a row is in quarantine. -#}
{%- macro _qlik_load_rows(spec) -%}
    {%- set there = spec.input_columns.full_load -%}
    {%- set row = spark_cdc._qlik_row_of(spec, spec.load_sources, there) -%}
    {%- set raw_columns = dict(there) -%}
    {%- do raw_columns.pop('cdc_load_at', none) -%}
load_rows as (
    select
        {{ row.fields | indent(8) }} as cdc_row,
        {{ spark_cdc._qlik_load_digits(spec, 'cdc_load_at') | indent(8) }} as cdc_load_digits,
        {%- if spec.full_load_at is not none %}
        cdc_load_at,
        {%- endif %}
        {%- if row.collated %}
        array(
            {{ row.collated | join(',\n') | indent(12) }}
        ) as cdc_bytes,
        {%- endif %}
        case
            when cdc_load_digits is null then 'bad_load_time'
            {%- if row.casts %}
            when
                {{ row.casts | join('\nor ') | indent(16) }}
                then 'bad_value'
            {%- endif %}
            {%- if row.null_keys %}
            when
                {{ row.null_keys | join('\nor ') | indent(16) }}
                then 'null_key'
            {%- endif %}
        end as cdc_reason,
        case cdc_reason
            when 'bad_load_time'
                then {{ spark_cdc._qlik_load_time_detail(spec) | indent(16) }}
            when 'bad_value'
                then {{ spark_cdc._of_quarantine(spec, spark_cdc._bad_value_detail(row.bad_values)) | indent(16) }}
            when 'null_key'
                then {{ spark_cdc._qlik_null_key_detail(spec) | indent(16) }}
        end as cdc_detail,
        {{ spark_cdc._of_quarantine(spec, spark_cdc.raw_json(raw_columns)) | indent(8) }} as cdc_raw
    from {{ spec.inputs.full_load | string | indent(4) }}
)
{%- endmacro -%}

{#- What quarantine says of the time of a load: its value if `full_load_at` is a column. -#}
{%- macro _qlik_load_time_detail(spec) -%}
    {%- set column = spark_cdc._qlik_column_of_load_time(spec.full_load_at, spec.input_columns.full_load) -%}
    {%- if not column -%}
        {{ return(spark_cdc._literal('full_load_at gives no time of the years 1 to 9999: ' ~ (spec.full_load_at or '') | trim)) }}
    {%- endif -%}
    {%- set value = spark_cdc._as_text(spark_cdc._quote(column), spec.input_columns.full_load[column]) -%}
    {{ return(spark_cdc._call('concat', [
        spark_cdc._literal(column ~ ' is '), spark_cdc._call('coalesce', [value, "'NULL'"]), "', which is no time of the years 1 to 9999'"
    ])) }}
{%- endmacro -%}

{#- Whether so many rows of a load can be read that it ends the keys which it lacks. -#}
{%- macro _qlik_load_is_readable(spec) -%}
count_if(cdc_reason is null) {{ '>= ' ~ spec.full_load_readable ~ 'D * count(*)' if spec.full_load_readable else '> 0' }}
{%- endmacro -%}

{#- The rows of loads that are refused. The detail also says if their load ends no keys. -#}
{%- macro _qlik_and_refused_loads(spec) -%}
    {%- set relation, detail = 'load_rows', 'load_rows.cdc_detail' -%}
    {%- if spec.full_load_at is not none -%}
        {%- set relation = 'load_rows\nleft join load_times\n    on load_rows.cdc_load_digits = load_times.cdc_load_digits' -%}
        {%- set detail = spark_cdc._call('concat_ws', [
            "'; '", detail,
            "case when not load_times.cdc_is_readable then 'too few rows of its load can be read, so the load ends no rows' end",
        ]) -%}
    {%- endif -%}
{{ spark_cdc._and_outcomes(spec, {
    'cdc_kind': "'refused'", 'cdc_reason': 'load_rows.cdc_reason', 'cdc_detail': detail, 'cdc_raw': 'load_rows.cdc_raw',
}, relation, 'load_rows.cdc_reason is not null') }}
{%- endmacro -%}

{#- CTEs to `load_events`: the truncate of each load, and its rows. Of several rows with one key the greatest is taken. -#}
{%- macro _qlik_loads(spec) -%}
    {%- set has_times = spec.full_load_at is not none -%}
    {%- set has_bytes = spark_cdc._qlik_row_of(spec, spec.load_sources, spec.input_columns.full_load).collated | length > 0 -%}
    {%- set key, group = {}, ['cdc_load_digits'] -%}
    {%- for name in spec.key -%}
        {%- do key.update({name: 'cdc_row.' ~ spark_cdc._quote(name)}) -%}
        {%- do group.append('cdc_row.' ~ spark_cdc._quote(name)) -%}
    {%- endfor -%}
{{ spark_cdc._qlik_load_rows(spec) }},

-- one row for each load and key
loads as (
    select
        cdc_load_digits,
        {{ 'max(struct(cdc_row, cdc_bytes)).cdc_row' if has_bytes else 'max(cdc_row)' }} as cdc_row,
        count(*) as cdc_raw_rows
    from load_rows
    where cdc_reason is null
    group by
        {{ group | join(',\n') | indent(8) }}
),
{%- if has_times %}

load_times as (
    select
        cdc_load_digits,
        min(cdc_load_at) as cdc_load_at,
        {{ spark_cdc._qlik_load_is_readable(spec) }} as cdc_is_readable
    from load_rows
    where cdc_load_digits is not null
    group by cdc_load_digits
),
{%- endif %}

load_events as (
    select{{ ' /*+ broadcast(load_times) */' if has_times }}
        'load' as cdc_operation,
        concat(loads.cdc_load_digits, '{{ '0' * 19 }}') as cdc_commit_sequence,
        concat(
            cdc_commit_sequence,
            '.',
            md5(
                cast(
                    {{ spark_cdc._key_as_text(key, spec.columns, spec.null_keys) | indent(20) }}
                    as binary
                )
            )
        ) as cdc_sequence,
        {{ 'load_times.cdc_load_at' if has_times else 'cast(null as timestamp) as cdc_load_at' }},
        loads.cdc_row,
        loads.cdc_raw_rows
    from loads
    {%- if has_times %}
    left join load_times
        on loads.cdc_load_digits = load_times.cdc_load_digits
    union all
    select
        'truncate' as cdc_operation,
        concat(cdc_load_digits, '{{ '0' * 19 }}') as cdc_commit_sequence,
        concat(cdc_commit_sequence, '.') as cdc_sequence,
        cdc_load_at,
        null as cdc_row,
        0L as cdc_raw_rows
    from load_times
    where cdc_is_readable
    {%- endif %}
)
{%- endmacro -%}

{#- The events of `load_events`. -#}
{%- macro _qlik_select_loads(spec) -%}
    {%- set table, present = {}, [] -%}
    {%- for name in spec.columns -%}
        {%- do table.update({name: 'cdc_row.' ~ spark_cdc._quote(name)}) -%}
        {%- if name in spec.load_sources -%}{%- do present.append(spark_cdc._literal(name)) -%}{%- endif -%}
    {%- endfor -%}
    {{ return(spark_cdc.select_events(spec, {
        'cdc_operation': 'cdc_operation',
        'cdc_sequence': 'cdc_sequence',
        'cdc_commit_sequence': 'cdc_commit_sequence',
        'cdc_commit_at': 'cdc_load_at',
        'cdc_present_columns': "case when cdc_operation = 'load' then array(" ~ present | join(', ') ~ ') end'
            if present | length < table | length else none,
        'cdc_metadata': 'null',
        'cdc_raw_rows': 'cdc_raw_rows',
    }, 'load_events', table)) }}
{%- endmacro -%}

{#- A load has its own group. -#}
{%- macro _qlik_dependencies_of_loads(spec) -%}
    {%- if not spec.inputs.full_load -%}{{ return({}) }}{%- endif -%}
    {{ return({'inputs': {'full_load': {
        'group': spark_cdc._qlik_load_digits(spec, spark_cdc.input_column('full_load', 'cdc_load_at')),
    }}}) }}
{%- endmacro -%}
