{#- Wider columns: the new type has each value of the old type, and it is the same value. Then a model continues by itself. A
    run stops if values would change: a date as a timestamp depends on the time zone, and a char is padded. It also stops if
    different values could become equal, such as an int as a float. -#}

{#- Whether a type is the same as another, or wider. For nested types all parts have to be. A struct with other field names
    is another type. -#}
{%- macro _is_wider(data_type, before) -%}
    {%- set now, then = spark_cdc._number_facts(data_type), spark_cdc._number_facts(before) -%}
    {%- if data_type | lower == before | lower -%}
        {{ return(true) }}
    {%- elif now and then -%}
        {#- digits before and after the point; for a float the digits that are exact -#}
        {{ return(
            then.digits <= now.digits and then.scale <= now.scale
            and (now.family == then.family or then.family == 'integer' or (now.family, then.family) == ('double', 'float'))
        ) }}
    {%- endif -%}
    {%- set nested = '(array|map|struct)<([\\w<>:,()]*)>' -%}
    {%- set now, then = modules.re.fullmatch(nested, data_type | lower), modules.re.fullmatch(nested, before | lower) -%}
    {%- if not now or not then or now[1] != then[1] -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set parts_now, parts_then = spark_cdc._split_type(now[2]), spark_cdc._split_type(then[2]) -%}
    {%- set wider = [] -%}
    {%- for part in parts_now if parts_now | length == parts_then | length -%}
        {%- set field, field_then = part.partition(':'), parts_then[loop.index0].partition(':') -%}
        {%- if now[1] != 'struct' -%}
            {%- do wider.append(spark_cdc._is_wider(part | trim, parts_then[loop.index0] | trim)) -%}
        {%- else -%}
            {%- do wider.append(
                field[0] | trim == field_then[0] | trim and spark_cdc._is_wider(field[2] | trim, field_then[2] | trim)
            ) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(wider | length > 0 and false not in wider) }}
{%- endmacro -%}

{#- For a numeric type: its family, and how many digits before and after the point every number can have; none for other
    types. -#}
{%- macro _number_facts(data_type) -%}
    {%- set digits = {
        'tinyint': ('integer', 3), 'smallint': ('integer', 5), 'int': ('integer', 10), 'bigint': ('integer', 19),
        'float': ('float', 7), 'double': ('double', 15),
    } -%}
    {%- set found = digits.get(data_type | lower) -%}
    {%- set decimal = modules.re.fullmatch('decimal\\((\\d+),\\s*(\\d+)\\)', data_type | lower) -%}
    {%- if found -%}
        {{ return({'family': found[0], 'digits': found[1], 'scale': 0}) }}
    {%- elif decimal -%}
        {{ return({'family': 'decimal', 'digits': decimal[1] | int - decimal[2] | int, 'scale': decimal[2] | int}) }}
    {%- endif -%}
    {{ return(none) }}
{%- endmacro -%}

{#- Writes the stored rows into another table with the new types of these columns, and hashes them as the raw relation now
    has them. If an old row is delivered again, it is then recognised. The model is built again from this table. -#}
{%- macro _widen_raw_rows(run, widened) -%}
    {#- what would stop the run later must stop it here, before the stored rows have other types -#}
    {%- set sql = spark_cdc._decoded(run, run.call.spec.relation) -%}
    {%- do spark_cdc._check_columns(run, sql) -%}
    {%- do spark_cdc._as_contracted(sql) -%}
    {%- set kept, wider, columns = run.raw, spark_cdc._side_table('raw_' ~ run.suffix ~ '0'), [] -%}
    {%- for name, data_type in run.raw_columns.items() -%}
        {%- set quoted = spark_cdc._quote(name) -%}
        {%- do columns.append('cast(' ~ quoted ~ ' as ' ~ data_type ~ ') as ' ~ quoted if name in widened else quoted) -%}
    {%- endfor -%}
    {%- set rows_read = '(select * from (select ' ~ columns | join(', ') ~ ' from ' ~ kept ~ ')'
        ~ (' where ' ~ spark_cdc._still_keeps(run) if run.dependencies.keeps else '') ~ ')' -%}
    {%- do spark_cdc._note_version(run, kept) -%}
    {%- do run_query(spark_cdc._create_as(run, wider, spark_cdc._delivered(run, rows_read), spark_cdc._statistics_of_raw(run))) -%}
    {%- do spark_cdc._check_lock(run, kept) -%}
    {%- do spark_cdc._store_properties(run, {
        'spark_cdc.definition': '', 'spark_cdc.raw': wider.identifier, 'spark_cdc.raw_added_to': 0, 'spark_cdc.kept_by': run.kept_by,
    }) -%}
    {%- do run.update({'raw': wider, 'is_regrouped': false, 'is_other': true}) -%}
{%- endmacro -%}
