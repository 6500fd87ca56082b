{#- Values of raw rows: converted to the declared types, and verbatim for quarantine. -#}

{#- A raw value as `data_type`; NULL if it is not exactly a value of that type. Text without a zone is in UTC. char and
    varchar become strings, as in every select: a table made from it accepts longer values too. -#}
{%- macro _typed(expression, type_there, data_type) -%}
    {%- set wanted, there = data_type | lower | replace(' ', ''), type_there | lower | replace(' ', '') -%}
    {%- if wanted.startswith(('char(', 'character(', 'varchar(')) -%}
        {%- set wanted, data_type = 'string', 'string' -%}
    {%- endif -%}
    {%- if wanted == there -%}
        {{ return(expression) }}
    {%- elif wanted in ('timestamp', 'timestamp_ltz') and there.startswith(('string', 'varchar', 'char')) -%}
        {%- set text = 'trim(' ~ spark_cdc._bytewise(expression, type_there) ~ ')' -%}
        {%- set readings = [] -%}
        {#- Each ending completes a text without a zone to a time in UTC. In this order, the text goes to the second or its
            fraction, is a date, goes to the minute or the hour, is a month, is a year. If no ending fits, the text has a
            zone of its own. -#}
        {%- for end in ('Z', 'T00:00:00Z', ':00Z', ':00:00Z', '-01T00:00:00Z', '-01-01T00:00:00Z') -%}
            {%- do readings.append('try_cast(concat(' ~ text ~ ", '" ~ end ~ "') as timestamp)") -%}
        {%- endfor -%}
        {%- do readings.append('try_cast(' ~ text ~ ' as timestamp)') -%}
        {#- Spark reads a time without a date as a time of today -#}
        {{ return(
            "case\n    when " ~ text ~ " rlike '^[+-]?[0-9]{4}'\n        then coalesce(\n            "
            ~ readings | join(',\n            ') ~ '\n        )\nend'
        ) }}
    {%- elif wanted == 'binary' and there.startswith(('string', 'varchar', 'char')) -%}
        {#- 0xCAFE, x'CAFE' -#}
        {%- set text, pattern = spark_cdc._bytewise(expression, type_there), "'^(0[xX]|[xX]\\'(?=.*\\'$))((?:[0-9a-fA-F]{2})+)\\'?$'" -%}
        {%- set digits = spark_cdc._call('regexp_extract', [text, pattern, '2']) -%}
        {{ return(spark_cdc._call('coalesce', [
            spark_cdc._bytes_of_hex(expression),
            'case\n    when ' ~ text ~ ' rlike ' ~ pattern ~ '\n        then ' ~ spark_cdc._call('unhex', [digits]) | indent(8) ~ '\nend',
        ])) }}
    {%- endif -%}
    {%- set value = 'try_cast(' ~ expression ~ ' as ' ~ spark_cdc._spaced(data_type) ~ ')' -%}
    {%- set is_exact = spark_cdc._is_exact(expression, type_there, value, data_type) -%}
    {%- set facts = spark_cdc._type_facts(data_type) -%}
    {%- if spark_cdc._type_facts(type_there).family == 'text' and facts.family in ('integer', 'boolean') -%}
        {{ return(spark_cdc._call('coalesce', [value, spark_cdc._whole_number(expression, type_there, data_type, facts.family)])) }}
    {%- endif -%}
    {%- if is_exact -%}
        {{ return('case\n    when\n        ' ~ is_exact | indent(8) ~ '\n        then ' ~ value ~ '\nend') }}
    {%- endif -%}
    {{ return(value) }}
{%- endmacro -%}

{#- The bytes of hexadecimal text; NULL if it is not. Spark also accepts an odd number of digits: it guesses that the first byte
    has one. -#}
{%- macro _bytes_of_hex(expression) -%}
    {{ return('case\n    when length(' ~ expression ~ ') % 2 = 0\n        then unhex(' ~ expression ~ ')\nend') }}
{%- endmacro -%}

{#- A text that is a whole number in another form, such as 5.0 or 1e3. -#}
{%- macro _whole_number(expression, type_there, data_type, family) -%}
    {%- set text = spark_cdc._bytewise(expression, type_there) -%}
    {%- set number = 'try_cast(' ~ expression ~ ' as decimal(38, 0))' -%}
case
    when
        {{ spark_cdc._has_places(text, 0) | indent(8) }}
        {%- if family == 'boolean' %}
        then
            case {{ number }}
                when 1 then true
                when 0 then false
            end
        {%- else %}
        then try_cast({{ number }} as {{ data_type }})
        {%- endif %}
end
{%- endmacro -%}

{#- Whether a number, given as text, has only zeros after `places` places of its fraction. With an exponent, the last digit
    that is not 0 counts: its place as written, less the exponent. -#}
{%- macro _has_places(text, places) -%}
if(
    {{ text }} rlike '[eE]',
    not {{ text }} rlike '[1-9].*[eE]'
    or length(
        regexp_extract({{ text }}, '[.]([0-9]*?)0*[eE]', 1)
    )
    - length(
        regexp_extract(
            {{ text }}, '^[^.]*[1-9](0*)([.]0*)?[eE]', 1
        )
    )
    - try_cast(
        regexp_extract({{ text }}, '[eE](.*)$', 1) as int
    ) <= {{ places }},
    not {{ text }} rlike '[.][0-9]{{ '{' ~ places ~ '}' }}[0-9]*[1-9]'
)
{%- endmacro -%}

{#- Stops if two types differ and one of them is nested. A cast would lose single nested values, and it matches fields by
    position, not by name. -#}
{%- macro _check_cast(macro_name, name, type_there, data_type) -%}
    {%- set is_same = spark_cdc._spelled(type_there) == spark_cdc._spelled(data_type) -%}
    {%- if not is_same and '<' in type_there ~ data_type -%}
        {{ spark_cdc._stop(
            macro_name, 'the column ' ~ name ~ ' is ' ~ type_there ~ ' and shall be ' ~ data_type,
            'the type ' ~ type_there ~ ': nested types are not cast. Cast it in a view, and give that view as the relation',
            'create view … as select * except (' ~ name ~ '), from_json(' ~ name ~ ", 'array<int>') as " ~ name ~ ' from …'
        ) }}
    {%- endif -%}
    {%- if not is_same and spark_cdc._never_cast(type_there, data_type) -%}
        {{ spark_cdc._stop(
            macro_name, 'the column ' ~ name ~ ' is ' ~ type_there ~ ' and shall be ' ~ data_type ~ ', to which Spark never casts ' ~ type_there,
            'a type that ' ~ type_there ~ ' can be cast to; or convert it to ' ~ data_type ~ ' in a view, and give that view as the relation',
            'create view … as select * except (' ~ name ~ '), to_date(cast(' ~ name ~ " as string), 'yyyyMMdd') as " ~ name ~ ' from …'
        ) }}
    {%- endif -%}
{%- endmacro -%}

{#- Whether Spark never casts a value of one type to another: in ANSI mode such a cast stops the query. -#}
{%- macro _never_cast(type_there, data_type) -%}
    {%- set never = {
        'integer': ['date', 'timestamp_ntz', 'binary'],
        'decimal': ['date', 'timestamp_ntz', 'binary'],
        'floating': ['date', 'timestamp_ntz', 'binary', 'interval'],
        'boolean': ['date', 'timestamp', 'timestamp_ntz', 'binary', 'interval'],
        'date': ['integer', 'decimal', 'floating', 'boolean', 'binary', 'interval'],
        'timestamp': ['boolean', 'binary', 'interval'],
        'timestamp_ntz': ['integer', 'decimal', 'floating', 'boolean', 'binary', 'interval'],
        'binary': ['integer', 'decimal', 'floating', 'boolean', 'date', 'timestamp', 'timestamp_ntz', 'interval'],
        'interval': ['floating', 'boolean', 'date', 'timestamp', 'timestamp_ntz', 'binary'],
    } -%}
    {%- set kinds = [] -%}
    {%- for one in (type_there, data_type) -%}
        {%- set name = modules.re.match('\\s*(\\w*)', one | lower).group(1) -%}
        {%- set is_ntz = name == 'timestamp_ntz' or modules.re.match('(?i)\\s*timestamp\\s+without', one) -%}
        {%- do kinds.append('timestamp_ntz' if is_ntz else spark_cdc._type_facts(one).family or name) -%}
    {%- endfor -%}
    {{ return(kinds[1] in never.get(kinds[0], [])) }}
{%- endmacro -%}

{#- Whether the cast `value` neither rounds nor truncates, as SQL: false or NULL if it does. Returns none if the cast never
    does. -#}
{%- macro _is_exact(expression, type_there, value, data_type) -%}
    {%- set there, wanted = spark_cdc._type_facts(type_there), spark_cdc._type_facts(data_type) -%}
    {%- if there.family == 'text' -%}
        {%- set text = spark_cdc._bytewise(expression, type_there) -%}
        {%- if wanted.family == 'decimal' -%}
            {{ return(spark_cdc._has_places(text, wanted.scale)) }}
        {%- elif wanted.family == 'date' -%}
            {#- Spark ignores everything after a date -#}
            {{ return(text ~ " rlike '^ *[^ T]+([ T][ 0:.+-]*Z? *)?$'") }}
        {%- elif wanted.family == 'timestamp' -%}
            {#- a timestamp_ntz cannot keep the zone of a text -#}
            {{ return(text ~ " rlike '^ *[+-]?[0-9]{4}[0-9-]*([ T][0-9:.]*)? *$'") }}
        {%- elif wanted.family == 'floating' -%}
            {{ return('abs(' ~ value ~ ") <> cast('infinity' as double)\nor " ~ text ~ " rlike '(?i)inf'") }}
        {%- endif -%}
    {%- elif there.family == 'floating' and wanted.family == 'floating' -%}
        {#- a number that is too large becomes infinite -#}
        {{ return(
            'abs(' ~ value ~ ") <> cast('infinity' as double)\nor abs(" ~ expression ~ ") = cast('infinity' as double)"
        ) }}
    {%- elif
        (there.family == 'decimal' and wanted.family in ('decimal', 'integer') and there.scale > wanted.scale)
        or (there.family == 'floating' and wanted.family in ('decimal', 'integer'))
        or (there.family == 'timestamp' and wanted.family in ('date', 'integer', 'decimal', 'floating'))
        or (there.family in ('integer', 'decimal', 'floating') and wanted.family in ('boolean', 'timestamp')) -%}
        {%- set is_same = 'try_cast(\n    ' ~ value ~ ' as ' ~ spark_cdc._spaced(type_there) ~ '\n) = ' ~ expression -%}
        {#- Spark casts the first number that is too large for a bigint to the largest bigint -#}
        {%- set is_large = there.family == 'floating' and wanted.family == 'integer' -%}
        {{ return(is_same ~ ('\nand ' ~ expression ~ ' < 9223372036854775808D' if is_large)) }}
    {%- endif -%}
    {{ return(none) }}
{%- endmacro -%}

{#- The value of cdc_batch for this run. Later runs have greater values. -#}
{%- macro _batch() -%}
    {{ return(run_started_at.strftime('%Y-%m-%dT%H:%M:%S.%fZ')) }}
{%- endmacro -%}

{#- A call of a function, with one argument on each line. -#}
{%- macro _call(name, arguments) -%}
    {%- set lines = arguments | join(',\n') -%}
    {{ return(name ~ '(\n    ' ~ (lines | indent(4)) ~ '\n)') }}
{%- endmacro -%}
