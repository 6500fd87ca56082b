{#- The config raw_watermark: a column from whose last value on a run looks for new rows. -#}

{#- The config raw_watermark as {'column': …, 'type': …, 'within': […]}, with names as the relation spells them; none if it
    is not set. -#}
{%- macro _raw_watermark(spec) -%}
    {%- set given = config.get('raw_watermark') -%}
    {%- if given is none -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set example = "config(materialized='cdc_incremental', raw_watermark={'column': 'offset', 'within': ['topic', 'partition']})" -%}
    {%- if given is not string and (given is not mapping or 'column' not in given or given.keys() | reject('in', ['column', 'within']) | list) -%}
        {{ spark_cdc._stop(
            'cdc_incremental', 'raw_watermark is ' ~ given,
            "the name of a column of the raw relation that never decreases, or {'column': …, 'within': [...]}", example
        ) }}
    {%- endif -%}
    {%- set given = {'column': given} if given is string else given -%}
    {%- set known = spec.raw_columns | list -%}
    {%- set column = spark_cdc._resolve_names('cdc_incremental', 'raw_watermark', [given.column], known, example)[0] -%}
    {%- set data_type = spec.raw_columns[column] -%}
    {%- if '<' in data_type or data_type | lower == 'variant' -%}
        {{ spark_cdc._stop(
            'cdc_incremental', 'raw_watermark is ' ~ column ~ ', of type ' ~ data_type, 'a column of numbers, times, text or binary', example
        ) }}
    {%- endif -%}
    {{ return({
        'column': column,
        'type': data_type,
        'within': spark_cdc._resolve_names('cdc_incremental', 'raw_watermark', given.get('within', []), known, example),
    }) }}
{%- endmacro -%}

{#- The last value of the watermark in the new rows becomes a property of the model. The next run searches for the last value
    from there on. -#}
{%- macro _keep_watermark(run, relation) -%}
    {%- set watermark = run.raw_watermark -%}
    {%- if watermark is not none and not watermark.within -%}
        {%- set last = spark_cdc._last_watermark(watermark, relation) -%}
        {%- do run.update({'watermark': {spark_cdc._watermark_property(watermark): last} if last is not none else {}}) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro _watermark_property(watermark) -%}
    spark_cdc.watermark.{{ watermark.column | lower }}
{%- endmacro -%}

{#- The last value of the watermark in a relation, as text; none if no row meets the condition. -#}
{%- macro _last_watermark(watermark, relation, condition='true') -%}
    {%- set last = 'max(' ~ spark_cdc._quote(watermark.column) ~ ')' -%}
    {{ return(run_query('select ' ~ spark_cdc._literal_text(last, watermark.type) ~ ' from ' ~ relation ~ ' where ' ~ condition).rows[0][0]) }}
{%- endmacro -%}

{#- The clause that filters rows of `cdc_rows` below the last value of the watermark. There is no filter in two cases: the
    call may now store rows that it did not store before, or the last run was killed while it appended. After such a kill the
    last value may be stored, while lower ones are missing. -#}
{%- macro _since_watermark(run) -%}
    {%- set watermark = run.raw_watermark -%}
    {%- if watermark is none or run.properties.get('spark_cdc.raw_is_partial') or (run.is_other and run.dependencies.keeps) -%}
        {{ return('') }}
    {%- endif -%}
    {%- set column = spark_cdc._quote(watermark.column) -%}
    {%- if not watermark.within -%}
        {%- set before = run.properties.get(spark_cdc._watermark_property(watermark)) -%}
        {%- set last = none -%}
        {%- if before and (watermark.type | lower != 'timestamp' or modules.re.fullmatch('-?\\d+', before)) -%}
            {%- set last = spark_cdc._last_watermark(
                watermark, run.raw, column ~ ' >= ' ~ spark_cdc._cast_literal(before, watermark.type)
            ) -%}
        {%- endif -%}
        {#- there is no property, or it is from a run that was killed before it stored its rows -#}
        {%- set last = spark_cdc._last_watermark(watermark, run.raw) if last is none else last -%}
        {%- if last is none -%}
            {{ return('') }}
        {%- endif -%}
        {{ return(
            'where cdc_rows.' ~ column ~ ' is null or cdc_rows.' ~ column ~ ' >= ' ~ spark_cdc._cast_literal(last, watermark.type)
        ) }}
    {%- endif -%}
    {%- set within = [] -%}
    {%- for name in watermark.within -%}
        {%- do within.append('cdc_rows.' ~ spark_cdc._quote(name) ~ ' <=> last.' ~ spark_cdc._quote(name)) -%}
    {%- endfor -%}
    {%- set names = spark_cdc._column_list(watermark.within) -%}
    {{ return(
        'left anti join (select ' ~ names ~ ', max(' ~ column ~ ') as cdc_last from ' ~ run.raw ~ ' group by ' ~ names
        ~ ') as last\n    on ' ~ within | join(' and ') ~ ' and cdc_rows.' ~ column ~ ' < last.cdc_last'
    ) }}
{%- endmacro -%}

{#- A value as text that is the same in each session: of a timestamp its microseconds, of binary its hexadecimal digits. -#}
{%- macro _literal_text(expression, data_type) -%}
    {%- if data_type | lower == 'binary' -%}
        {{ return('hex(' ~ expression ~ ')') }}
    {%- elif data_type | lower == 'timestamp' -%}
        {{ return('cast(unix_micros(' ~ expression ~ ') as string)') }}
    {%- endif -%}
    {{ return('cast(' ~ expression ~ ' as string)') }}
{%- endmacro -%}

{#- A value, given as such a text, as a literal of its type. -#}
{%- macro _cast_literal(value, data_type) -%}
    {%- if data_type | lower == 'binary' -%}
        {{ return('unhex(' ~ spark_cdc._literal(value) ~ ')') }}
    {%- elif data_type | lower == 'timestamp' -%}
        {{ return('timestamp_micros(' ~ value ~ ')') }}
    {%- endif -%}
    {{ return('cast(' ~ spark_cdc._literal(value) ~ ' as ' ~ data_type ~ ')') }}
{%- endmacro -%}
