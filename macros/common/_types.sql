{#- The types that users give as text, checked against Spark's grammar before they are used in SQL. -#}

{#- Stops for a type that Spark does not know. The example has the type that may be meant, between `before` and `after`. -#}
{%- macro _check_type(macro_name, what, data_type, before, after) -%}
    {%- set unknown = spark_cdc._unknown_in_type(data_type) -%}
    {%- if unknown is not none -%}
        {{ spark_cdc._stop(
            macro_name,
            what ~ ' is ' ~ data_type ~ (', and ' ~ unknown if unknown != data_type) ~ ', which Spark does not know',
            'boolean, tinyint, smallint, int, bigint, float, double, decimal(p, s) of at most 38 digits, string, char(n), varchar(n),'
            ~ ' binary, date, timestamp, timestamp_ntz, interval day to second, interval year to month, array<type>,'
            ~ ' struct<name: type, …>; string with a collation: string collate unicode',
            before ~ spark_cdc._type_meant(data_type) ~ after
        ) }}
    {%- endif -%}
{%- endmacro -%}

{#- The first part of a type that is not valid, as it is written; none if all parts are valid. -#}
{%- macro _unknown_in_type(data_type) -%}
    {%- set text = modules.re.sub('\\s+', ' ', data_type) | trim -%}
    {%- set nested = modules.re.fullmatch('(?is)(array|map|struct) ?<(.*)>', text) -%}
    {%- if nested is none -%}
        {{ return(none if spark_cdc._is_simple_type(text | lower) else text) }}
    {%- endif -%}
    {%- set kind, parts = nested.group(1) | lower, [] -%}
    {%- if kind != 'struct' or nested.group(2) | trim -%}{%- do parts.extend(spark_cdc._split_type(nested.group(2))) -%}{%- endif -%}
    {%- if (kind == 'array' and parts | length != 1) or (kind == 'map' and parts | length != 2) -%}
        {{ return(text) }}
    {%- endif -%}
    {%- for part in parts -%}
        {%- set inner = part -%}
        {%- if kind == 'struct' -%}
            {%- set field = modules.re.fullmatch(
                '(?is)\\s*(?:`(?:[^`]|``)+`|\\w+)\\s*(?:\\s|:)(.*?)(?:\\s+not\\s+null)?(?:\\s+comment\\s+(?:\\x27.*\\x27|".*"))?\\s*', part
            ) -%}
            {%- if field is none -%}{{ return(part | trim or text) }}{%- endif -%}
            {%- set inner = field.group(1) -%}
        {%- endif -%}
        {%- set unknown = spark_cdc._unknown_in_type(inner) -%}
        {%- if unknown is not none -%}{{ return(unknown or text) }}{%- endif -%}
    {%- endfor -%}
    {{ return(none) }}
{%- endmacro -%}

{#- Whether a text is a type without nested types, in lower case with single blanks. It accepts some types that the message
    of `_check_type` does not list: they occur in raw relations or need a newer Spark. -#}
{%- macro _is_simple_type(text) -%}
    {%- set fields = {'year': 0, 'month': 1, 'day': 2, 'hour': 3, 'minute': 4, 'second': 5} -%}
    {%- if modules.re.fullmatch(
        'boolean|tinyint|byte|smallint|short|int|integer|bigint|long|float|real|double|binary|date|timestamp(_ltz|_ntz)?|variant'
        ~ '|timestamp without time zone|time( ?\\( ?[0-6] ?\\))?( without time zone)?|string( collate [\\w.]+)?'
        ~ '|(char|character|varchar) ?\\( ?[1-9][0-9]* ?\\)|(geometry|geography) ?\\( ?(any|[0-9]+) ?\\)', text
    ) -%}
        {{ return(true) }}
    {%- endif -%}
    {%- set number = modules.re.fullmatch('(?:decimal|dec|numeric)(?: ?\\( ?([0-9]+) ?(?:, ?([0-9]+) ?)?\\))?', text) -%}
    {%- if number -%}
        {%- set digits, scale = (number.group(1) or 10) | int, (number.group(2) or 0) | int -%}
        {{ return(1 <= digits <= 38 and scale <= digits) }}
    {%- endif -%}
    {%- set interval = modules.re.fullmatch('interval (\\w+)(?: to (\\w+))?', text) -%}
    {%- if interval and interval.group(1) in fields and (interval.group(2) or interval.group(1)) in fields -%}
        {%- set first, last = fields[interval.group(1)], fields[interval.group(2) or interval.group(1)] -%}
        {{ return((first < last or not interval.group(2)) and (first < 2) == (last < 2)) }}
    {%- endif -%}
    {{ return(false) }}
{%- endmacro -%}

{#- The Spark type that a misspelt type, or a type of another database, may mean. -#}
{%- macro _type_meant(data_type) -%}
    {%- set meant = {
        'boolean': 'bool|bit|logical', 'smallint': 'int2', 'int': 'int|integer|int4|mediumint|serial',
        'bigint': 'bigint|int8|int64|bigserial|serial8', 'float': 'float4|smallfloat', 'double': 'float|float8|float64|double precision|number',
        'timestamp': 'datetime\\w*|timestamp.*', 'date': 'date.*', 'decimal(19, 4)': 'money|smallmoney',
        'binary': 'blob|raw|long raw|varbinary|bytea|image|binary|bytes|char for bit data',
    } -%}
    {%- set text = data_type | lower | trim -%}
    {%- set digits = modules.re.fullmatch('(?:number|numeric|decimal|dec)\\s*\\(\\s*(\\d+)\\s*(?:,\\s*(\\d+)\\s*)?\\)', text) -%}
    {%- if digits -%}
        {%- set wanted = 'decimal(' ~ digits.group(1) ~ ', ' ~ (digits.group(2) or 0) ~ ')' -%}
        {{ return(wanted if spark_cdc._is_simple_type(wanted) else 'decimal(38, 10)') }}
    {%- endif -%}
    {%- set name = modules.re.sub('\\s*\\(.*', '', text) -%}
    {%- for wanted, names in meant.items() if modules.re.fullmatch(names, name) -%}
        {{ return(wanted) }}
    {%- endfor -%}
    {{ return('string') }}
{%- endmacro -%}
