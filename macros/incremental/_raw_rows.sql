{#- The raw rows that a model of change events or of quarantined rows has read, and how a run finds new ones.

    They are stored in <model>__cdc_raw_<run>, since rows may leave the raw relation. Two hashes identify a row. The columns
    cdc_group and cdc_identity hold the decoder's dependencies (_decoded.sql). -#}

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
    {%- set parts = [] -%}
    {%- for name, data_type in run.raw_columns.items() -%}
        {%- set value = spark_cdc._quote(name) -%}
        {%- if '<' in data_type or spark_cdc._has_no_equality(data_type) -%}
            {%- set json = 'to_json(struct(' ~ value ~ '), map(' ~ spark_cdc._json_times() | replace('\n', ' ') ~ '))' -%}
            {%- set value = 'if(' ~ value ~ ' is null, null, ' ~ json ~ ')' -%}
        {%- endif -%}
        {%- do parts.append(
            'if(' ~ spark_cdc._quote(name) ~ ' is null, null, ' ~ spark_cdc._literal(name | lower) ~ '), ' ~ value
        ) -%}
    {%- endfor -%}
select
    {%- for name, data_type in run.raw_columns.items() %}
        {%- set column = spark_cdc._quote(name) %}
    {{ 'cast(' ~ column ~ ' as string) as ' ~ column if (data_type | lower).startswith('varchar') else column }},
    {%- endfor %}
    xxhash64(
        {{ parts | join(',\n') | indent(8) }}
    ) as cdc_hash_1,
    xxhash64(
        'second',
        {{ parts | join(',\n') | indent(8) }}
    ) as cdc_hash_2,
    {{ spark_cdc._columns_of_dependencies(run) | indent(4) }}
from {{ relation }}
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
    values in columns of its own. -#}
{%- macro _relation_to_keep(run) -%}
    {%- set spec, keeps, selects = run.call.spec, run.dependencies.keeps, [] -%}
    {%- set condition = ' where (' ~ keeps ~ ') is not false' if keeps else '' -%}
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
        {%- for name in spec.input_columns[input] -%}
            {%- do values.update({spark_cdc._name_in_input(input, name): spark_cdc._quote(name)}) -%}
        {%- endfor -%}
        {%- set columns = [] -%}
        {%- for name in run.raw_columns -%}{%- do columns.append((values[name] or 'null') ~ ' as ' ~ spark_cdc._quote(name)) -%}{%- endfor -%}
        {%- do selects.append('select ' ~ columns | join(', ') ~ ' from ' ~ relation) -%}
    {%- endfor -%}
    {{ return('(' ~ selects | join(' union all ') ~ ')') }}
{%- endmacro -%}

{#- A condition for kept rows: whether the dependencies of the decoder would still keep them. Returns none if they keep all rows. -#}
{%- macro _still_keeps(run) -%}
    {%- set keeps = run.dependencies.keeps -%}
    {{ return('(' ~ keeps ~ ') is not false' ~ (' or cdc_input is not null' if run.call.spec.inputs else '') if keeps else none) }}
{%- endmacro -%}

{#- The columns in which rows are kept: a dict of name -> type. A char of an input is a string there, since the rows of the raw
    relation have no value in its column. -#}
{%- macro _columns_to_keep(spec) -%}
    {%- set columns = dict(spec.raw_columns) -%}
    {%- if spec.inputs -%}{%- do columns.update({'cdc_input': 'string'}) -%}{%- endif -%}
    {%- for input in spec.inputs -%}
        {%- for name, data_type in spec.input_columns[input].items() -%}
            {%- set is_char = (data_type | lower).startswith('char') -%}
            {%- do columns.update({spark_cdc._name_in_input(input, name): 'string' if is_char else data_type}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(columns) }}
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
        '(select ' ~ spark_cdc._column_list(run.call.spec.raw_columns) ~ ' from ' ~ relation
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

{#- The type with which a raw column is stored: not every format has every type. -#}
{%- macro _type_as_kept(data_type, file_format) -%}
    {%- set type_there = data_type | lower -%}
    {%- if type_there.startswith('varchar(') or (file_format == 'iceberg' and type_there.startswith(('char(', 'string'))) -%}
        {{ return('string') }}
    {%- elif file_format == 'iceberg' and type_there in ('tinyint', 'smallint') -%}
        {{ return('int') }}
    {%- endif -%}
    {{ return(data_type) }}
{%- endmacro -%}

{#- Whether rows with the first type can be appended to stored rows with the second. -#}
{%- macro _is_kept_as(type_now, type_kept, file_format) -%}
    {#- on Delta a char becomes a string when the rows are written into another table -#}
    {%- if file_format == 'delta' and type_kept == 'string' and (type_now | lower).startswith('char(') -%}
        {{ return(true) }}
    {%- elif '<' not in type_now ~ type_kept -%}
        {{ return(type_now | lower == type_kept | lower) }}
    {%- endif -%}
    {{ return(spark_cdc._type_as_stored(type_now, file_format) == spark_cdc._type_as_stored(type_kept, file_format)) }}
{%- endmacro -%}

{#- Writes the new raw rows into `run.to_decode`; `run.has_new_rows` says whether there are any. If a row occurs more often
    than before, the additional ones are new. Hashes are compared first, in one narrow shuffle. Spark then broadcasts the few
    new hashes, so that only new rows are shuffled. -#}
{%- macro _find_new_rows(run) -%}
    {%- set kept = {} -%}
    {%- for name, data_type in spark_cdc._described(run.raw).items() if name not in ('cdc_hash_1', 'cdc_hash_2', 'cdc_group', 'cdc_identity') -%}
        {%- do kept.update({name | lower: data_type}) -%}
    {%- endfor -%}
    {%- do spark_cdc._complete_types(kept, run.raw) -%}
    {%- for name in kept if name not in run.raw_columns | map('lower') -%}
        {{ spark_cdc._stop(
            'cdc_incremental',
            'the stored raw rows of ' ~ this ~ ' have the column ' ~ name ~ ', which ' ~ run.call.spec.relation ~ ' no longer has',
            '--full-refresh, which builds the model again from the rows that the raw relation has now; or a view that gives the'
            ~ ' column with its earlier values. With other values, such as NULL, each row that is read again is another row, in'
            ~ ' conflict with the stored one',
            'dbt run --full-refresh --select ' ~ model.name
        ) }}
    {%- endfor -%}
    {%- set added, widened = [], [] -%}
    {%- for name, data_type in run.raw_columns.items() -%}
        {%- set type_now = spark_cdc._type_as_kept(data_type, run.file_format) -%}
        {%- set type_kept = kept.get(name | lower) -%}
        {%- if type_kept is none -%}
            {%- do added.append(spark_cdc._quote(name) ~ ' ' ~ type_now) -%}
        {%- elif spark_cdc._is_kept_as(type_now, type_kept, run.file_format) -%}
        {%- elif spark_cdc._is_wider(type_now, type_kept) -%}
            {%- do widened.append(name) -%}
        {%- else -%}
            {#- with another type every row would have another hash -#}
            {{ spark_cdc._stop(
                'cdc_incremental',
                'the stored raw rows of ' ~ this ~ ' have the column ' ~ name ~ ' of type ' ~ type_kept ~ ', which is now ' ~ data_type,
                'the earlier type (a view can cast it), or a wider type, which has each of its values; or --full-refresh, which'
                ~ ' builds the model again from the rows that the raw relation has now',
                'dbt run --full-refresh --select ' ~ model.name
            ) }}
        {%- endif -%}
    {%- endfor -%}
    {%- if added -%}
        {%- do run_query('alter table ' ~ run.raw ~ ' add columns (' ~ added | join(', ') ~ ')') -%}
    {%- endif -%}
    {%- if widened -%}
        {%- do spark_cdc._widen_raw_rows(run, widened) -%}
    {%- endif -%}
    {%- do spark_cdc._note_version(run, run.raw) -%}
    {%- set since = spark_cdc._since_watermark(run) -%}
    {%- set delivered = spark_cdc._delivered(run, spark_cdc._relation_to_keep(run) ~ ' as cdc_rows\n' ~ since) -%}
    {%- set missing -%}
create table {{ run.missing }} using parquet as
with counted as (
    select
        cdc_hash_1,
        cdc_hash_2,
        1 as cdc_times
    from (
        {{ delivered | indent(8) }}
    ) as delivered
    union all
    select
        cdc_hash_1,
        cdc_hash_2,
        -1 as cdc_times
    from {{ run.raw }} as cdc_rows
    {{ since | indent(4) }}
)

select
    cdc_hash_1,
    cdc_hash_2,
    sum(cdc_times) as cdc_times
from counted
group by cdc_hash_1, cdc_hash_2
having sum(cdc_times) > 0
    {%- endset -%}
    {%- do run_query(missing) -%}
    {%- do run.update({'has_new_rows': run_query('select 1 from ' ~ run.missing ~ ' limit 1') | length > 0}) -%}
    {%- if not run.has_new_rows -%}
        {%- if run.properties.get('spark_cdc.raw_is_partial') -%}
            {%- do spark_cdc._store_properties(run, {'spark_cdc.raw_is_partial': ''}) -%}
        {%- endif -%}
        {{ return(none) }}
    {%- endif -%}
    {%- do spark_cdc._begin_increment(run) -%}
    {%- set new_rows -%}
create table {{ run.to_decode }} using parquet as
with delivered as (
    {{ delivered | indent(4) }}
),

numbered as (
    select
        delivered.*,
        missing.cdc_times,
        row_number() over (
            partition by delivered.cdc_hash_1, delivered.cdc_hash_2
            order by delivered.cdc_hash_1
        ) as cdc_number
    from delivered
    inner join {{ run.missing }} as missing
        on delivered.cdc_hash_1 = missing.cdc_hash_1 and delivered.cdc_hash_2 = missing.cdc_hash_2
)

select
    * except (cdc_times, cdc_number)
    {{- spark_cdc._flags(run, 'true') }}
from numbered
where cdc_number <= cdc_times
    {%- endset -%}
    {%- do run_query(new_rows) -%}
    {%- do spark_cdc._keep_watermark(run, run.to_decode) -%}
{%- endmacro -%}

{#- What a run does as soon as it knows that it has something to write. -#}
{%- macro _begin_increment(run) -%}
    {%- do spark_cdc._note_version(run, run.target) -%}
    {%- do spark_cdc._number_run(run) -%}
{%- endmacro -%}

{%- macro _drop_new_rows(run) -%}
    {%- for relation in [run.missing] + ([run.to_decode] if run.has_new_rows or run.affected else []) -%}
        {%- do spark_cdc._drop(relation) -%}
    {%- endfor -%}
    {%- if run.affected and run.affected.groups == run.groups -%}{%- do spark_cdc._drop(run.groups) -%}{%- endif -%}
{%- endmacro -%}

{#- Stores the new rows before they are decoded. If this run fails, or the edited call is taken back, the next run still
    knows that the model lacks rows. -#}
{%- macro _keep_undecoded_rows(run) -%}
    {%- if run.is_regrouped -%}
        {%- do spark_cdc._regroup_raw_rows(run) -%}
    {%- elif run.has_new_rows -%}
        {%- do spark_cdc._check_lock(run) -%}
        {%- do spark_cdc._store_properties(run, {'spark_cdc.definition': ''}) -%}
        {%- do spark_cdc._keep_new_rows(run) -%}
    {%- endif -%}
{%- endmacro -%}

{#- Writes the stored rows and the new ones into another table, with the values of the present dependencies. -#}
{%- macro _regroup_raw_rows(run) -%}
    {%- set kept, regrouped = run.raw, spark_cdc._side_table('raw_' ~ run.suffix) -%}
    {%- set names = spark_cdc._column_list(run.raw_columns) ~ ', cdc_hash_1, cdc_hash_2' -%}
    {%- set sql -%}
select
    {{ names }},
    {{ spark_cdc._columns_of_dependencies(run) | indent(4) }}
from (
    select {{ names }} from {{ kept }}
    {%- if run.has_new_rows %}
    union all
    select {{ names }} from {{ run.to_decode }}
    {%- endif %}
) as rows_read
    {%- if run.dependencies.keeps %}
where {{ spark_cdc._still_keeps(run) }}
    {%- endif %}
    {%- endset -%}
    {%- do run_query(spark_cdc._create_as(run, regrouped, sql, spark_cdc._statistics_of_raw(run))) -%}
    {%- do spark_cdc._check_lock(run, kept) -%}
    {%- do run.update({'raw': regrouped}) -%}
    {%- do spark_cdc._store_properties(run, {
        'spark_cdc.definition': '', 'spark_cdc.raw': regrouped.identifier, 'spark_cdc.raw_added_to': 0,
        'spark_cdc.raw_is_partial': '', 'spark_cdc.kept_by': run.kept_by,
    }) -%}
{%- endmacro -%}

{#- The number of appends to the files of raw rows before all are written again. The variable is for tests and not
    public. -#}
{%- macro _additions_before_rewrite() -%}
    {{ return(var('spark_cdc_internal_additions_before_rewrite', 100)) }}
{%- endmacro -%}

{#- Adds the new rows to the stored ones. Each append leaves small files. On parquet all rows are therefore written into
    another table after a hundred appends. -#}
{%- macro _keep_new_rows(run) -%}
    {%- if not run.has_new_rows -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set names = spark_cdc._kept_columns(run) -%}
    {%- set new_rows = 'select ' ~ names ~ ' from ' ~ run.to_decode ~ ' where cdc_is_new' -%}
    {%- set times = run.properties.get('spark_cdc.raw_added_to', '0') | int -%}
    {%- do spark_cdc._check_lock(run, run.raw) -%}
    {%- if run.file_format != 'parquet' or times < spark_cdc._additions_before_rewrite() -%}
        {%- if run.file_format == 'parquet' -%}
            {%- do spark_cdc._store_properties(run, {'spark_cdc.raw_is_partial': 'true'}) -%}
        {%- endif -%}
        {%- do run_query('insert into ' ~ run.raw ~ ' (' ~ names ~ ')\n' ~ new_rows) -%}
        {%- if run.file_format == 'parquet' -%}
            {%- do spark_cdc._store_properties(run, {'spark_cdc.raw_added_to': times + 1, 'spark_cdc.raw_is_partial': ''}) -%}
        {%- endif -%}
    {%- else -%}
        {%- do run.update({'raw': spark_cdc._side_table('raw_' ~ run.suffix)}) -%}
        {%- do run_query(spark_cdc._create_as(
            run, run.raw,
            'select ' ~ names ~ ' from ' ~ this.incorporate(path={'identifier': run.properties['spark_cdc.raw']})
            ~ '\nunion all\n' ~ new_rows
        )) -%}
        {%- do spark_cdc._check_lock(run) -%}
        {%- do spark_cdc._store_properties(run, {
            'spark_cdc.raw': run.raw.identifier, 'spark_cdc.raw_added_to': 0, 'spark_cdc.raw_is_partial': ''
        }) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The config raw_watermark as {'column': …, 'type': …, 'within': […]}, with names as the relation spells them; none if it
    is not set. -#}
{%- macro _raw_watermark(spec) -%}
    {%- set given = config.get('raw_watermark') -%}
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
    {%- set known = spec.raw_columns | list -%}
    {%- set column = spark_cdc._resolve_names('cdc_incremental', 'raw_watermark', [given.column], known, example)[0] -%}
    {%- set data_type = spec.raw_columns[column] -%}
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
        {%- set last = spark_cdc._last_watermark(watermark, relation) -%}
        {%- do run.update({'watermark': {spark_cdc._watermark_property(watermark): last} if last is not none else {}}) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro _watermark_property(watermark) -%}
    spark_cdc.watermark.{{ watermark.column | lower }}
{%- endmacro -%}

{#- The last value of the watermark in a relation, as text; none if no row meets the condition. -#}
{%- macro _last_watermark(watermark, relation, condition='true') -%}
    {%- set last = 'max(' ~ spark_cdc._quote(watermark.column) ~ ')' -%}
    {%- set text = 'hex(' ~ last ~ ')' if watermark.type | lower == 'binary' else 'cast(' ~ last ~ ' as string)' -%}
    {{ return(run_query('select ' ~ text ~ ' from ' ~ relation ~ ' where ' ~ condition).rows[0][0]) }}
{%- endmacro -%}

{#- The clause that filters rows of `cdc_rows` below the last value of the watermark. There is no filter in two cases: the
    call may now store rows that it did not store before, or on parquet the last run was killed while it appended. After such
    a kill the last value may be stored, while lower ones are missing. -#}
{%- macro _since_watermark(run) -%}
    {%- set watermark = run.raw_watermark -%}
    {%- if watermark is none or run.properties.get('spark_cdc.raw_is_partial') or (run.is_other and run.dependencies.keeps) -%}
        {{ return('') }}
    {%- endif -%}
    {%- set column = spark_cdc._quote(watermark.column) -%}
    {%- if not watermark.within -%}
        {%- set before = run.properties.get(spark_cdc._watermark_property(watermark)) -%}
        {%- set last = none -%}
        {%- if before -%}
            {%- set last = spark_cdc._last_watermark(
                watermark, run.raw, column ~ ' >= ' ~ spark_cdc._cast_literal(before, watermark.type)
            ) -%}
        {%- endif -%}
        {#- there is no property, or it is from a run that was killed before it stored its rows -#}
        {%- set last = spark_cdc._last_watermark(watermark, run.raw) if last is none else last -%}
        {%- if last is none -%}
            {{ return('') }}
        {%- endif -%}
        {{ return(
            'where cdc_rows.' ~ column ~ ' is null or cdc_rows.' ~ column ~ ' >= ' ~ spark_cdc._cast_literal(last, watermark.type)
        ) }}
    {%- endif -%}
    {%- set within = [] -%}
    {%- for name in watermark.within -%}
        {%- do within.append('cdc_rows.' ~ spark_cdc._quote(name) ~ ' <=> last.' ~ spark_cdc._quote(name)) -%}
    {%- endfor -%}
    {%- set names = spark_cdc._column_list(watermark.within) -%}
    {{ return(
        'left anti join (select ' ~ names ~ ', max(' ~ column ~ ') as cdc_last from ' ~ run.raw ~ ' group by ' ~ names
        ~ ') as last\n    on ' ~ within | join(' and ') ~ ' and cdc_rows.' ~ column ~ ' < last.cdc_last'
    ) }}
{%- endmacro -%}

{#- A value, given as text, as a literal of a type; a binary value is given as hexadecimal text. -#}
{%- macro _cast_literal(value, data_type) -%}
    {%- if data_type | lower == 'binary' -%}
        {{ return('unhex(' ~ spark_cdc._literal(value) ~ ')') }}
    {%- endif -%}
    {{ return('cast(' ~ spark_cdc._literal(value) ~ ' as ' ~ data_type ~ ')') }}
{%- endmacro -%}
