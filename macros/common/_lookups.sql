{#- Logs of keys: they say which rows changed, without the values. The look-up `base`, a copy of the table, has the values.

    The spec of such a decoder has `lookups.base`, `key` and `columns` of the table, and `base_columns`: a dict of column ->
    name and type in `base`. Keys are compared as structs of exact values, cdc_key. -#}

{#- The columns of the table, and the column of `base` for each. Without `columns`, the table has the columns of `base`.
    Wrong arguments stop here. -#}
{%- macro _base_facts(me, base, columns, example) -%}
    {%- set in_base, spelled, base_columns, missing = spark_cdc.columns_of(base), {}, {}, [] -%}
    {%- if columns is not none and (columns is not mapping or not columns) -%}
        {{ spark_cdc._stop(
            me, 'columns is ' ~ ('empty' if columns is mapping else columns),
            'a dict of name -> Spark SQL type, or none for the columns of base', example
        ) }}
    {%- endif -%}
    {%- set columns = in_base if columns is none else columns -%}
    {%- do spark_cdc._check_table_columns(me, columns, in_base, example) -%}
    {%- for name in in_base -%}{%- do spelled.update({name | lower: name}) -%}{%- endfor -%}
    {%- for name in columns -%}
        {%- set there = spelled.get(name | lower) -%}
        {%- if there is none -%}
            {%- do missing.append(name) -%}
        {%- else -%}
            {%- do spark_cdc._check_cast(me, name, in_base[there], columns[name]) -%}
            {%- do base_columns.update({name: {'name': there, 'type': in_base[there]}}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if missing -%}
        {{ spark_cdc._stop(
            me, 'base, ' ~ base ~ ', lacks ' ~ missing | join(', ') ~ '; it has ' ~ in_base | join(', '),
            'a relation with all columns of the table: a copy of the user table', example
        ) }}
    {%- endif -%}
    {{ return({'columns': columns, 'base_columns': base_columns}) }}
{%- endmacro -%}

{#- The columns of a relation that are named PK and a number, ordered by number. Stops if two have the same number. -#}
{%- macro _numbered_key_columns(in_relation, me) -%}
    {%- set numbered, names = [], [] -%}
    {%- for name in in_relation if modules.re.fullmatch('(?i)PK0*[1-9][0-9]*', name, modules.re.A) -%}
        {%- do numbered.append({'name': name, 'number': name[2:] | int}) -%}
    {%- endfor -%}
    {%- for one in numbered | sort(attribute='number') -%}
        {%- if loop.previtem is defined and loop.previtem.number == one.number -%}
            {{ spark_cdc._stop(
                me, 'the columns ' ~ loop.previtem.name ~ ' and ' ~ one.name ~ ' have the same number',
                'key_columns: the columns of the relation that hold the key, in the order of key', "key_columns=['PK01', 'PK02']"
            ) }}
        {%- endif -%}
        {%- do names.append(one.name) -%}
    {%- endfor -%}
    {{ return(names) }}
{%- endmacro -%}

{#- Stops if the relation and the key do not have equally many key columns, or if their types do not fit. `key_columns` has
    names of the relation. -#}
{%- macro _check_key_columns(me, key_columns, key, columns, in_relation) -%}
    {%- if key_columns | length != key | length -%}
        {{ spark_cdc._stop(
            me, 'key has ' ~ key | length ~ ' columns (' ~ key | join(', ') ~ '), and the relation has ' ~ key_columns | length
            ~ ' key columns (' ~ (key_columns | join(', ') or 'no column is named PK01, PK02, …') ~ ')',
            'one key column of the relation for each column of key, in the same order', "key_columns=['PK01', 'PK02']"
        ) }}
    {%- endif -%}
    {%- for name in key_columns -%}
        {%- do spark_cdc._check_cast(me, name, in_relation[name], columns[key[loop.index0]]) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- The forms in which these databases write texts, beyond those of every source. -#}
{%- macro _lookup_forms() -%}
    {{ return(['dots', 'midnight']) }}
{%- endmacro -%}

{#- A value of a key as it is compared: exactly, whatever its collation. NULL if it is not exactly a value of its type. -#}
{%- macro _key_value(expression, type_there, data_type) -%}
    {{ return(spark_cdc._bytewise(spark_cdc._typed(expression, type_there, data_type, spark_cdc._lookup_forms()), data_type)) }}
{%- endmacro -%}

{#- The key as text, for groups and sequences: `values`, a dict of name -> SQL, joined by U+001F. Different keys have different
    texts: where a text could be taken for another key, U+001E, U+001F and NULL are U+001E with 0, 1 and N. Without `null_keys`
    the text is NULL if a value is. -#}
{%- macro _key_as_text(values, types, null_keys=false) -%}
    {%- set texts = [] -%}
    {%- for name, value in values.items() -%}
        {%- set data_type, facts = types[name] | lower | trim, spark_cdc._type_facts(types[name]) -%}
        {%- if data_type == 'binary' -%}
            {%- do texts.append('hex(' ~ value ~ ')') -%}
        {%- elif facts.family == 'timestamp' -%}
            {%- do texts.append(spark_cdc._time_text(value, types[name])) -%}
        {%- elif facts.family == 'floating' -%}
            {%- do texts.append('if(' ~ value ~ " = 0, '0.0', cast(" ~ value ~ ' as string))') -%}
        {%- elif facts.family == 'decimal' -%}
            {%- do texts.append(spark_cdc._text_of(value, types[name])) -%}
        {%- else -%}
            {%- set text = 'cast(' ~ spark_cdc._bytewise(value, types[name]) ~ ' as string)' -%}
            {%- if facts.family == 'text' and (values | length > 1 or null_keys) -%}
                {%- set text = spark_cdc._call('replace', [
                    spark_cdc._call('replace', [text, 'chr(30)', "concat(chr(30), '0')"]), 'chr(31)', "concat(chr(30), '1')"
                ]) -%}
            {%- endif -%}
            {%- do texts.append(text) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set parts = [] -%}
    {%- for text in texts -%}
        {%- set text = spark_cdc._call('coalesce', [text, "concat(chr(30), 'N')"]) if null_keys else text -%}
        {%- do parts.extend([text] if loop.first else ['chr(31)', text]) -%}
    {%- endfor -%}
    {{ return(parts[0] if parts | length == 1 else spark_cdc._call('concat', parts)) }}
{%- endmacro -%}

{#- The columns of the key as text, with `prefix` before each name. -#}
{%- macro _key_columns_as_text(spec, prefix='') -%}
    {%- set values = {} -%}
    {%- for name in spec.key -%}{%- do values.update({name: prefix ~ spark_cdc._quote(name)}) -%}{%- endfor -%}
    {{ return(spark_cdc._key_as_text(values, spec.columns)) }}
{%- endmacro -%}

{#- The columns of `base` that can have values which are not of their type. -#}
{%- macro _uncertain_columns(spec) -%}
    {%- set names = [] -%}
    {%- for name, there in spec.base_columns.items() if name not in spec.key -%}
        {%- if spark_cdc._can_be_bad(there.type, spec.columns[name]) -%}{%- do names.append(name) -%}{%- endif -%}
    {%- endfor -%}
    {{ return(names) }}
{%- endmacro -%}

{#- What a run says if no key of `base` can be read. -#}
{%- macro _no_key_in_base(spec) -%}
    {%- set types = [] -%}
    {%- for name in spec.key -%}{%- do types.append(spec.base_columns[name].name ~ ' ' ~ spec.columns[name]) -%}{%- endfor -%}
    {{ return('spark_cdc.' ~ spec.decoder ~ ': no row of base, ' ~ spec.lookups.base ~ ', has a key of these types: ' ~ types | join(', ')) }}
{%- endmacro -%}

{#- CTEs to `base_rows`: for each cdc_key the row that answers it, cdc_row. It is the greatest row whose values are all of
    their types. Without such a row cdc_row is NULL, and cdc_bad_base describes the bad values of one row.

    `among` is a CTE with a few cdc_key. With it, `base_rows` has these keys and some more. It filters by buckets, which are
    so few that they always fit in memory. -#}
{%- macro _base_rows(spec, among=none) -%}
    {%- set uncertain, keys, there, values, bad, details = spark_cdc._uncertain_columns(spec), [], [], [], [], [] -%}
    {%- set has_key, is_certain = [], [] -%}
    {%- for name, column in spec.base_columns.items() -%}
        {%- set quoted, literal = spark_cdc._quote(name), spark_cdc._literal(name) -%}
        {%- do there.append(literal ~ ', ' ~ spark_cdc._quote(column.name)) -%}
        {%- set value = spark_cdc._typed('cdc_there.' ~ quoted, column.type, spec.columns[name], spark_cdc._lookup_forms()) -%}
        {%- do values.append(literal ~ ', ' ~ value) -%}
        {%- if name in uncertain -%}
            {%- do bad.append('(cdc_there.' ~ quoted ~ ' is not null and cdc_values.' ~ quoted ~ ' is null)') -%}
            {%- do details.append({
                'name': name ~ ' of base', 'type': spec.columns[name], 'is_bad': bad[-1][1:-1],
                'text': spark_cdc._as_text('cdc_there.' ~ quoted, column.type),
            }) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for name in spec.key -%}
        {%- set column = spec.base_columns[name] -%}
        {%- do keys.append(
            spark_cdc._literal(name) ~ ', ' ~ spark_cdc._key_value(spark_cdc._quote(column.name), column.type, spec.columns[name])
        ) -%}
        {%- do has_key.append('cdc_key.' ~ spark_cdc._quote(name) ~ ' is not null') -%}
        {%- do is_certain.append(not spark_cdc._can_be_bad(column.type, spec.columns[name])) -%}
    {%- endfor -%}
    {%- if among -%}
asked_buckets as (
    select distinct pmod(xxhash64(cdc_key), 1048576) as cdc_bucket
    from {{ among }}
),
{{ '\n' }}
    {%- endif -%}
base_there as (
    select
        named_struct(
            {{ keys | join(',\n') | indent(12) }}
        ) as cdc_key,
        named_struct(
            {{ there | join(',\n') | indent(12) }}
        ) as cdc_there
    from {{ spec.lookups.base }}
),

base_values as (
    select{{ ' /*+ broadcast(asked_buckets) */' if among }}
        cdc_key,
        cdc_there,
        named_struct(
            {{ values | join(',\n') | indent(12) }}
        ) as cdc_values
    from base_there
    {%- if among %}
    left semi join asked_buckets
        on pmod(xxhash64(base_there.cdc_key), 1048576) = asked_buckets.cdc_bucket
    {%- endif %}
    where
        {{ has_key | join('\nand ') | indent(8) }}
        {%- if not is_certain | min %}
        -- without this, every row would be read as deleted
        and (
            select
                case
                    when count(*) = 0 or count_if({{ has_key | join(' and ') }}) > 0 then true
                    else raise_error({{ spark_cdc._literal(spark_cdc._no_key_in_base(spec)) }})
                end
            from base_there
        )
        {%- endif %}
),

    {%- if uncertain %}

base_judged as (
    select
        cdc_key,
        cdc_values,
        case
            when
                {{ bad | join('\nor ') | indent(16) }}
                then {{ spark_cdc._bad_value_detail(details) | indent(16) }}
        end as cdc_bad_base
    from base_values
),

base_rows as (
    select
        cdc_key,
        max(case when cdc_bad_base is null then cdc_values end) as cdc_row,
        min(cdc_bad_base) as cdc_bad_base
    from base_judged
    group by cdc_key
)
    {%- else %}

base_rows as (
    select
        cdc_key,
        max(cdc_values) as cdc_row,
        cast(null as string) as cdc_bad_base
    from base_values
    group by cdc_key
)
    {%- endif -%}
{%- endmacro -%}
