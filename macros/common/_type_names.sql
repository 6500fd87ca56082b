{#- Names of Spark SQL types: their parts, their families and how they are written. -#}

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
