{#- The arguments `full_load`, `full_load_at` and `full_load_readable`, checked. -#}

{#- What the spec has of full loads, checked. The time of the load is kept with each row, as cdc_load_at. -#}
{%- macro _qlik_spec_of_loads(me, full_load, full_load_at, full_load_readable, key, columns, change_seq) -%}
    {%- set example = "full_load=source('erp', 'orders'), full_load_at='load_time'" -%}
    {%- if full_load_at is not none and (full_load is none or full_load_at is not string or not full_load_at | trim) -%}
        {{ spark_cdc._stop(
            me, 'full_load_at is ' ~ (full_load_at | trim or 'empty') ~ (' and full_load is none' if full_load is none),
            'an SQL expression over the rows of full_load that gives the time of the load, or none', example
        ) }}
    {%- elif full_load_readable is not none and (
        full_load_at is none or full_load_readable is not number or full_load_readable is boolean or not 0 < full_load_readable <= 1
    ) -%}
        {{ spark_cdc._stop(
            me, 'full_load_readable is ' ~ full_load_readable ~ (' and full_load_at is none' if full_load_at is none),
            'the part of the rows of a load that must be readable, greater than 0 and at most 1, with full_load_at',
            example ~ ', full_load_readable=0.99'
        ) }}
    {%- elif full_load is none -%}
        {{ return({}) }}
    {%- endif -%}
    {%- set there, sources = spark_cdc._raw_columns_in(full_load), {} -%}
    {%- do spark_cdc._check_table_columns(me, {}, there, example) -%}
    {%- for name in there if (name | lower).startswith('cdc_') or name | lower == change_seq | lower -%}
        {{ spark_cdc._stop(
            me, full_load ~ ' has the column ' ~ name ~ ', which begins with cdc_ or is in change tables only',
            'full_load with the columns of the loaded table: leave others out in a view',
            'create view orders_loaded as select * except (' ~ name ~ ') from …'
        ) }}
    {%- endfor -%}
    {%- for name, data_type in columns.items() -%}
        {%- set spelled = [] -%}
        {%- for column in there if column | lower == name | lower -%}{%- do spelled.append(column) -%}{%- endfor -%}
        {%- if name in key or spelled | length > 1 -%}
            {%- do spark_cdc._resolve_names(me, 'full_load', [name], there | list, example) -%}
        {%- endif -%}
        {%- if spelled -%}
            {%- do spark_cdc._check_cast(me, spelled[0] ~ ' of full_load', there[spelled[0]], data_type) -%}
            {%- do sources.update({name: spelled[0]}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set column = spark_cdc._qlik_column_of_load_time(full_load_at, there) -%}
    {%- if column and 'timestamp' not in [spark_cdc._kind_of(there[column])] + spark_cdc._casts().get(spark_cdc._kind_of(there[column]), []) -%}
        {{ spark_cdc._stop(
            me, 'full_load_at is ' ~ column ~ ', a column of type ' ~ there[column],
            'a column of type timestamp, timestamp_ntz, date or string, or an SQL expression that gives such a value',
            'full_load_at="to_date(cast(' ~ column ~ " as string), 'yyyyMMdd')\""
        ) }}
    {%- endif -%}
    {%- set values = {'cdc_load_at': spark_cdc._qlik_time_of_load(full_load_at, there)} if full_load_at is not none else {} -%}
    {{ return(dict({
        'inputs': {'full_load': full_load},
        'input_columns': {'full_load': dict(there, **({'cdc_load_at': 'timestamp'} if values else {}))},
        'input_values': {'full_load': values},
        'quarantined_inputs': ['full_load'],
        'load_sources': sources,
        'full_load_at': full_load_at,
    }, **({'full_load_readable': full_load_readable} if full_load_readable is not none else {}))) }}
{%- endmacro -%}

{#- The time of a load as a timestamp. A time without a zone is in UTC. -#}
{%- macro _qlik_time_of_load(full_load_at, there) -%}
    {%- set column = spark_cdc._qlik_column_of_load_time(full_load_at, there) -%}
    {%- if column -%}
        {{ return(spark_cdc._typed(spark_cdc._quote(column), there[column], 'timestamp')) }}
    {%- endif -%}
    {{ return(spark_cdc._time_given(full_load_at)) }}
{%- endmacro -%}

{#- The column of the loaded table that `full_load_at` is; none for another expression. -#}
{%- macro _qlik_column_of_load_time(full_load_at, there) -%}
    {%- for name in there if (full_load_at or '') | trim | lower in (name | lower, spark_cdc._quote(name) | lower) -%}
        {{ return(name) }}
    {%- endfor -%}
    {{ return(none) }}
{%- endmacro -%}
