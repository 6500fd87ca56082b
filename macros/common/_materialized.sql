{#- Materializations that cannot be right for a macro of this package. Nothing is known of materializations from elsewhere:
    they are accepted, as are tests, analyses and the SQL of `dbt show`. -#}

{#- Stops if the materialization of a model or snapshot cannot store the result of this call. -#}
{%- macro _check_materialized(call) -%}
    {%- set materialized = model.config.materialized if model is defined and model.config is defined else none -%}
    {%- set wrong = {
        'incremental': 'incremental, which adds the rows of each run to the rows of earlier runs: rows would be repeated, and'
            ~ ' removed rows would stay',
        'snapshot': 'a snapshot, which sees at most one change of each key in a run, and misses changes between runs',
        'ephemeral': 'ephemeral: it has no relation that other models could read or ask for its columns',
    } -%}
    {%- set accepted = "materialized='cdc_incremental', which works on new rows only; table; or view" -%}
    {%- set example = "{{ config(materialized='cdc_incremental') }}" -%}
    {%- if call.builds == 'quarantine' -%}
        {%- do wrong.update({'cdc_incremental': 'cdc_incremental: the runs of the model of change events store its quarantine'}) -%}
        {%- set accepted, example = 'a view of what these runs store; or a table', "{{ config(materialized='view') }}" -%}
    {%- endif -%}
    {%- if materialized not in wrong -%}
        {%- if materialized == 'view' and call.builds in ('current_state', 'history') -%}{%- do spark_cdc._warn_of_views(call) -%}{%- endif -%}
        {{ return(none) }}
    {%- endif -%}
    {%- if call.builds == 'raw_log' -%}
        {%- set accepted = "materialized='cdc_incremental', which keeps the rows; or a view with batch" -%}
    {%- elif materialized == 'snapshot' and call.builds != 'quarantine' -%}
        {%- set accepted = 'a model of history, which has every version, with ' ~ accepted -%}
    {%- endif -%}
    {%- set me = spark_cdc._macro_of_call(call) -%}
    {%- set problem = [me, model.name ~ ' is ' ~ wrong[materialized], accepted, example] -%}
    {%- do spark_cdc._stop_materialized(problem) -%}
{%- endmacro -%}

{#- The name of the public macro of a call. -#}
{%- macro _macro_of_call(call) -%}
    {{ return(call.builds if call.builds != 'events' else 'decode' if '.' in call.decoder else call.decoder) }}
{%- endmacro -%}

{#- Stops where a model whose body is a query like any other would be built by increments. -#}
{%- macro _check_not_incremental(me) -%}
    {%- set materialized = model.config.materialized if model is defined and model.config is defined else none -%}
    {%- if materialized in ('cdc_incremental', 'incremental') -%}
        {%- do spark_cdc._stop_materialized([
            me, model.name ~ ' is ' ~ materialized ~ ', which works on what is new; what ' ~ me ~ ' gives of a row depends on later rows too',
            'view or table. A model that keeps what it gave can select from that one', "{{ config(materialized='view') }}"
        ]) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The SQL of a call. Stops if the metastore cannot keep it as the text of a view: the embedded one (Derby) keeps few
    characters, and its error comes late and does not say so. A view may also be in another catalog, or in a metastore of which
    nothing is known here: there is no check then. A unit test makes no view. -#}
{%- macro _fit_for_view(me, select) -%}
    {%- set longest = 32700 -%}
    {%- set materialized = model.config.materialized if model is defined and model.config is defined else none -%}
    {%- if
        materialized != 'view' or select | length <= longest or '.' in (model.schema or '')
        or graph.nodes is not defined or invocation_args_dict.which in ('compile', 'generate') or flags.INTROSPECT is false
    -%}
        {{ return(select) }}
    {%- endif -%}
    {%- set catalog = run_query('set spark.sql.catalogImplementation').rows[0][1] -%}
    {%- set driver = run_query('set spark.hadoop.javax.jdo.option.ConnectionDriverName').rows[0][1] -%}
    {%- if catalog == 'hive' and 'derby' in driver -%}
        {%- do spark_cdc._stop_materialized([
            me, model.name ~ ' is a view with a text of ' ~ select | length ~ ' characters; the metastore of this server (Derby) keeps '
            ~ longest ~ ' of a view',
            'a table; or a server with a metastore in a database (spark-cdc-server start --metastore-url …)',
            "{{ config(materialized='table') }}"
        ]) -%}
    {%- endif -%}
    {{ return(select) }}
{%- endmacro -%}

{#- Stops with the arguments of `_stop`. -#}
{%- macro _stop_materialized(problem) -%}
    {#- dbt does not show why a batch of a microbatch model stops -#}
    {%- if model.config.incremental_strategy == 'microbatch' -%}
        {%- do log(spark_cdc._stop_message(*problem), info=true) -%}
    {%- endif -%}
    {{ spark_cdc._stop(*problem) }}
{%- endmacro -%}

{#- Warns of a view that reads a decoder only through views: Spark plans and computes everything again for each query. -#}
{%- macro _warn_of_views(call) -%}
    {%- set decoder = spark_cdc._decoder_view(spark_cdc._node_of(call.changes)) -%}
    {%- if decoder is not none -%}
        {%- do exceptions.warn(spark_cdc._stop_message(
            call.builds, model.name ~ ' is a view that reads only views, down to the decoder in ' ~ decoder.name
            ~ ': every query decodes all raw rows, and takes many seconds to plan, however few rows there are',
            'the model of the decoder as cdc_incremental or a table, and views over it',
            "{{ config(materialized='cdc_incremental') }} in " ~ decoder.name
        )) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The model with a decoder's call that a node is, or is a view over, if all of them are views; else none. -#}
{%- macro _decoder_view(node) -%}
    {%- if node is none or node is undefined or node.resource_type != 'model' or node.config.materialized != 'view' -%}
        {{ return(none) }}
    {%- endif -%}
    {%- for called in node.depends_on.macros -%}
        {%- set package, name = called.split('.')[1], called.split('.') | last -%}
        {%- if '_outcomes_' ~ name in spark_cdc._macros_of(package) -%}{{ return(node) }}{%- endif -%}
    {%- endfor -%}
    {%- for below in node.depends_on.nodes -%}
        {%- set found = spark_cdc._decoder_view(graph.nodes.get(below)) -%}
        {%- if found is not none -%}{{ return(found) }}{%- endif -%}
    {%- endfor -%}
    {{ return(none) }}
{%- endmacro -%}
