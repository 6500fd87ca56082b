{#- How names and texts are written in SQL, and the checks of names in every public macro. -#}

{%- macro _quote(name) -%}
    `{{ name | replace('`', '``') }}`
{%- endmacro -%}

{#- A text as a literal. Spark replaces ${…} in whole statements, so data could show the server's environment. -#}
{%- macro _literal(text) -%}
    '{{ text | replace('\\', '\\\\') | replace("'", "\\'") | replace('${', '\\u0024{') }}'
{%- endmacro -%}

{#- "`a`, `b`", with `prefix` before each name (a table alias with its dot, or nothing). -#}
{%- macro _column_list(names, prefix='') -%}
    {%- for name in names -%}
        {{ prefix }}{{ spark_cdc._quote(name) }}{{ ', ' if not loop.last }}
    {%- endfor -%}
{%- endmacro -%}

{#- The named columns as one struct, in which whole rows are compared and passed on. -#}
{%- macro _struct(names, prefix='') -%}
named_struct(
    {%- for name in names %}
    {{ spark_cdc._literal(name) }}, {{ prefix }}{{ spark_cdc._quote(name) }}{{ ',' if not loop.last }}
    {%- endfor %}
)
{%- endmacro -%}

{#- Stops compilation. The message says what was given and what is accepted, and has an example to copy. -#}
{%- macro _stop(macro_name, given, accepted, example) -%}
    {{ exceptions.raise_compiler_error(spark_cdc._stop_message(macro_name, given, accepted, example)) }}
{%- endmacro -%}

{%- macro _stop_message(macro_name, given, accepted, example) -%}
    {{ return('spark_cdc.' ~ macro_name ~ ': ' ~ given ~ '\n  accepted: ' ~ accepted ~ '\n  example:  ' ~ example) }}
{%- endmacro -%}

{#- The names in `asked` as `known` (a list of names) spells them; an unknown name stops. -#}
{%- macro _resolve_names(macro_name, argument, asked, known, example) -%}
    {%- if asked is undefined or asked is string or asked is mapping or asked is not iterable -%}
        {{ spark_cdc._stop(
            macro_name, argument ~ ' is ' ~ ('not defined' if asked is undefined else asked),
            argument ~ ' takes a list of column names', example
        ) }}
    {%- endif -%}
    {%- set spelled, alike = {}, [] -%}
    {%- for name in known -%}
        {%- if name | lower in spelled -%}{%- do alike.append(name | lower) -%}{%- endif -%}
        {%- do spelled.update({name | lower: name}) -%}
    {%- endfor -%}
    {%- set resolved = [] -%}
    {%- for name in asked -%}
        {%- if name is not string or name | lower not in spelled -%}
            {{ spark_cdc._stop(
                macro_name,
                argument ~ ' names the column ' ~ name ~ ', which does not exist',
                'the columns ' ~ known | join(', '),
                example
            ) }}
        {%- endif -%}
        {%- if name | lower in alike -%}
            {{ spark_cdc._stop(
                macro_name, argument ~ ' names the column ' ~ name ~ ', but two columns have this name, in different case',
                'names that differ in more than case: rename one in a view and give that view as the relation', example
            ) }}
        {%- endif -%}
        {%- if spelled[name | lower] in resolved -%}
            {{ spark_cdc._stop(macro_name, argument ~ ' names ' ~ name ~ ' twice', 'each column once', example) }}
        {%- endif -%}
        {%- do resolved.append(spelled[name | lower]) -%}
    {%- endfor -%}
    {{ return(resolved) }}
{%- endmacro -%}

{#- The names of the key as `known` spells them; an empty key stops. -#}
{%- macro _resolve_key(macro_name, key, known, example) -%}
    {%- if key is none or key is undefined or (key is iterable and key is not string and key | length == 0) -%}
        {{ spark_cdc._stop(macro_name, 'key is empty', 'the list of the columns of the primary key', example) }}
    {%- endif -%}
    {{ return(spark_cdc._resolve_names(macro_name, 'key', key, known, example)) }}
{%- endmacro -%}

{%- macro _check_null_keys(macro_name, null_keys) -%}
    {%- if null_keys is not boolean -%}
        {{ spark_cdc._stop(
            macro_name, 'null_keys is ' ~ null_keys, 'true, if NULL is a value of the key columns, or false', 'null_keys=true'
        ) }}
    {%- endif -%}
{%- endmacro -%}

{#- Whether values of a type cannot be compared: the type is or contains a map or a variant. A field may be called that. -#}
{%- macro _has_no_equality(data_type) -%}
    {%- set unquoted = modules.re.sub('`[^`]*`', '', data_type | lower) -%}
    {{ return(
        modules.re.search('\\bmap\\s*<|\\bvariant\\s*($|[,>]|not\\s+null\\b|comment\\b)', unquoted) is not none
    ) }}
{%- endmacro -%}

{#- Stops for columns that a table of change data cannot have: reserved names, no type, types without equality. It also stops
    for names in `there`, the columns of its relation, that cannot be written in laid-out SQL. -#}
{%- macro _check_table_columns(macro_name, columns, there, example) -%}
    {%- for name in there if '${' in name -%}
        {{ spark_cdc._stop(
            macro_name, 'Spark would replace a part of the name of the column ' ~ name, 'names without ${: rename it in a view',
            'create view orders_renamed (order_id, order_no) as select * from …'
        ) }}
    {%- endfor -%}
    {%- for name in there if '\n' in name or '\r' in name -%}
        {{ spark_cdc._stop(
            macro_name, 'there is a line break in the name of the column ' ~ tojson(name), 'names without a line break: rename it in a view',
            'create view orders_renamed (order_id, order_no) as select * from …'
        ) }}
    {%- endfor -%}
    {%- for name, data_type in columns.items() -%}
        {%- if columns | map('lower') | select('equalto', name | lower) | list | length > 1 -%}
            {{ spark_cdc._stop(
                macro_name, 'two columns are named ' ~ name ~ ', in different case', 'names that differ in more than case',
                "columns={'id': 'bigint', 'other_id': 'bigint'}"
            ) }}
        {%- endif -%}
        {%- if (name | lower).startswith('cdc_') -%}
            {{ spark_cdc._stop(
                macro_name,
                'the column ' ~ name ~ ' begins with cdc_, which is reserved',
                'columns under other names: rename it in a view and give that view as the relation',
                'create view orders_renamed as select * except (' ~ name ~ '), ' ~ name ~ ' as source_' ~ name ~ ' from …'
            ) }}
        {%- endif -%}
        {%- if data_type is not string or not data_type | trim -%}
            {{ spark_cdc._stop(
                macro_name,
                'the type of the column ' ~ name ~ ' is ' ~ ('empty' if data_type is string else data_type),
                'a dict of name -> Spark SQL type, a text', "columns={'order_id': 'bigint', 'amount': 'decimal(12,2)'}"
            ) }}
        {%- endif -%}
        {#- the type of a column of the relation was written by Spark -#}
        {%- if data_type not in there.values() -%}
            {%- do spark_cdc._check_type(macro_name, 'the type of the column ' ~ name, data_type, "columns={'" ~ name ~ "': '", "'}") -%}
        {%- endif -%}
        {%- if spark_cdc._has_no_equality(data_type) -%}
            {{ spark_cdc._stop(
                macro_name,
                'the column ' ~ name ~ ' is of type ' ~ data_type ~ ', which has no equality',
                'columns of any type except map and variant: turn it into text in a view',
                'create view … as select * except (' ~ name ~ '), to_json(' ~ name ~ ') as ' ~ name ~ ' from …'
            ) }}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}
