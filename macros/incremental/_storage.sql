{#- How an incremental model is stored, and how a run replaces the result of the run before it. What differs between table
    formats is in the folder storage. -#}

{#- `create table … as` in the model's format. With `is_model` it includes what the model's config says. -#}
{%- macro _create_as(run, relation, sql, properties={}, is_model=false) -%}
    {%- set is_split = is_model and run.call.builds == 'history' and config.get('partition_by') is none and run.format.splits_history -%}
    {%- set own = spark_cdc._of_format(run.file_format, 'table_properties')(run, is_model, is_split) -%}
    {%- if is_model -%}
        {%- do own.update(spark_cdc._statistics_of_model(run)) -%}
        {%- do own.update(config.get('tblproperties') or {}) -%}
    {%- endif -%}
    {%- do own.update(properties) -%}
    {%- set given = (config.get('options') or {}) if is_model else {} -%}
    {%- set options = spark_cdc._of_format(run.file_format, 'options')(given) -%}
{{ run.format.create }} {{ relation }}
using {{ run.file_format }}
    {%- if options %}
options ({{ spark_cdc._property_list(options) }})
    {%- endif %}
    {%- if is_model %}
        {%- if config.get('partition_by') is not none %}
{{ partition_cols(label='partitioned by') }}
        {%- elif is_split %}
partitioned by (cdc_is_current)
        {%- endif %}
{{ clustered_cols(label='clustered by') }}
{{ comment_clause() }}
        {%- if config.get('location_root') is not none %}
location {{ spark_cdc._literal(config.get('location_root') ~ '/' ~ relation.identifier) }}
        {%- endif %}
    {%- endif %}
    {%- if own %}
tblproperties ({{ spark_cdc._property_list(own) }})
    {%- endif %}
as
{{ sql }}
{%- endmacro -%}

{#- Builds the model from `sql`. -#}
{%- macro _store_all(run, sql, properties) -%}
    {%- set sql = spark_cdc._as_contracted(sql) -%}
    {%- set properties = spark_cdc._all_properties(run, properties) -%}
    {%- if run.format.kind == 'table' -%}{%- do spark_cdc._check_lock(run) -%}{%- endif -%}
    {%- do spark_cdc._of_format(run.file_format, 'store_all')(run, sql, properties) -%}
{%- endmacro -%}

{#- Writes the rows of a select into the table of the run's increment. One query finds out how many `rows` it has. Of change
    events it also asks how many are `retracted`, and for the `low` and `high` of their sequences. -#}
{%- macro _write_increment(run, sql) -%}
    {%- set increment = spark_cdc._side_table('increment_' ~ run.suffix) -%}
    {%- do run_query('create table ' ~ increment ~ ' using parquet as\n' ~ sql) -%}
    {%- set of_events = ', count(cdc_old), min(cdc_sequence), max(cdc_sequence)' if run.call.builds == 'events' else '' -%}
    {%- set found = run_query('select count(*)' ~ of_events ~ ' from ' ~ increment).rows[0] -%}
    {%- do run.update({'increment': increment, 'found': dict(zip(['rows', 'retracted', 'low', 'high'], found))}) -%}
{%- endmacro -%}

{#- Changes the model by the increment. Its rows replace the rows with the same `identity`; with cdc_is_removed
    they only remove them. `changed` are the properties to change, or none. `prune` is a condition that holds for all rows of
    the model that the increment can replace. -#}
{%- macro _store_increment(run, identity, changed, prune=none) -%}
    {%- set increment, is_any = run.increment, run.found.rows > 0 -%}
    {%- set names, same = [], [] -%}
    {%- for column in spark_cdc._columns_of_target(run) -%}{%- do names.append(spark_cdc._quote(column)) -%}{%- endfor -%}
    {%- for name in identity -%}
        {%- do same.append('stored.' ~ spark_cdc._quote(name) ~ ' <=> increment.' ~ spark_cdc._quote(name)) -%}
    {%- endfor -%}
    {%- do spark_cdc._check_partitions(run, increment) -%}
    {%- if not is_any -%}
        {%- do spark_cdc._check_lock(run) -%}
        {%- call noop_statement('main', 'nothing changes') -%}{%- endcall -%}
    {%- else -%}
        {#- a view is replaced later, after a check of its own -#}
        {%- if run.format.kind == 'table' -%}{%- do spark_cdc._check_lock(run, run.target) -%}{%- endif -%}
        {%- do spark_cdc._of_format(run.file_format, 'store_increment')(
            run, increment, names, same | join(' and '), changed, prune
        ) -%}
    {%- endif -%}
    {%- set outdated = [] -%}
    {%- for name, value in (changed or {}).items() if run.properties.get(name) != value -%}
        {%- do outdated.append(name) -%}
    {%- endfor -%}
    {%- if outdated -%}
        {%- do spark_cdc._store_properties(run, changed) -%}
    {%- endif -%}
    {%- do spark_cdc._drop(increment) -%}
{%- endmacro -%}

{#- The columns of the model, which an increment does not change: a dict of name -> type. -#}
{%- macro _columns_of_target(run) -%}
    {%- if run.columns is not defined -%}{%- do run.update({'columns': spark_cdc._described(run.target)}) -%}{%- endif -%}
    {{ return(dict(run.columns)) }}
{%- endmacro -%}
