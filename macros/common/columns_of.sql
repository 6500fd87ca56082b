{#- The columns of a relation, in order: a dict of name -> Spark SQL type. See _macros.yml. -#}
{%- macro columns_of(relation) -%}
    {%- if not execute -%}
        {{ return({}) }}
    {%- endif -%}
    {%- set relation = spark_cdc._tested_relation(relation) -%}
    {%- if relation is string or relation.identifier is not defined -%}
        {{ spark_cdc._stop(
            'columns_of', 'the relation is ' ~ ('a text, ' if relation is string) ~ relation, 'a relation from source() or ref()',
            "{{ spark_cdc.columns_of(source('erp', 'orders__ct')) }}"
        ) }}
    {%- endif -%}
    {%- set node = spark_cdc._node_of(relation) -%}
    {%- set is_asked = flags.INTROSPECT is not false -%}
    {%- set columns = spark_cdc._columns_in_fixture(node) -%}
    {#- for dbt an input of a unit test is ephemeral, too -#}
    {%- set is_ephemeral = graph.nodes is defined and node is not none and node.config.materialized == 'ephemeral' -%}
    {%- if not columns and not is_ephemeral -%}
        {%- do columns.update(spark_cdc._columns_in_warehouse(relation, node)) -%}
    {%- endif -%}
    {%- if not columns and node is not none -%}
        {%- set untyped = [] -%}
        {%- for column in node.columns.values() -%}
            {%- if not column.data_type -%}{%- do untyped.append(column.name) -%}{%- endif -%}
            {%- do columns.update({column.name: column.data_type}) -%}
        {%- endfor -%}
        {%- if untyped -%}
            {{ spark_cdc._stop(
                'columns_of',
                relation ~ (' is not in the warehouse' if is_asked else ' is not queried for its columns (--no-introspect)') ~ ', and its YAML declares no data_type for ' ~ untyped | join(', '),
                'a relation that exists, or one whose YAML gives every column a data_type',
                'columns: [{name: order_id, data_type: bigint}]'
            ) }}
        {%- endif -%}
        {%- for name, data_type in columns.items() if data_type | lower | trim not in ('void', 'interval') -%}
            {%- do spark_cdc._check_type(
                'columns_of', relation ~ ' is not in the warehouse, and the data_type that its YAML declares for ' ~ name,
                data_type, 'columns: [{name: ' ~ name ~ ', data_type: "', '"}]'
            ) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- if not columns and is_ephemeral -%}
        {{ spark_cdc._stop(
            'columns_of',
            relation ~ ' is the ephemeral model ' ~ node.name ~ ', which has neither a relation in the warehouse nor declared columns',
            'a model that is a view or a table, or one whose YAML declares its columns in table order, each with a data_type',
            "{{ config(materialized='view') }} in " ~ node.name
        ) }}
    {%- elif not columns -%}
        {%- set is_source = node is none or node.resource_type == 'source' -%}
        {{ spark_cdc._stop(
            'columns_of',
            relation ~ (
                ' neither exists nor has declared columns' if is_asked
                else ' is not queried for its columns (--no-introspect), and its YAML declares no columns'
            ),
            'a relation that exists' ~ ('' if is_source else ', such as a model that was built before')
            ~ ', or one whose YAML declares its columns in table order, each with a data_type',
            'sources: [{name: erp, tables: [{name: orders__ct, columns: [{name: header__change_seq, data_type: string}]}]}]'
            if is_source
            else 'dbt run --select ' ~ node.name ~ ', or models: [{name: ' ~ node.name
            ~ ', columns: [{name: cdc_source, data_type: string}]}]'
        ) }}
    {%- endif -%}
    {{ return(columns) }}
{%- endmacro -%}

{#- A relation, unchanged. A test with the config `where` gets a text instead: "(select * from <relation> where ...) ...";
    then the relation in it. -#}
{%- macro _tested_relation(relation) -%}
    {%- if relation is string and graph.nodes is defined -%}
        {%- for node in graph.nodes.values() | list + graph.sources.values() | list
            if node.relation_name and relation.startswith('(select * from ' ~ node.relation_name ~ ' where ') -%}
            {%- set identifier = node.identifier or node.alias or node.name -%}
            {{ return(api.Relation.create(
                schema=node.schema, identifier=identifier,
                quote_policy={
                    'schema': node.relation_name.startswith('`'),
                    'identifier': node.relation_name.endswith('`' ~ identifier ~ '`'),
                }
            )) }}
        {%- endfor -%}
    {%- endif -%}
    {{ return(relation) }}
{%- endmacro -%}

{#- The node of the project (model, seed, snapshot, source) for a relation, else none. In a unit test the relation is a CTE
    that dbt names after its node. -#}
{%- macro _node_of(relation) -%}
    {%- if relation is string or relation.identifier is not defined or not relation.identifier -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set identifier = (relation.identifier | string) | lower -%}
    {%- if not identifier.startswith('__dbt__cte__') -%}
        {{ return(spark_cdc._nodes_by_relation().get((relation.schema or '') | lower ~ '.' ~ identifier)) }}
    {%- endif -%}
    {%- set identifier = identifier.replace('__dbt__cte__', '') -%}
    {%- for node in spark_cdc._all_nodes() if node.resource_type in ('model', 'seed', 'snapshot', 'source') -%}
        {%- set name_there = (node.identifier or node.alias or node.name) | lower -%}
        {%- if identifier in (node.name | lower, name_there, (node.source_name ~ '__' ~ node.name) | lower) -%}
            {{ return(node) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(none) }}
{%- endmacro -%}

{#- The nodes of the project that have a relation, by schema and identifier. -#}
{%- macro _nodes_by_relation() -%}
    {%- set found = spark_cdc._found_by_command() -%}
    {%- if 'nodes' not in found -%}
        {%- set nodes = {} -%}
        {%- for node in spark_cdc._all_nodes() if node.resource_type in ('model', 'seed', 'snapshot', 'source') -%}
            {%- do nodes.setdefault((node.schema or '') | lower ~ '.' ~ (node.identifier or node.alias or node.name) | lower, node) -%}
        {%- endfor -%}
        {%- do found.update({'nodes': nodes}) -%}
    {%- endif -%}
    {{ return(found['nodes']) }}
{%- endmacro -%}

{#- The columns that a relation has in the warehouse, a dict of name -> type, or an empty one. They are described once a command,
    unless this command can still change them. Spark caches the files and columns of a table that it has read (of some formats
    the whole table). It does not notice changes by other processes. Every relation passes here, so this is where REFRESH TABLE
    runs, once a command. For a table of `cdc_incremental` it runs each time: its rows have to fit its state. It is not needed for
    a view made by `cdc_incremental`: its table never changes, or it is a raw log, which a run refreshes. -#}
{%- macro _columns_in_warehouse(relation, node) -%}
    {%- set plain = spark_cdc._plain_relation(relation, node) -%}
    {%- set found, place = spark_cdc._found_by_command(), 'columns of ' ~ plain -%}
    {%- set is_ours = node is not none and node.config.materialized == 'cdc_incremental' -%}
    {%- if place in found and not is_ours -%}
        {{ return(dict(found[place])) }}
    {%- endif -%}
    {%- set unchanged = (spark_cdc._unchanged(plain) if is_ours and plain is not none) or {} -%}
    {%- if not unchanged and not spark_cdc._is_in_warehouse(plain) -%}
        {{ return({}) }}
    {%- endif -%}
    {%- set there = load_relation(plain) if is_ours and not unchanged else none -%}
    {%- if not (unchanged.is_view or (there and there.is_view)) -%}
        {%- do run_query('refresh table ' ~ plain) -%}
    {%- endif -%}
    {%- if place in found -%}
        {{ return(dict(found[place])) }}
    {%- endif -%}
    {%- set columns = spark_cdc._described(plain) -%}
    {%- do spark_cdc._complete_types(columns, plain) -%}
    {%- if spark_cdc._is_built(node) -%}{%- do found.update({place: dict(columns)}) -%}{%- endif -%}
    {{ return(columns) }}
{%- endmacro -%}

{#- Whether this command changes a node no more: it does not build it, or built it before this model. -#}
{%- macro _is_built(node) -%}
    {{ return(
        node is not none
        and (node.unique_id not in selected_resources or (model is defined and node.unique_id in model.depends_on.nodes))
    ) }}
{%- endmacro -%}

{#- A relation built from its parts, since `--empty` and unit tests wrap or replace it; none for a CTE without a node. -#}
{%- macro _plain_relation(relation, node) -%}
    {%- set identifier = relation.identifier | string -%}
    {%- if identifier.startswith('__dbt__cte__') -%}
        {%- if node is none -%}
            {{ return(none) }}
        {%- endif -%}
        {%- set schema = node.schema -%}
        {%- set identifier = node.identifier or node.alias or node.name -%}
    {%- else -%}
        {%- set schema = relation.schema -%}
    {%- endif -%}
    {{ return(api.Relation.create(
        schema=schema, identifier=identifier,
        quote_policy={'schema': relation.quote_policy.schema, 'identifier': relation.quote_policy.identifier}
    )) }}
{%- endmacro -%}

{#- Whether a relation is in the warehouse. `dbt compile --no-introspect` does not ask, since it has no connection. dbt's
    list can lack a relation; the adapter then still finds its columns. -#}
{%- macro _is_in_warehouse(plain) -%}
    {{ return(
        plain is not none and flags.INTROSPECT is not false
        and (load_relation(plain) is not none or adapter.get_columns_in_relation(plain) | length > 0)
    ) }}
{%- endmacro -%}

{#- Whether the columns of a relation are unknown, both in the warehouse and in YAML, while one of these commands runs. They
    read no rows, so they continue: one missing relation does not stop the documentation of the others. -#}
{%- macro _is_untold(relation, commands=('generate',)) -%}
    {%- if not execute or invocation_args_dict.which not in commands -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set relation = spark_cdc._tested_relation(relation) -%}
    {%- if relation is string or relation.identifier is not defined -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set node = spark_cdc._node_of(relation) -%}
    {%- set declared = node.columns.values() | list if node is not none else [] -%}
    {{ return(
        (not declared or declared | rejectattr('data_type') | list | length > 0)
        and not spark_cdc._is_in_warehouse(spark_cdc._plain_relation(relation, node))
    ) }}
{%- endmacro -%}

{#- The same for a generic test, which like dbt's own tests can be compiled before its relation exists. -#}
{%- macro _test_is_untold(relation) -%}
    {{ return(spark_cdc._is_untold(relation, ('generate', 'compile'))) }}
{%- endmacro -%}

{#- The same for a call with a decoder's relation, or with `of`, the decoder's model. -#}
{%- macro _call_is_untold(relation, of) -%}
    {%- if of is none or invocation_args_dict.which != 'generate' -%}
        {{ return(spark_cdc._is_untold(relation)) }}
    {%- endif -%}
    {%- set node = spark_cdc._node_of(of) -%}
    {{ return(node is not none and node.resource_type == 'model' and spark_cdc._calls_in(node) | length == 0) }}
{%- endmacro -%}

{#- The SQL that is compiled for such a relation. -#}
{%- macro _untold(relation) -%}
-- this compiles once the relation exists, or its YAML declares its columns, each with a data_type
select * from {{ relation }}
{%- endmacro -%}

{#- The columns of an existing relation, a dict of name -> type; Spark leaves out some fields of a wide struct. The adapter's
    `get_columns_in_relation` stops at a name that begins with `#`. The rows after the columns begin with a row that has no
    type. -#}
{%- macro _described(relation) -%}
    {%- set columns = {} -%}
    {%- set rows = run_query('describe table extended ' ~ relation).rows -%}
    {%- set is_behind = namespace(columns=false) -%}
    {%- for row in rows -%}
        {%- if not row[1] -%}{%- set is_behind.columns = true -%}{%- endif -%}
        {%- if not is_behind.columns -%}{%- do columns.update({row[0]: row[1]}) -%}{%- endif -%}
    {%- endfor -%}
    {{ return(columns) }}
{%- endmacro -%}

{#- Completes the types in a dict of columns, where Spark left out fields of a struct. Not for cdc_before, whose fields are
    the columns of its table. -#}
{%- macro _complete_types(columns, relation) -%}
    {%- set cut = [] -%}
    {%- for name, data_type in columns.items() if modules.re.search('[.]{3} \\d+ more field', data_type) and name != 'cdc_before' -%}
        {%- do cut.append(name) -%}
    {%- endfor -%}
    {%- if cut -%}
        {%- set types = [] -%}
        {%- for name in cut -%}{%- do types.append('typeof(any_value(' ~ spark_cdc._quote(name) ~ '))') -%}{%- endfor -%}
        {%- set row = run_query('select ' ~ types | join(', ') ~ ' from (select * from ' ~ relation ~ ' limit 0) as no_rows').rows[0] -%}
        {%- for name in cut -%}{%- do columns.update({name: row[loop.index0]}) -%}{%- endfor -%}
    {%- endif -%}
{%- endmacro -%}
