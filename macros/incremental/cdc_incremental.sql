{#- The materialization of models whose body is one call of `raw_log`, of a decoder, of `current_state` or of `history`. Its
    documentation is in _macros.yml. What a run does is in _write_log.sql, _decoded.sql and _applied.sql, and how it writes is
    in _storage.sql and the folder storage. -#}
{%- materialization cdc_incremental, adapter='spark' -%}
    {%- set call = spark_cdc._declared_call() -%}
    {%- set run = spark_cdc._begin_run(call) -%}
    {{ run_hooks(pre_hooks) }}

    {%- if call.builds == 'raw_log' -%}
        {%- do spark_cdc._run_raw_log(run) -%}
    {%- elif call.builds == 'events' -%}
        {%- do spark_cdc._run_decoded(run) -%}
    {%- else -%}
        {%- do spark_cdc._run_applied(run) -%}
    {%- endif -%}
    {%- do spark_cdc._end_run(run) -%}

    {%- do apply_grants(run.target, config.get('grants'), should_revoke(run.existing, full_refresh_mode=run.is_full)) -%}
    {%- do persist_docs(run.target, model) -%}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [run.target]}) }}
{%- endmaterialization -%}


{#- The call in the model's body, as its public macro gave it to `_declared` when dbt compiled the body. -#}
{%- macro _declared_call() -%}
    {%- for node_id in model.depends_on.nodes
        if (graph.nodes.get(node_id) or {}).get('config', {}).get('materialized') == 'ephemeral' -%}
        {{ spark_cdc._stop(
            'cdc_incremental', model.name ~ ' reads the ephemeral model ' ~ node_id.split('.')[-1],
            'relations that every statement of a run can read, such as views', "config(materialized='view')"
        ) }}
    {%- endfor -%}
    {%- set declared = spark_cdc._found_by_command().pop('calls of ' ~ model.unique_id, []) -%}
    {%- if declared | length != 1 or not spark_cdc._is_but_for_comments(sql, declared[0].select | trim) -%}
        {{ spark_cdc._stop(
            'cdc_incremental', 'the body of ' ~ model.name ~ ' is not exactly one call of such a macro',
            'one call of raw_log, of a decoder, of current_state or of history, with only comments before and after it',
            "{{ spark_cdc.current_state(ref('orders__changes'), key=['order_id']) }}"
        ) }}
    {%- endif -%}
    {%- set call = declared[0].call -%}
    {%- set relations = [call.changes] if not call.spec
        else [call.spec.relation] + call.spec.inputs.values() | list + call.spec.lookups.values() | list -%}
    {%- for relation in relations if relation and relation.event_time_filter -%}
        {{ spark_cdc._stop(
            'cdc_incremental', '--sample leaves out a part of ' ~ relation.schema ~ '.' ~ relation.identifier,
            'a run without --sample: later runs would treat the missing rows as read', 'dbt run --select ' ~ model.name
        ) }}
    {%- endfor -%}
    {{ return(call) }}
{%- endmacro -%}

{#- Whether an SQL text is this select, with only white space and comments before and after it. -#}
{%- macro _is_but_for_comments(text, select) -%}
    {%- set around = text.split(select, 1) -%}
    {#- a single-line comment without an end would swallow the first line of the select -#}
    {{ return(
        around | length == 2
        and not spark_cdc._without_comments(around[0])
        and not spark_cdc._without_comments('\n' ~ around[1] ~ '\n')
    ) }}
{%- endmacro -%}

{#- An SQL text without the white space and comments at its beginning. Comments between /* and */ can be nested. -#}
{%- macro _without_comments(text) -%}
    {%- set rest = namespace(text=text, depth=0) -%}
    {%- for _ in range(text | length) if rest.text -%}
        {%- set found = modules.re.match(
            '(?s)(/[*])|([*]/)|([^/*]+|.)' if rest.depth else '(?s)(/[*])|((?!))|(\\s+|--[^\n]*\n)', rest.text
        ) -%}
        {%- if not found -%}
            {{ return(rest.text) }}
        {%- endif -%}
        {%- set rest.depth = rest.depth + (1 if found[1] else -1 if found[2] else 0) -%}
        {%- set rest.text = rest.text[found.end():] -%}
    {%- endfor -%}
    {{ return(rest.text or '/*' * rest.depth) }}
{%- endmacro -%}

{#- The SELECT of a call, which is the model's SELECT. -#}
{%- macro _declared_select(call, has_truncates=false) -%}
    {%- if call.decoder -%}
        {%- set relation = spark_cdc._without_batch(call.spec) -%}
        {{ return(spark_cdc._select_of_decoder(
            call.builds, dict(call.spec, relation=relation, inputs=spark_cdc._inputs_as_given(call.spec), batch=spark_cdc._batch())
        )) }}
    {%- elif call.builds == 'raw_log' -%}
        {{ return(spark_cdc._select_of_log(call, spark_cdc._literal(spark_cdc._batch()))) }}
    {%- endif -%}
    {{ return(spark_cdc._applied(call, has_truncates=has_truncates)) }}
{%- endmacro -%}
