{#- All uses of what dbt does not document for packages. They were checked on dbt-core 1.11.16 with dbt-spark 1.11.0; look here
    first if another version of dbt behaves differently. What is used:

      context[package], the iteration over its macros, and `get_macro()` of one
      render()             SQL with Jinja is rendered in the context of the node that runs; a `set` in it replaces a name
      model                is a dict that a macro can change; it is the same one while a body is rendered
      graph                is a dict that all nodes of one dbt command share, when they are compiled and when they run
      builtins.ref.manifest, and that `graph` is empty, in a dbt unit test -#}

{#- What one dbt command has found out so far: a dict that a macro can change. Unit tests do not share one. -#}
{%- macro _found_by_command() -%}
    {{ return(graph.setdefault('spark_cdc ' ~ invocation_id, {}) if graph.nodes is defined else {}) }}
{%- endmacro -%}

{#- The macros of a package by their names, in an empty dict if dbt has no such package. -#}
{%- macro _macros_of(package) -%}
    {%- set macros = context.get(package) -%}
    {{ return(macros if macros is mapping else {}) }}
{%- endmacro -%}

{#- The names of a macro's arguments. -#}
{%- macro _arguments_of(macro_of_package) -%}
    {{ return(macro_of_package.get_macro().arguments) }}
{%- endmacro -%}

{#- The nodes and sources of the project. In a dbt unit test they are its inputs, which are in the test's own manifest. -#}
{%- macro _all_nodes() -%}
    {%- if graph.nodes is defined -%}
        {{ return(graph.nodes.values() | list + graph.sources.values() | list) }}
    {%- endif -%}
    {{ return(builtins.ref.manifest.nodes.values() | list) }}
{%- endmacro -%}

{#- The columns of an input that a unit test gives as SQL; otherwise an empty dict. (For an input given as rows dbt itself
    needs the relation in the warehouse.) -#}
{%- macro _columns_in_fixture(node) -%}
    {%- set columns = {} -%}
    {%- if graph.nodes is not defined and node is not none and 'get_fixture_sql(' not in node.raw_code -%}
        {%- for column in run_query('describe query ' ~ render(node.raw_code)) -%}
            {%- do columns.update({column.col_name: column.data_type}) -%}
        {%- endfor -%}
        {#- the code may end in a comment -#}
        {%- do spark_cdc._complete_types(columns, '(' ~ render(node.raw_code) ~ '\n)') -%}
    {%- endif -%}
    {{ return(columns) }}
{%- endmacro -%}

{#- The SQL of the call in a body. `cdc_incremental` runs a model right after dbt compiled it, and takes the call from here. Where
    `_calls_in` asks, there is no SQL. Stops for a materialization that cannot be right. -#}
{%- macro _declared(call, has_truncates=false) -%}
    {%- if spark_cdc._are_only_calls_asked() -%}
        {%- do model.spark_cdc_calls.append(call) -%}
        {{ return('') }}
    {%- endif -%}
    {%- do spark_cdc._check_materialized(call) -%}
    {%- set select = spark_cdc._declared_select(call, has_truncates) -%}
    {%- if model is defined and (model.config or {}).materialized == 'cdc_incremental' and invocation_args_dict.which not in ('compile', 'generate') -%}
        {%- do spark_cdc._found_by_command().setdefault('calls of ' ~ model.unique_id, []).append({'call': call, 'select': select}) -%}
    {%- endif -%}
    {{ return(spark_cdc._fit_for_view(spark_cdc._macro_of_call(call), select)) }}
{%- endmacro -%}

{#- The calls in the body of another model. This model does not depend on the refs in that body, so dbt would not resolve them
    here. -#}
{%- macro _calls_in(node) -%}
    {%- set calls, own = [], model.get('spark_cdc_calls') -%}
    {%- do model.update({'spark_cdc_calls': calls}) -%}
    {%- do render('{%- set ref = spark_cdc._ref_in_graph -%}' ~ node.raw_code) -%}
    {%- if own is none -%}{%- do model.pop('spark_cdc_calls') -%}{%- else -%}{%- do model.update({'spark_cdc_calls': own}) -%}{%- endif -%}
    {{ return(calls) }}
{%- endmacro -%}

{#- Whether `_calls_in` is at work. -#}
{%- macro _are_only_calls_asked() -%}
    {{ return(model is defined and model.spark_cdc_calls is defined) }}
{%- endmacro -%}

{#- The relation of `ref` with these arguments, whatever the calling model depends on. -#}
{%- macro _ref_in_graph(name, second=none) -%}
    {%- for node in graph.nodes.values()
        if node.resource_type in ('model', 'seed', 'snapshot') and node.name == (second or name)
        and (second is none or node.package_name == name) and (kwargs.version or kwargs.v) in (none, undefined, node.version) -%}
        {{ return(api.Relation.create(database=node.database, schema=node.schema, identifier=node.alias)) }}
    {%- endfor -%}
{%- endmacro -%}
