{#- The rows of a raw relation that a model has not read, and how they are added to the stored ones. -#}

{#- Writes the new raw rows into `run.to_decode`; `run.has_new_rows` says whether there are any. If a row occurs more often
    than before, the additional ones are new. -#}
{%- macro _find_new_rows(run) -%}
    {%- set kept = spark_cdc._described(run.raw) -%}
    {%- for name in ('cdc_hash_1', 'cdc_hash_2', 'cdc_group', 'cdc_identity') if name in kept -%}{%- do kept.pop(name) -%}{%- endfor -%}
    {%- do spark_cdc._complete_types(kept, run.raw) -%}
    {%- set changed, added = spark_cdc._changed_raw_columns(run, kept), [] -%}
    {%- for name, data_type in changed.added.items() -%}{%- do added.append(spark_cdc._quote(name) ~ ' ' ~ data_type) -%}{%- endfor -%}
    {%- if added -%}
        {%- do run_query('alter table ' ~ run.raw ~ ' add columns (' ~ added | join(', ') ~ ')') -%}
    {%- endif -%}
    {%- if changed.widened -%}
        {%- do spark_cdc._widen_raw_rows(run, changed.widened) -%}
    {%- endif -%}
    {%- do spark_cdc._note_version(run, run.raw) -%}
    {%- set since = spark_cdc._since_watermark(run) -%}
    {%- set delivered = spark_cdc._delivered(run, spark_cdc._relation_to_keep(run) ~ ' as cdc_rows\n' ~ since) -%}
    {%- do spark_cdc._find_missing(run, delivered, 'select * from ' ~ run.raw ~ ' as cdc_rows\n' ~ since) -%}
    {%- if not run.has_new_rows -%}
        {%- if run.properties.get('spark_cdc.raw_is_partial') -%}
            {%- do spark_cdc._store_properties(run, {'spark_cdc.raw_is_partial': ''}) -%}
        {%- endif -%}
        {{ return(none) }}
    {%- endif -%}
    {%- do spark_cdc._begin_increment(run) -%}
    {%- do run_query(
        'create table ' ~ run.to_decode ~ ' using parquet as\nselect\n    * except (cdc_times, cdc_number)' ~ spark_cdc._flags(run, 'true')
        ~ '\nfrom (\n' ~ spark_cdc._missing_rows(run, delivered) ~ '\n) as missing_rows'
    ) -%}
    {%- do spark_cdc._keep_watermark(run, run.to_decode) -%}
{%- endmacro -%}

{#- Writes the hashes of which there are more rows in `delivered` than in `stored`, two selects, into `run.missing`. Hashes are
    compared first, in one narrow shuffle. Spark then broadcasts the few new ones, so that only new rows are shuffled. -#}
{%- macro _find_missing(run, delivered, stored) -%}
    {%- set sql -%}
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
    from (
        {{ stored | indent(8) }}
    ) as stored
)

select
    cdc_hash_1,
    cdc_hash_2,
    sum(cdc_times) as cdc_times
from counted
group by cdc_hash_1, cdc_hash_2
having sum(cdc_times) > 0
    {%- endset -%}
    {%- do run_query(sql) -%}
    {%- do run.update({'has_new_rows': run_query('select 1 from ' ~ run.missing ~ ' limit 1') | length > 0}) -%}
{%- endmacro -%}

{#- A select: the rows of `delivered` that are missing. -#}
{%- macro _missing_rows(run, delivered) -%}
select * from (
    select
        delivered.*,
        missing.cdc_times,
        row_number() over (
            partition by delivered.cdc_hash_1, delivered.cdc_hash_2
            order by delivered.cdc_hash_1
        ) as cdc_number
    from (
        {{ delivered | indent(8) }}
    ) as delivered
    inner join {{ run.missing }} as missing
        on delivered.cdc_hash_1 = missing.cdc_hash_1 and delivered.cdc_hash_2 = missing.cdc_hash_2
) as numbered
where cdc_number <= cdc_times
{%- endmacro -%}

{#- What a run does as soon as it knows that it has something to write. -#}
{%- macro _begin_increment(run) -%}
    {%- do spark_cdc._note_version(run, run.target) -%}
    {%- do spark_cdc._number_run(run) -%}
{%- endmacro -%}

{%- macro _drop_new_rows(run) -%}
    {%- for relation in ([] if run.logs else [run.missing]) + ([run.to_decode] if run.has_new_rows or run.affected else []) -%}
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
    {%- if run.call.spec.input_values -%}
        {{ spark_cdc._stop(
            'cdc_incremental', this ~ ' has kept rows of ' ~ run.call.spec.inputs.keys() | join(', ') ~ ' with values that the call now computes in another way',
            '--full-refresh, which builds the model again from the rows that the relations have now',
            'dbt run --full-refresh --select ' ~ model.name
        ) }}
    {%- endif -%}
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

{#- Adds the new rows to the stored ones. -#}
{%- macro _keep_new_rows(run) -%}
    {%- if not run.has_new_rows or run.logs -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set names = spark_cdc._kept_columns(run) -%}
    {%- set new_rows = 'select ' ~ names ~ ' from ' ~ run.to_decode ~ ' where cdc_is_new' -%}
    {%- do spark_cdc._check_lock(run, run.raw) -%}
    {%- do spark_cdc._of_format(run.file_format, 'append_raw_rows')(run, names, new_rows) -%}
{%- endmacro -%}

{%- macro _insert_raw_rows(run, names, new_rows) -%}
    {%- do run_query('insert into ' ~ run.raw ~ ' (' ~ names ~ ')\n' ~ new_rows) -%}
{%- endmacro -%}
