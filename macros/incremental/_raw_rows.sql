{#- The raw rows that a model of change events has read.

    They are stored in <model>__cdc_raw_<run>, since rows may leave the raw relation. Two hashes identify a row. The columns
    cdc_group and cdc_identity hold the decoder's dependencies (_dependencies.sql). -#}

{#- Copies the rows that the raw relation has now. -#}
{%- macro _copy_raw_rows(run) -%}
    {%- do run_query(spark_cdc._create_as(
        run, run.raw, spark_cdc._delivered(run, spark_cdc._relation_to_keep(run)), spark_cdc._statistics_of_raw(run)
    )) -%}
    {%- do spark_cdc._keep_watermark(run, run.raw) -%}
{%- endmacro -%}

{#- Raw rows with their two hashes and their group. The hashes have 128 bits, and nothing else identifies a row. A NULL is
    left out of the hash, so a column that is added later does not change old rows. A nested value is hashed as JSON,
    including its NULLs. A varchar is stored as a string, so that it may become longer. -#}
{%- macro _delivered(run, relation) -%}
    {%- set values = spark_cdc._hashed_values(spark_cdc._delivered_columns(run)) -%}
select
    {%- for name, data_type in run.raw_columns.items() %}
        {%- set column = spark_cdc._quote(name) %}
    {{ 'cast(' ~ column ~ ' as string) as ' ~ column if (data_type | lower).startswith('varchar') else column }},
    {%- endfor %}
    xxhash64(
        {{ values | indent(8) }}
    ) as cdc_hash_1,
    xxhash64(
        'second',
        {{ values | indent(8) }}
    ) as cdc_hash_2,
    {{ spark_cdc._columns_of_dependencies(run) | indent(4) }}
from {{ relation }}
{%- endmacro -%}

{#- The values of a raw row that its hashes are made of, each after its column's name. -#}
{%- macro _hashed_values(columns) -%}
    {%- set values = [] -%}
    {%- for name, data_type in columns.items() -%}
        {%- set value = spark_cdc._quote(name) -%}
        {%- if '<' in data_type or spark_cdc._has_no_equality(data_type) -%}
            {%- set json = 'to_json(struct(' ~ value ~ '), map(' ~ spark_cdc._json_times() | replace('\n', ' ') ~ '))' -%}
            {%- set value = 'if(' ~ value ~ ' is null, null, ' ~ json ~ ')' -%}
        {%- endif -%}
        {%- do values.append(
            'if(' ~ spark_cdc._quote(name) ~ ' is null, null, ' ~ spark_cdc._literal(name | lower) ~ '), ' ~ value
        ) -%}
    {%- endfor -%}
    {{ return(values | join(',\n')) }}
{%- endmacro -%}

{#- The values of the decoder's dependencies for a raw row, or for a row of another input. -#}
{%- macro _columns_of_dependencies(run) -%}
    {{ spark_cdc._dependency_of_row(run, 'group') }} as cdc_group
    {%- if run.dependencies.identity -%}
    ,
{{ spark_cdc._dependency_of_row(run, 'identity') }} as cdc_identity
    {%- endif -%}
{%- endmacro -%}

{%- macro _dependency_of_row(run, name) -%}
    {%- set of_raw_row = run.dependencies[name] or 'cast(null as string)' -%}
    {%- if not run.call.spec.inputs -%}{{ return(of_raw_row) }}{%- endif -%}
case
    when cdc_input is null
        then {{ of_raw_row | indent(8) }}
    {%- for input, of_input in (run.dependencies.inputs or {}).items() if of_input[name] %}
    when cdc_input = {{ spark_cdc._literal(input) }}
        then {{ of_input[name] | indent(8) }}
    {%- endfor %}
end
{%- endmacro -%}

{#- The rows that are kept, of the raw relation and of the decoder's other inputs. A row of an input, which cdc_input names, has its
    values in columns of its own. Of raw logs it gives a `part`: see _rows_of_log. -#}
{%- macro _relation_to_keep(run, part=none) -%}
    {%- set spec, keeps, selects = run.call.spec, run.dependencies.keeps, [] -%}
    {%- set conditions = (['(' ~ keeps ~ ')'] if keeps else [])
        + ([spark_cdc._rows_of_log(run.logs[''], part)] if part else []) -%}
    {%- set condition = ' where ' ~ conditions | join(' and ') if conditions else '' -%}
    {%- if not spec.inputs -%}
        {{ return('(select * from ' ~ spec.relation ~ condition ~ ')') }}
    {%- endif -%}
    {%- set columns = [] -%}
    {%- for name in run.raw_columns -%}
        {%- do columns.append(spark_cdc._quote(name) if name in spec.raw_columns else 'null as ' ~ spark_cdc._quote(name)) -%}
    {%- endfor -%}
    {%- do selects.append('select ' ~ columns | join(', ') ~ ' from ' ~ spec.relation ~ condition) -%}
    {%- for input, relation in spec.inputs.items() -%}
        {%- set values = {'cdc_input': spark_cdc._literal(input)} -%}
        {%- set computed = (spec.input_values or {})[input] or {} -%}
        {%- for name in spec.input_columns[input] -%}
            {%- do values.update({spark_cdc._name_in_input(input, name): computed[name] or spark_cdc._quote(name)}) -%}
        {%- endfor -%}
        {%- set columns = [] -%}
        {%- for name in run.raw_columns -%}{%- do columns.append((values[name] or 'null') ~ ' as ' ~ spark_cdc._quote(name)) -%}{%- endfor -%}
        {%- do selects.append(
            'select ' ~ columns | join(', ') ~ ' from ' ~ relation ~ (' where ' ~ spark_cdc._rows_of_log(run.logs[input], part) if part else '')
        ) -%}
    {%- endfor -%}
    {{ return('(' ~ selects | join(' union all ') ~ ')') }}
{%- endmacro -%}

{#- A condition for kept rows: whether the dependencies of the decoder would still keep them. Returns none if they keep all rows. -#}
{%- macro _still_keeps(run) -%}
    {%- set keeps = run.dependencies.keeps -%}
    {{ return('(' ~ keeps ~ ')' ~ (' or cdc_input is not null' if run.call.spec.inputs else '') if keeps else none) }}
{%- endmacro -%}

{#- The columns in which rows are kept: a dict of name -> type. A char of an input is a string there, since the rows of the raw
    relation have no value in its column. -#}
{%- macro _columns_to_keep(spec) -%}
    {%- set columns = dict(spec.raw_columns, **(spec.computed or {})) -%}
    {%- if spec.inputs -%}{%- do columns.update({'cdc_input': 'string'}) -%}{%- endif -%}
    {%- for input in spec.inputs -%}
        {%- for name, data_type in spec.input_columns[input].items() -%}
            {%- set is_char = (data_type | lower).startswith('char') -%}
            {%- do columns.update({spark_cdc._name_in_input(input, name): 'string' if is_char else data_type}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(columns) }}
{%- endmacro -%}

{#- The columns of the kept rows that were delivered. Others are computed of them: the spec's `computed` and `input_values`. -#}
{%- macro _delivered_columns(run) -%}
    {%- set columns = dict(run.raw_columns) -%}
    {%- for name in run.call.spec.computed or {} -%}{%- do columns.pop(name, none) -%}{%- endfor -%}
    {%- for input, values in (run.call.spec.input_values or {}).items() -%}
        {%- for name in values -%}{%- do columns.pop(spark_cdc._name_in_input(input, name)) -%}{%- endfor -%}
    {%- endfor -%}
    {{ return(columns) }}
{%- endmacro -%}

{%- macro _delivered_columns_of_input(spec, input) -%}
    {%- set columns = dict(spec.input_columns[input]) -%}
    {%- for name in (spec.input_values or {})[input] or {} -%}{%- do columns.pop(name) -%}{%- endfor -%}
    {{ return(columns) }}
{%- endmacro -%}

{#- The inputs as the decoder reads them where no rows are kept: a dict of name -> relation, with the values that are computed. -#}
{%- macro _inputs_as_given(spec) -%}
    {%- set inputs = {} -%}
    {%- for input, relation in spec.inputs.items() -%}
        {%- set values = [] -%}
        {%- for name, value in ((spec.input_values or {})[input] or {}).items() -%}
            {%- do values.append((value | indent(8)) ~ ' as ' ~ name) -%}
        {%- endfor -%}
        {%- do inputs.update({
            input: '(\n    select\n        *,\n        ' ~ values | join(',\n        ') ~ '\n    from ' ~ relation ~ '\n) as ' ~ input if values
                else relation
        }) -%}
    {%- endfor -%}
    {{ return(inputs) }}
{%- endmacro -%}

{%- macro _name_in_input(input, name) -%}
    cdc_input_{{ input }}_{{ name }}
{%- endmacro -%}

{#- A column of an input, in what dependencies say of its rows. -#}
{%- macro input_column(input, name) -%}
    {{ return(spark_cdc._quote(spark_cdc._name_in_input(input, name))) }}
{%- endmacro -%}

{#- The columns of stored raw rows, as a list in SQL. -#}
{%- macro _kept_columns(run) -%}
    {%- set own = ['cdc_hash_1', 'cdc_hash_2', 'cdc_group'] + (['cdc_identity'] if run.dependencies.identity else []) -%}
    {{ return(spark_cdc._column_list(run.raw_columns) ~ ', ' ~ own | join(', ')) }}
{%- endmacro -%}

{#- Stored raw rows with the columns of the raw relation; optionally only rows that meet a condition. -#}
{%- macro _raw_columns_of(run, relation, condition=none) -%}
    {%- set conditions = ([condition] if condition else []) + (['cdc_input is null'] if run.call.spec.inputs else []) -%}
    {{ return(
        '(select ' ~ spark_cdc._column_list(spark_cdc._columns_of_log(run.call.spec)) ~ ' from ' ~ relation
        ~ (' where ' ~ conditions | join(' and ') if conditions else '') ~ ')'
    ) }}
{%- endmacro -%}

{#- The same of the other inputs: a dict of name -> relation. `relations` is a dict of relations with kept rows, and their conditions. -#}
{%- macro _inputs_of(run, relations) -%}
    {%- set inputs = {} -%}
    {%- for input in run.call.spec.inputs -%}
        {%- set columns, selects = [], [] -%}
        {%- for name in run.call.spec.input_columns[input] -%}
            {%- do columns.append(spark_cdc.input_column(input, name) ~ ' as ' ~ spark_cdc._quote(name)) -%}
        {%- endfor -%}
        {%- for relation, condition in relations.items() -%}
            {%- do selects.append(
                'select ' ~ columns | join(', ') ~ ' from ' ~ relation ~ ' where cdc_input = ' ~ spark_cdc._literal(input)
                ~ (' and ' ~ condition if condition else '')
            ) -%}
        {%- endfor -%}
        {%- do inputs.update({input: '(' ~ selects | join(' union all ') ~ ')'}) -%}
    {%- endfor -%}
    {{ return(inputs) }}
{%- endmacro -%}

{#- All rows that were read before, and the new rows of this run. -#}
{%- macro _all_raw_rows(run) -%}
    {%- set kept = spark_cdc._raw_columns_of(run, run.raw) -%}
    {%- if not run.has_new_rows -%}
        {{ return(kept) }}
    {%- endif -%}
    {{ return(kept[:-1] ~ ' union all ' ~ spark_cdc._raw_columns_of(run, run.to_decode, 'cdc_is_new')[1:]) }}
{%- endmacro -%}
