{#- The config raw_watermark: a column from whose last value on a run looks for new rows. -#}

{#- The config raw_watermark as {'column': …, 'type': …, 'within': […]}, with names as the relation spells them; none if it
    is not set. -#}
{%- macro _raw_watermark(spec) -%}
    {{ return(spark_cdc._watermark_of(config.get('raw_watermark'), spec.raw_columns)) }}
{%- endmacro -%}

{#- The same of the config of any model; `raw_columns` are the columns of its raw rows. -#}
{%- macro _watermark_of(given, raw_columns) -%}
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
    {%- set known = raw_columns | list -%}
    {%- set column = spark_cdc._resolve_names('cdc_incremental', 'raw_watermark', [given.column], known, example)[0] -%}
    {%- set data_type = raw_columns[column] -%}
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
        {%- set last = spark_cdc._last_watermark(watermark, relation, 'true', run) -%}
        {%- do run.update({'watermark': {spark_cdc._watermark_property(watermark): last} if last is not none else {}}) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro _watermark_property(watermark) -%}
    spark_cdc.watermark.{{ watermark.column | lower }}
{%- endmacro -%}

{#- The value of the watermark in a row that was read, as SQL. NULL for a time more than a day after the run that read the row:
    a wrong clock wrote it, and rows that land later would be below it. (A day, since a time may be local.) -#}
{%- macro _believed_watermark(column, data_type, has_batch) -%}
    {%- if not modules.re.match('(date|timestamp)', data_type | lower) -%}
        {{ return(column) }}
    {%- endif -%}
    {%- set read_at = "try_cast(substring_index(cdc_batch, '+', 1) as timestamp)" if has_batch else 'current_timestamp()' -%}
    {{ return('case when cast(' ~ column ~ ' as timestamp) <= ' ~ read_at ~ ' + interval 1 day then ' ~ column ~ ' end') }}
{%- endmacro -%}

{#- The last value of the watermark in rows that were read, as text; none if no row meets the condition. -#}
{%- macro _last_watermark(watermark, relation, condition, run) -%}
    {%- set last = 'max(' ~ spark_cdc._believed_watermark(
        spark_cdc._quote(watermark.column), watermark.type, run.call.builds == 'raw_log'
    ) ~ ')' -%}
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
                watermark, run.raw, column ~ ' >= ' ~ spark_cdc._cast_literal(before, watermark.type), run
            ) -%}
        {%- endif -%}
        {#- there is no property, or it is from a run that was killed before it stored its rows -#}
        {%- set last = spark_cdc._last_watermark(watermark, run.raw, 'true', run) if last is none else last -%}
        {%- if last is none -%}
            {{ return('') }}
        {%- endif -%}
        {%- do run.update({'read_from': watermark.column ~ ' ' ~ spark_cdc._shown_literal(last, watermark.type)}) -%}
        {{ return(
            'where cdc_rows.' ~ column ~ ' is null or cdc_rows.' ~ column ~ ' >= ' ~ spark_cdc._cast_literal(last, watermark.type)
        ) }}
    {%- endif -%}
    {%- set within = [] -%}
    {%- for name in watermark.within -%}
        {%- do within.append('cdc_rows.' ~ spark_cdc._quote(name) ~ ' <=> last.' ~ spark_cdc._quote(name)) -%}
    {%- endfor -%}
    {%- set names = spark_cdc._column_list(watermark.within) -%}
    {%- set last = spark_cdc._believed_watermark(column, watermark.type, run.call.builds == 'raw_log') -%}
    {%- do run.update({'read_from': 'the last ' ~ watermark.column ~ ' of each ' ~ watermark.within | join(', ')}) -%}
    {{ return(
        'left anti join (select ' ~ names ~ ', max(' ~ last ~ ') as cdc_last from ' ~ run.raw ~ ' group by ' ~ names
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

{#- What a run says if nothing is new: also where it began to look. -#}
{%- macro _no_new_raw_rows(run) -%}
    {%- set batches = [] -%}
    {%- for log in (run.logs or {}).values() if not log.is_stored and log.batch is not none -%}
        {%- do batches.append(spark_cdc._shown_literal(log.batch, log.type)) -%}
    {%- endfor -%}
    {{ return(
        'no new raw rows' ~ (' from ' ~ run.read_from ~ ' on' if run.read_from) ~ (' after ' ~ batches | join(', ') if batches)
    ) }}
{%- endmacro -%}

{#- A value, given as such a text, as a person reads it. -#}
{%- macro _shown_literal(value, data_type) -%}
    {#- from the year 1 on -#}
    {%- if data_type | lower == 'timestamp' and value | int >= -62135596800000000 -%}
        {{ return(modules.datetime.datetime(1970, 1, 1) + modules.datetime.timedelta(microseconds=value | int)) }}
    {%- endif -%}
    {{ return(value) }}
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
