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
        {%- set text, pattern = spark_cdc._bytewise(expression, type_there), "'^(0[xX]|[xX]\\'(?=.*\\'$))([0-9a-fA-F]+)\\'?$'" -%}
        {%- set digits = spark_cdc._call('regexp_extract', [text, pattern, '2']) -%}
        {{ return(spark_cdc._call('coalesce', [
            'unhex(' ~ expression ~ ')',
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

{#- A raw value that is not NULL, as text to show. It is the same in each session. -#}
{%- macro _as_text(expression, data_type) -%}
    {%- set family = spark_cdc._type_facts(data_type).family -%}
    {%- if family == 'text' -%}
        {{ return(spark_cdc._bytewise(expression, data_type)) }}
    {%- elif family == 'timestamp' -%}
        {%- set form = "'yyyy-MM-dd HH:mm:ss.SSSSSS" -%}
        {%- set options = spark_cdc._call('map', [
            "'timeZone', 'UTC'", "'timestampFormat', " ~ form ~ "XXX'", "'timestampNTZFormat', " ~ form ~ "'"
        ]) -%}
        {%- set json = spark_cdc._call('to_json', ['array(' ~ expression ~ ')', options]) -%}
        {{ return(spark_cdc._call('get_json_object', [json, "'$[0]'"])) }}
    {%- elif data_type | lower == 'binary' -%}
        {{ return('hex(' ~ expression ~ ')') }}
    {%- endif -%}
    {{ return('cast(' ~ expression ~ ' as string)') }}
{%- endmacro -%}

{#- The `detail` of a bad_value: the column and the value of the first bad value, and how many there are. `values` is a list
    of {`name`, `type`, `is_bad`: SQL, `text`: SQL}. Spark evaluates it outside of its generated code; see _qlik_names_where.
    -#}
{%- macro _bad_value_detail(values) -%}
    {%- if not values -%}{{ return('cast(null as string)') }}{%- endif -%}
    {%- set lines = [] -%}
    {%- for value in values -%}
        {%- do lines.append(spark_cdc._call('named_struct', [
            "'name', " ~ spark_cdc._literal(value.name),
            "'type', " ~ spark_cdc._literal(value.type),
            "'value', case\n    when\n        " ~ (value.is_bad | indent(8)) ~ '\n        then ' ~ (value.text | indent(8)) ~ '\nend',
        ])) -%}
    {%- endfor -%}
get(
    transform(
        array(
            filter(
                {{ spark_cdc._call('array', lines) | indent(16) }},
                one -> one.value is not null
            )
        ),
        bad -> concat(
            bad[0].name,
            ': \'',
            left(bad[0].value, 100),
            if(length(bad[0].value) > 100, '...', ''),
            '\' is no ',
            bad[0].type,
            if(size(bad) > 1, concat('; the first of ', size(bad), ' such values'), '')
        )
    ),
    0
)
{%- endmacro -%}

{#- A type in one spelling, for comparisons. Spark has several names for some types, writes names of fields without quotes,
    and treats char and varchar as strings. Lengths count only `with_lengths`. -#}
{%- macro _spelled(data_type, with_lengths=false) -%}
    {%- set spelling = namespace(text=data_type | lower) -%}
    {%- for pattern, name in {
        '\\bcharacter\\b': 'char', '\\binteger\\b': 'int', '\\blong\\b': 'bigint', '\\bshort\\b': 'smallint',
        '\\bbyte\\b': 'tinyint', '\\breal\\b': 'float', '\\b(dec|numeric)\\b': 'decimal', '\\btimestamp_ltz\\b': 'timestamp',
        '\\bdecimal\\b(?!\\s*\\()': 'decimal(10,0)', '(\\bdecimal\\s*\\(\\s*\\d+\\s*)\\)': '\\1,0)', '\\bnot\\s+null\\b': ''
    }.items() -%}
        {%- set spelling.text = modules.re.sub(pattern, name, spelling.text) -%}
    {%- endfor -%}
    {%- if not with_lengths -%}
        {%- set spelling.text = modules.re.sub('\\b(var)?char\\s*\\(\\s*\\d+\\s*\\)', 'string', spelling.text) -%}
    {%- endif -%}
    {{ return(modules.re.sub('[\\s`:]', '', spelling.text)) }}
{%- endmacro -%}

{#- A type as compiled SQL has it: with a blank after each comma, except in quoted names. -#}
{%- macro _spaced(data_type) -%}
    {{ return(modules.re.sub(',\\s*(?=[^`]*(?:`[^`]*`[^`]*)*$)', ', ', data_type)) }}
{%- endmacro -%}

{#- The family of a type, and how many decimal places it has. Other types have the family none. -#}
{%- macro _type_facts(data_type) -%}
    {%- set families = {
        'text': ('string', 'varchar', 'char', 'character'),
        'decimal': ('decimal', 'dec', 'numeric'),
        'floating': ('float', 'real', 'double'),
        'integer': ('tinyint', 'byte', 'smallint', 'short', 'int', 'integer', 'bigint', 'long'),
        'boolean': ('boolean',),
        'date': ('date',),
        'timestamp': ('timestamp', 'timestamp_ltz', 'timestamp_ntz'),
    } -%}
    {%- set parts = modules.re.match('\\s*(\\w*)\\s*(?:\\(\\s*\\d+\\s*(?:,\\s*(\\d+))?)?', data_type | lower) -%}
    {%- set facts = {'family': none, 'scale': parts.group(2) | int} -%}
    {%- for family, names in families.items() if parts.group(1) in names -%}
        {%- do facts.update({'family': family}) -%}
    {%- endfor -%}
    {{ return(facts) }}
{%- endmacro -%}

{#- A value of `data_type` for exact comparison: texts that are equal only under their collation differ. -#}
{%- macro _bytewise(expression, data_type) -%}
    {{ return('cast(' ~ expression ~ ' as string collate utf8_binary)' if ' collate ' in data_type | lower else expression) }}
{%- endmacro -%}

{#- Whether two rows hold the same values. Rows are structs, and `types` is a dict of column -> type. -#}
{%- macro _is_same_row(left, right, types) -%}
{{ left }} <=> {{ right }}
    {%- for name, data_type in types.items() if ' collate ' in data_type | lower %}
        {%- set column = '.' ~ spark_cdc._quote(name) %}
and {{ spark_cdc._bytewise(left ~ column, data_type) }}
<=> {{ spark_cdc._bytewise(right ~ column, data_type) }}
    {%- endfor %}
{%- endmacro -%}

{#- The raw row as JSON: binary as hexadecimal text, times with microseconds, NULLs kept. `columns` is what columns_of
    returns. -#}
{%- macro raw_json(columns) -%}
    {%- set fields = [] -%}
    {%- for name, data_type in columns.items() -%}
        {%- set value = spark_cdc._with_hex(spark_cdc._quote(name), data_type) -%}
        {%- do fields.append(spark_cdc._literal(name) ~ ', ' ~ (spark_cdc._quote(name) if value is none else value)) -%}
    {%- endfor -%}
to_json(
    named_struct(
        {{ fields | join(',\n') | indent(8) }}
    ),
    map(
        'ignoreNullFields', 'false',
        {{ spark_cdc._json_times() | indent(8) }}
    )
)
{%- endmacro -%}

{#- The options of to_json that keep times complete, and the same in each session. -#}
{%- macro _json_times() -%}
    {%- set time = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS" -%}
'timeZone', 'UTC',
'timestampFormat', {{ spark_cdc._literal(time ~ 'XXX') }},
'timestampNTZFormat', {{ spark_cdc._literal(time) }}
{%- endmacro -%}

{#- A value in which all binary is hexadecimal text, also in structs, arrays and maps. to_json would write base64. None if
    the type cannot be parsed: Spark writes names of fields without quotes. -#}
{%- macro _with_hex(value, data_type, depth=0) -%}
    {%- set nested = modules.re.fullmatch('(?is)\\s*(array|map|struct)\\s*<(.*)>\\s*', data_type) -%}
    {%- if modules.re.fullmatch('(?is)\\s*binary(\\s+not\\s+null)?(\\s+comment\\b.*)?', data_type) -%}
        {{ return('hex(' ~ value ~ ')') }}
    {%- elif nested is none and not modules.re.fullmatch('(?is)\\s*\\w[\\w ]*(\\([\\d, ]*\\)[\\w ]*)?(\\bcomment\\b.*)?', data_type) -%}
        {{ return(none) }}
    {%- elif nested is none or not modules.re.search('(?i)\\bbinary\\b', data_type) -%}
        {{ return(value) }}
    {%- endif -%}
    {%- set kind, inner = nested.group(1) | lower, spark_cdc._split_type(nested.group(2)) -%}
    {%- set parts = [] -%}
    {%- if kind == 'struct' -%}
        {%- for field in inner -%}
            {%- set found = modules.re.fullmatch('(?s)\\s*(`(?:[^`]|``)*`|[^:]*?)\\s*:(.*)', field) -%}
            {%- if found is none -%}{{ return(none) }}{%- endif -%}
            {%- set name = found.group(1) -%}
            {%- set name = name[1:-1] | replace('``', '`') if name.startswith('`') else name -%}
            {#- not with a dot: a column may have the name of its relation -#}
            {%- set part = spark_cdc._with_hex(value ~ '[' ~ spark_cdc._literal(name) ~ ']', found.group(2), depth) -%}
            {%- do parts.append(none if part is none else spark_cdc._literal(name) ~ ', ' ~ part) -%}
        {%- endfor -%}
    {%- else -%}
        {%- for item_type in inner -%}
            {%- do parts.append(spark_cdc._with_hex(['key_', 'item_'][loop.index0 - inner | length] ~ depth, item_type, depth + 1)) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- if not parts or none in parts or (kind == 'array' and parts | length > 1) or (kind == 'map' and parts | length != 2) -%}
        {{ return(none) }}
    {%- elif kind == 'struct' -%}
        {{ return(spark_cdc._call('if', [value ~ ' is null', 'null', spark_cdc._call('named_struct', parts)])) }}
    {%- elif kind == 'array' -%}
        {{ return(spark_cdc._call('transform', [value, 'item_' ~ depth ~ ' -> ' ~ parts[0]])) }}
    {%- endif -%}
    {%- set entry = '(key_' ~ depth ~ ', item_' ~ depth ~ ') -> ' -%}
    {{ return(spark_cdc._call(
        'transform_values', [spark_cdc._call('transform_keys', [value, entry ~ parts[0]]), entry ~ parts[1]]
    )) }}
{%- endmacro -%}

{#- A call of a function, with one argument on each line. -#}
{%- macro _call(name, arguments) -%}
    {%- set lines = arguments | join(',\n') -%}
    {{ return(name ~ '(\n    ' ~ (lines | indent(4)) ~ '\n)') }}
{%- endmacro -%}

{#- The types within a nested type, or the fields of a struct: split at commas outside of brackets and quotes. Empty if these
    are not closed. -#}
{%- macro _split_type(inner) -%}
    {%- set parts, open = [''], namespace(brackets=0, quoted=false, closed_too_often=false) -%}
    {%- for character in inner -%}
        {%- if character == '`' -%}{%- set open.quoted = not open.quoted -%}{%- endif -%}
        {%- if not open.quoted -%}
            {%- set open.brackets = open.brackets + (character in '<(') | int - (character in '>)') | int -%}
        {%- endif -%}
        {%- if open.brackets < 0 -%}{%- set open.closed_too_often = true -%}{%- endif -%}
        {%- if character == ',' and not open.brackets and not open.quoted -%}
            {%- do parts.append('') -%}
        {%- else -%}
            {%- do parts.append(parts.pop() ~ character) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return([] if open.brackets or open.quoted or open.closed_too_often else parts) }}
{%- endmacro -%}

{#- The value of cdc_batch for this run. Later runs have greater values. -#}
{%- macro _batch() -%}
    {{ return(run_started_at.strftime('%Y-%m-%dT%H:%M:%S.%fZ')) }}
{%- endmacro -%}
