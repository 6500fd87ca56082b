{#- Columns of models and of stored raw rows: which changes are accepted, and which stop a run. -#}

{#- Checks a model whose columns changed, before it is built again from all stored rows. New columns and wider types are
    accepted. A missing column or another type stops. -#}
{%- macro _check_columns(run, sql) -%}
    {%- set now = {} -%}
    {%- for column in run_query('describe query ' ~ sql) -%}
        {%- do now.update({column.col_name | lower: column.data_type}) -%}
    {%- endfor -%}
    {%- set lost = [] -%}
    {%- for name, data_type in spark_cdc._described(run.target).items() if not name.startswith('cdc_') -%}
        {%- set type_now = now.get(name | lower) -%}
        {%- if type_now is none -%}
            {%- do lost.append(name ~ ', which its model no longer has') -%}
        {%- elif not spark_cdc._is_wider(
            spark_cdc._type_as_stored(type_now, run.file_format), spark_cdc._type_as_stored(data_type, run.file_format)
        ) -%}
            {%- do lost.append(name ~ ' of type ' ~ data_type ~ ', which is now ' ~ type_now) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if lost -%}
        {{ spark_cdc._stop(
            'cdc_incremental',
            this ~ ' has the column ' ~ lost | join('; and '),
            'new columns and wider types; or --full-refresh, which builds the table again with its present columns',
            'dbt run --full-refresh --select ' ~ model.name
        ) }}
    {%- endif -%}
{%- endmacro -%}

{#- A type as the model's table has it, for comparison. In a table Spark shows string for the char and varchar of a select. -#}
{%- macro _type_as_stored(data_type, file_format) -%}
    {%- set stored = modules.re.sub('\\b(var)?char\\(\\d+\\)', 'string', data_type | lower) -%}
    {{ return(spark_cdc._of_format(file_format, 'type_as_stored')(stored) | replace(' ', '')) }}
{%- endmacro -%}

{#- The type with which a raw column is stored: not every format has every type. -#}
{%- macro _type_as_kept(data_type, file_format) -%}
    {%- if (data_type | lower).startswith('varchar(') -%}
        {{ return('string') }}
    {%- endif -%}
    {{ return(spark_cdc._of_format(file_format, 'type_as_kept')(data_type)) }}
{%- endmacro -%}

{#- Whether rows with the first type can be appended to stored rows with the second. -#}
{%- macro _is_kept_as(run, type_now, type_kept) -%}
    {%- if not run.format.keeps_char and type_kept == 'string' and (type_now | lower).startswith('char(') -%}
        {{ return(true) }}
    {%- elif '<' not in type_now ~ type_kept -%}
        {{ return(type_now | lower == type_kept | lower) }}
    {%- endif -%}
    {{ return(spark_cdc._type_as_stored(type_now, run.file_format) == spark_cdc._type_as_stored(type_kept, run.file_format)) }}
{%- endmacro -%}

{#- How the columns of the raw relation differ from those of the stored rows, which are `kept`: `added` is a dict of name -> type,
    `widened` a list of names. Stops if a column is missing, or has a type that does not hold its earlier values. -#}
{%- macro _changed_raw_columns(run, kept) -%}
    {%- set there = {} -%}
    {%- for name, data_type in kept.items() -%}{%- do there.update({name | lower: data_type}) -%}{%- endfor -%}
    {%- for name in kept if name | lower not in run.raw_columns | map('lower') -%}
        {{ spark_cdc._stop(
            'cdc_incremental',
            'the stored raw rows of ' ~ this ~ ' have the column ' ~ name ~ ', which ' ~ run.call.spec.relation ~ ' no longer has',
            '--full-refresh, which builds the model again from the rows that the raw relation has now; or a view that gives the'
            ~ ' column with its earlier values. With other values, such as NULL, each row that is read again is another row, in'
            ~ ' conflict with the stored one',
            'dbt run --full-refresh --select ' ~ model.name
        ) }}
    {%- endfor -%}
    {%- set added, widened = {}, [] -%}
    {%- for name, data_type in run.raw_columns.items() -%}
        {%- set type_now = spark_cdc._type_as_kept(data_type, run.file_format) -%}
        {%- set type_kept = there.get(name | lower) -%}
        {%- if type_kept is none -%}
            {%- do added.update({name: type_now}) -%}
        {%- elif spark_cdc._is_kept_as(run, type_now, type_kept) -%}
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
    {{ return({'added': added, 'widened': widened}) }}
{%- endmacro -%}

{#- The select with the columns of the model's contract, which it is checked against; without a contract, the select
    itself. -#}
{%- macro _as_contracted(sql) -%}
    {%- if config.get('contract').enforced -%}
        {{ get_assert_columns_equivalent(sql) }}
        {{ return(get_select_subquery(sql)) }}
    {%- endif -%}
    {{ return(sql) }}
{%- endmacro -%}

{#- Stops if a text column that partitions the model has '' in `relation`, and Spark stores NULL in its place: a later run would
    not find the row again. If `made_of` is given, the relation holds the stored result of that select. `columns` are those of the
    relation, if they are known. -#}
{%- macro _check_partitions(run, relation, made_of=none, columns=none) -%}
    {%- set given = config.get('partition_by') or [] -%}
    {%- set partitioned_by = [given] if given is string else given -%}
    {%- set may_be_stored_so = partitioned_by and not run.format.keeps_empty_text -%}
    {%- set computed = (run.call.spec or {}).get('computed') or {} -%}
    {%- for name, data_type in ((columns or spark_cdc._described(relation)) if may_be_stored_so else {}).items()
        if name not in computed and name | lower in partitioned_by | map('lower') and modules.re.match('(string|char|varchar)\\b', data_type | lower) -%}
        {#- a truncate has no key -#}
        {%- set column = ' where ' ~ ("cdc_operation <> 'truncate' and " if run.call.builds == 'events' else '') ~ spark_cdc._quote(name) -%}
        {%- set found = ['select 1 from ' ~ relation ~ column ~ (' is null' if made_of else " = ''") ~ ' limit 1'] -%}
        {%- set about = run.call.spec or run.call.table -%}
        {%- if made_of and (name not in about.key or about.null_keys) -%}
            {%- do found.append('select 1 from (' ~ made_of ~ ') as made_of' ~ column ~ " = '' limit 1") -%}
        {%- endif -%}
        {%- if run_query(found[0]) | length > 0 and run_query(found[-1]) | length > 0 -%}
            {{ spark_cdc._stop(
                'cdc_incremental', this ~ " is partitioned by the column " ~ name ~ ", which has '' in it",
                "a text column in which no row has '' (on parquet and Delta Spark stores NULL in its place); or Iceberg",
                "config(materialized='cdc_incremental', file_format='iceberg', partition_by=['" ~ name ~ "'])"
            ) }}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}
