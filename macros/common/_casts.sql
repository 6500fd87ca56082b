{#- Which type of a raw column may be declared as which other type. -#}

{#- The kinds of types that a column of each kind may be declared as. It may always keep its own type. docs/values.md has the
    same table. -#}
{%- macro _casts() -%}
    {%- set numbers = ['integer', 'decimal', 'floating'] -%}
    {%- set times = ['date', 'timestamp', 'timestamp_ntz'] -%}
    {{ return({
        'text': ['text', 'boolean'] + numbers + times + ['time', 'interval', 'binary'],
        'boolean': ['text'] + numbers,
        'integer': ['text', 'boolean'] + numbers,
        'decimal': ['text', 'boolean'] + numbers,
        'floating': ['text', 'boolean'] + numbers,
        'date': ['text'] + times,
        'timestamp': ['text'] + times,
        'timestamp_ntz': ['text'] + times,
        'time': ['text'],
        'interval': [],
        'binary': [],
    }) }}
{%- endmacro -%}

{#- The kind of a type: a key of `_casts`, or the name of another type. -#}
{%- macro _kind_of(data_type) -%}
    {%- set name = modules.re.match('\\s*(\\w*)', data_type | lower).group(1) -%}
    {%- if name == 'timestamp_ntz' or modules.re.match('(?i)\\s*timestamp\\s+without', data_type) -%}
        {{ return('timestamp_ntz') }}
    {%- endif -%}
    {{ return(spark_cdc._type_facts(data_type).family or name) }}
{%- endmacro -%}

{#- Stops if a column cannot be declared as a type. -#}
{%- macro _check_cast(macro_name, name, type_there, data_type) -%}
    {%- if spark_cdc._spelled(type_there) != spark_cdc._spelled(data_type) -%}
        {%- set there, wanted, casts = spark_cdc._kind_of(type_there), spark_cdc._kind_of(data_type), spark_cdc._casts() -%}
        {%- if wanted not in casts.get(there, []) -%}
            {%- set words = {'text': 'string', 'integer': 'tinyint, smallint, int, bigint', 'floating': 'float, double'} -%}
            {%- set accepted = [] -%}
            {%- for kind in casts.get(there, []) -%}{%- do accepted.append(words.get(kind, kind)) -%}{%- endfor -%}
            {{ spark_cdc._stop(
                macro_name, 'the column ' ~ name ~ ' is ' ~ type_there ~ ' and shall be ' ~ data_type,
                ([type_there] + accepted) | join(', ') ~ '; or convert it in a view, and give that view as the relation',
                'create view … as select * except (' ~ name ~ '), ' ~ spark_cdc._cast_in_view(name, there, wanted, data_type)
                ~ ' as ' ~ name ~ ' from …'
            ) }}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}

{#- How a view can convert a column: an example. -#}
{%- macro _cast_in_view(name, there, wanted, data_type) -%}
    {%- set numbers, times = ['integer', 'decimal', 'floating'], ['timestamp', 'timestamp_ntz'] -%}
    {%- if there in numbers and wanted in times -%}
        {{ return('timestamp_seconds(' ~ name ~ ')') }}
    {%- elif there in numbers and wanted == 'date' -%}
        {{ return('to_date(cast(' ~ name ~ " as string), 'yyyyMMdd')") }}
    {%- elif there == 'timestamp' and wanted in numbers -%}
        {{ return('unix_micros(' ~ name ~ ')') }}
    {%- elif there == 'binary' and wanted == 'text' -%}
        {{ return('hex(' ~ name ~ ')') }}
    {%- elif there in ('array', 'struct', 'map') -%}
        {{ return('to_json(' ~ name ~ ')') }}
    {%- elif there == 'text' -%}
        {{ return('from_json(' ~ name ~ ", '" ~ data_type ~ "')") }}
    {%- endif -%}
    {{ return('cast(' ~ name ~ ' as ' ~ data_type ~ ')') }}
{%- endmacro -%}
