{#- The spec of a capture table. Source: "SQL Replication Guide and Reference", chapters on registering tables and on the
    control tables of Capture. -#}

{#- The columns of a capture table, and of a unit of work, that do not come from the source table. -#}
{%- macro _db2_capture_headers() -%}
    {{ return(['COMMITSEQ', 'INTENTSEQ', 'OPERATION', 'LOGMARKER', 'UOWID', 'AUTHID', 'APPLY_QUAL']) }}
{%- endmacro -%}

{#- The spec of a capture table: a dict of what is known before any row is read. Wrong arguments stop here. -#}
{%- macro _spec_db2_capture_table(
    relation, key, columns=none, unit_of_work=none, before_prefix='auto', base=none, key_columns=none, source_timezone=none,
    before_image='row'
) -%}
    {%- set me = 'db2_capture_table' -%}
    {%- set example = "{{ spark_cdc.db2_capture_table(source('db2', 'orders_cd'), key=['ORDER_ID']) }}" -%}
    {%- set in_relation = spark_cdc._raw_columns_in(relation) -%}
    {%- if before_prefix is not none and before_prefix is not string -%}
        {{ spark_cdc._stop(
            me, 'before_prefix is ' ~ before_prefix,
            "the prefix of before columns as text, none if the table has no before columns, or 'auto'", "before_prefix='B_'"
        ) }}
    {%- endif -%}
    {%- if columns is not none and (columns is not mapping or not columns) -%}
        {{ spark_cdc._stop(
            me, 'columns is ' ~ ('empty' if columns is mapping else columns),
            'a dict of name -> Spark SQL type, or none to read them from ' ~ ('base' if base is not none else 'the relation'),
            "columns={'ORDER_ID': 'bigint', 'AMOUNT': 'decimal(12,2)'}"
        ) }}
    {%- endif -%}
    {%- set headers = spark_cdc._db2_capture_headers_of(me, relation, in_relation, ['COMMITSEQ', 'INTENTSEQ', 'OPERATION'], example) -%}
    {%- set facts = spark_cdc._base_facts(me, base, columns, example) if base is not none else {'columns': columns, 'base_columns': {}} -%}
    {%- set there = spark_cdc._db2_capture_columns(
        me, in_relation, key, facts.columns, before_prefix or '', key_columns, base is not none, example
    ) -%}
    {%- if before_prefix == 'auto' and base is none -%}{%- do spark_cdc._check_before_columns(me, relation, there) -%}{%- endif -%}
    {%- set input_columns, joined = {}, {} -%}
    {%- if unit_of_work is not none -%}
        {%- set in_unit = spark_cdc.columns_of(unit_of_work) -%}
        {%- do joined.update(spark_cdc._db2_capture_headers_of(me, unit_of_work, in_unit, ['COMMITSEQ'], example)) -%}
        {%- for name in ('INTENTSEQ', 'OPERATION') if name in joined -%}{%- do joined.pop(name) -%}{%- endfor -%}
        {%- for name in joined.values() -%}{%- do input_columns.update({name: in_unit[name]}) -%}{%- endfor -%}
    {%- endif -%}
    {{ return(dict({
        'relation': relation,
        'inputs': {'unit_of_work': unit_of_work} if unit_of_work is not none else {},
        'input_columns': {'unit_of_work': input_columns} if unit_of_work is not none else {},
        'lookups': {'base': base} if base is not none else {},
        'raw_columns': in_relation,
        'base_columns': facts.base_columns,
        'key': there.key,
        'columns': there.columns,
        'sources': there.sources,
        'befores': there.befores,
        'headers': headers,
        'joined': joined,
        'source_timezone': spark_cdc._source_timezone(me, source_timezone, 'IBMSNAP_LOGMARKER'),
    }, **spark_cdc._before_image(me, before_image))) }}
{%- endmacro -%}

{#- The columns of a relation whose names begin with IBMSNAP_, as a dict of the rest of the name -> column. Stops for wrong
    types, and if `needed` columns are missing. -#}
{%- macro _db2_capture_headers_of(me, relation, in_relation, needed, example) -%}
    {%- set headers, missing = {}, [] -%}
    {%- for name in in_relation if name[:8] | upper == 'IBMSNAP_' and name[8:] | upper in spark_cdc._db2_capture_headers() -%}
        {%- if name[8:] | upper in headers -%}
            {{ spark_cdc._stop(
                me, relation ~ ' has ' ~ headers[name[8:] | upper] ~ ' and ' ~ name, 'names that differ in more than case', example
            ) }}
        {%- endif -%}
        {%- do headers.update({name[8:] | upper: name}) -%}
    {%- endfor -%}
    {%- for name in needed if name not in headers -%}{%- do missing.append('IBMSNAP_' ~ name) -%}{%- endfor -%}
    {%- if missing -%}
        {{ spark_cdc._stop(
            me, relation ~ ' lacks ' ~ missing | join(', ') ~ '; it has ' ~ in_relation | join(', '),
            'a relation with ' ~ ('the columns of a CD or CCD table' if needed | length > 1 else 'the columns of the unit of work'), example
        ) }}
    {%- endif -%}
    {%- for name, column in headers.items() -%}
        {%- set data_type = in_relation[column] -%}
        {%- set kind = 'binary' if data_type | lower == 'binary' else spark_cdc._type_facts(data_type).family -%}
        {%- set accepted = {
            'OPERATION': ['text'], 'AUTHID': ['text'], 'APPLY_QUAL': ['text'], 'LOGMARKER': ['timestamp', 'text'],
        }.get(name, ['binary', 'text', 'integer', 'decimal']) -%}
        {%- if kind not in accepted -%}
            {{ spark_cdc._stop(
                me, column ~ ' of ' ~ relation ~ ' is of type ' ~ data_type,
                accepted | join(', ') | replace('integer, decimal', 'a whole number') ~ '; convert it in a view', example
            ) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(headers) }}
{%- endmacro -%}

{#- Stops if only names say what a column is. Db2 keeps before images of all columns, of some or of none, and a column of the
    table may have the prefix in its name, such as REF and XREF. If all of several columns have such a column, none is one of the
    table. -#}
{%- macro _check_before_columns(me, relation, there) -%}
    {%- set befores, unclear = there.befores | length, there.left_out or there.befores.values() | list -%}
    {%- set is_certain = befores > 1 and befores == there.columns | length and befores == unclear | length -%}
    {%- if unclear and not is_certain -%}
        {{ spark_cdc._stop(
            me, relation ~ ' has ' ~ unclear | join(', ') ~ ': before columns with the prefix X, or columns of the table? Their names do not tell',
            "before_prefix='X' for before columns: they are NULL in all rows of inserts (IBMSNAP_OPERATION I); before_prefix=none if"
            ~ ' there are none; if there are both, also columns, a dict of the columns of the table', "before_prefix=none"
        ) }}
    {%- endif -%}
{%- endmacro -%}

{#- The key and the columns of the table. For columns that are read from the relation, also their names there, and their
    before columns. Without `columns`, the table has the columns of the relation, and `left_out` are those that the prefix
    leaves out. -#}
{%- macro _db2_capture_columns(me, in_relation, key, columns, prefix, key_columns, has_base, example) -%}
    {%- set prefix = 'X' if prefix == 'auto' else prefix -%}
    {%- set data, spelled, befores_there, left_out = [], {}, [], [] -%}
    {%- for name in in_relation if name[:8] | upper != 'IBMSNAP_' -%}
        {%- do data.append(name) -%}
        {%- do spelled.update({name | lower: name}) -%}
    {%- endfor -%}
    {%- for name in data if prefix -%}{%- do befores_there.append((prefix ~ name) | lower) -%}{%- endfor -%}
    {%- if key is none or key is undefined or key is string or key is mapping or key is not iterable or not key -%}
        {%- do spark_cdc._resolve_key(me, key, data, example) -%}
    {%- endif -%}
    {%- if key_columns is not none -%}
        {%- set key_there = spark_cdc._resolve_names(me, 'key_columns', key_columns, data, "key_columns=['PK01', 'PK02']") -%}
    {%- elif key | reject('string') | list or key | map('lower') | reject('in', spelled) | list -%}
        {%- set key_there = spark_cdc._numbered_key_columns(data, me) -%}
        {%- if not key_there -%}{%- do spark_cdc._resolve_key(me, key, columns | list if has_base else data, example) -%}{%- endif -%}
    {%- else -%}
        {%- set key_there = spark_cdc._resolve_key(me, key, data, example) -%}
    {%- endif -%}
    {%- set of_key = {} -%}
    {%- for name in key -%}{%- do of_key.update({key_there[loop.index0] or '': name}) -%}{%- endfor -%}
    {%- set table, unknown = {}, [] -%}
    {%- if columns is none -%}
        {%- for name in data if name | lower not in befores_there -%}
            {%- set called = name if of_key.get(name, name) | lower == name | lower else of_key[name] -%}
            {%- if called in table -%}
                {{ spark_cdc._stop(
                    me, 'two columns are named ' ~ called ~ ': a column of the table, and ' ~ name ~ ' of the key', 'columns, a dict of the columns to read',
                    "columns={'" ~ called ~ "': 'bigint'}"
                ) }}
            {%- endif -%}
            {%- do table.update({called: in_relation[name]}) -%}
        {%- endfor -%}
        {%- for name in data if name | lower in befores_there -%}{%- do left_out.append(name) -%}{%- endfor -%}
    {%- else -%}
        {%- do table.update(columns) -%}
    {%- endif -%}
    {%- do spark_cdc._check_table_columns(me, table, in_relation, example) -%}
    {%- set key = spark_cdc._resolve_key(me, key, table | list, example) -%}
    {%- do spark_cdc._check_key_columns(me, key_there, key, table, in_relation) -%}
    {%- set sources, befores = {}, {} -%}
    {#- what is a column of the table is no before column, whatever its name -#}
    {%- set taken = key_there | map('lower') | list -%}
    {%- for name in table if name not in key -%}{%- do taken.append(name | lower) -%}{%- endfor -%}
    {%- for name, data_type in table.items() if name in key or not has_base -%}
        {%- set column = key_there[key.index(name)] if name in key else spelled.get(name | lower) -%}
        {%- if column is none -%}
            {%- do unknown.append(name) -%}
        {%- else -%}
            {%- do spark_cdc._check_cast(me, column, in_relation[column], data_type) -%}
            {%- do sources.update({name: column}) -%}
            {%- set before = spelled.get((prefix ~ column) | lower) if prefix and not has_base else none -%}
            {%- if before is not none and before | lower not in taken -%}
                {%- do spark_cdc._check_cast(me, before, in_relation[before], data_type) -%}
                {%- do befores.update({name: before}) -%}
            {%- endif -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if unknown -%}
        {{ spark_cdc._stop(
            me, 'columns names ' ~ unknown | join(', ') ~ ', which the capture table does not have; it has ' ~ data | join(', '),
            'columns that are captured; with base, all columns of base', "base=source('db2', 'orders')"
        ) }}
    {%- endif -%}
    {{ return({'key': key, 'columns': table, 'sources': sources, 'befores': befores, 'left_out': left_out}) }}
{%- endmacro -%}
