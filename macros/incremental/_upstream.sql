{#- What is new in the change events that a model of current state or of history reads. -#}

{#- The incremental model of change events that a node is, or is a view over. `relation` is that model, and `texts` are the
    views over it (empty where Spark does not tell). Gives none if there is no such model, or if a view was made over another
    one (`--defer`). Every run then builds the whole model. -#}
{%- macro _incremental_upstream(node, texts=[]) -%}
    {%- if node is none or node is undefined or node.resource_type != 'model' -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set relation = api.Relation.create(database=node.database, schema=node.schema, identifier=node.alias) -%}
    {%- if texts and not spark_cdc._is_view_over(texts | last, relation) -%}
        {{ return(none) }}
    {%- elif node.config.materialized == 'cdc_incremental' -%}
        {{ return({'relation': relation, 'texts': texts}) }}
    {%- elif node.config.materialized == 'view' and node.depends_on.nodes | length == 1 -%}
        {{ return(spark_cdc._incremental_upstream(
            graph.nodes.get(node.depends_on.nodes[0]), texts + [spark_cdc._view_text(relation)]
        )) }}
    {%- endif -%}
    {{ return(none) }}
{%- endmacro -%}

{#- Whether the SQL of a view names a relation. Also if the SQL is unknown. -#}
{%- macro _is_view_over(text, relation) -%}
    {%- set named = '(?<![\\w.])' ~ modules.re.escape(relation | lower | string) ~ '(?![\\w.])' -%}
    {{ return(not text or modules.re.search(named, text | lower | replace('`', '')) is not none) }}
{%- endmacro -%}

{#- The SQL with which a view was made. Its file may give other SQL now, with other variables. -#}
{%- macro _view_text(view) -%}
    {%- set texts = [] -%}
    {%- for row in run_query('describe extended ' ~ view) if row[0] == 'View Text' -%}
        {%- do texts.append(row[1]) -%}
    {%- endfor -%}
    {{ return(texts | last | default('', true)) }}
{%- endmacro -%}

{#- What the upstream has that the model has not seen. `last` is its last batch, `epoch` the run that last built it. `new`
    says whether there are new events, and `from` is their first commit sequence. `affects_all` says whether every key is
    affected. `last_run` is the last run of the upstream that wrote; if the model knows it, no row is read. The upstream may
    be in the middle of a run, which writes retracted events before it changes the model. Such a batch is left to a later
    run. -#}
{%- macro _facts_of_upstream(run, upstream) -%}
    {%- if upstream is none -%}
        {{ return({'last': none, 'epoch': '', 'last_run': '', 'new': true, 'affects_all': true}) }}
    {%- endif -%}
    {%- set is_emptied = run.call.changes.limit == 0 -%}
    {%- set retracted = spark_cdc._side_table('replaced', of=upstream.relation) -%}
    {#- the relation that the body names was refreshed when the body was compiled -#}
    {%- if upstream.texts -%}{%- do run_query('refresh table ' ~ upstream.relation) -%}{%- endif -%}
    {%- set unchanged = spark_cdc._unchanged(upstream.relation) -%}
    {%- set properties = unchanged.properties if unchanged else spark_cdc._properties(upstream.relation) -%}
    {#- changes if all events may be different: the model was rebuilt, or a view has other SQL -#}
    {%- set of_texts = ' ' ~ local_md5(upstream.texts | join) if upstream.texts else '' -%}
    {%- set epoch = properties.get('spark_cdc.generation', '') ~ of_texts -%}
    {%- set last_run = properties.get('spark_cdc.last_run', '') -%}
    {%- set knows_run = run.properties.get('spark_cdc.upstream') == epoch and run.properties.get('spark_cdc.upstream_run') == last_run -%}
    {%- if unchanged and not (last_run and knows_run) -%}
        {#- rows will be read: what the command noted may be old by now -#}
        {%- set properties = spark_cdc._properties(upstream.relation) -%}
        {%- set epoch = properties.get('spark_cdc.generation', '') ~ of_texts -%}
        {%- set last_run = properties.get('spark_cdc.last_run', '') -%}
    {%- elif last_run and knows_run and not is_emptied -%}
        {{ return({'last': run.properties['spark_cdc.applied'], 'epoch': epoch, 'last_run': last_run, 'new': false, 'affects_all': false}) }}
    {%- endif -%}
    {#- batches of another epoch cannot be compared with the batch that was applied -#}
    {%- set before = run.properties.get('spark_cdc.applied', '')
        if run.properties.get('spark_cdc.upstream') == epoch else '' -%}
    {%- set applied = spark_cdc._literal(before) -%}
    {%- set of_retracted, is_running = none, false -%}
    {%- if not is_emptied and spark_cdc._is_there(retracted) -%}
        {%- do run_query('refresh table ' ~ retracted) -%}
        {%- set of_retracted = run_query(spark_cdc._news_of(retracted, applied)).rows[0] -%}
        {#- in this order: if the run has ended by now, its events can be read -#}
        {%- set is_running = of_retracted[0] is not none and spark_cdc._is_there(spark_cdc._side_table('run_*', of=upstream.relation)) -%}
    {%- endif -%}
    {%- if of_retracted is not none and of_retracted[0] is not none -%}{%- do run_query('refresh table ' ~ upstream.relation) -%}{%- endif -%}
    {%- set of_events = run_query(spark_cdc._news_of(run.call.changes, applied)).rows[0] -%}
    {%- set last = [of_events[0] or before, before if is_running or not of_retracted else of_retracted[0] or before] | max -%}
    {#- asked again, up to the batch of the events: a run may have ended meanwhile, or may still be writing -#}
    {%- if is_running or (of_events[0] or '') > ((of_retracted or [''])[0] or '') -%}
        {%- set of_retracted = none -%}
        {%- if not is_emptied and spark_cdc._is_there(retracted) -%}
            {%- do run_query('refresh table ' ~ retracted) -%}
            {%- set of_retracted = run_query(
                spark_cdc._news_of(retracted, applied) ~ ' and cdc_batch <= ' ~ spark_cdc._literal(last)
            ).rows[0] -%}
        {%- endif -%}
    {%- endif -%}
    {%- set has_retracted = of_retracted is not none and of_retracted[1] is not none -%}
    {%- set rows = [of_events] + ([of_retracted] if has_retracted else []) -%}
    {%- set froms = rows | map(attribute=1) | select | list -%}
    {{ return({
        'last': '' if is_emptied else last,
        'epoch': epoch,
        'last_run': '' if is_emptied else last_run,
        'new': froms | length > 0,
        'from': froms | min if froms else none,
        'retracted': retracted if has_retracted else none,
        'affects_all': rows | map(attribute=2) | select | list | length > 0 or (has_retracted and upstream.texts | length > 0),
    }) }}
{%- endmacro -%}

{#- For the events after the batch `applied`: the last batch, the first commit sequence, and the number of truncates. An event
    without a commit sequence is before all others: the run reads it, and stops. -#}
{%- macro _news_of(events, applied) -%}
select
    max(cdc_batch) as last_batch,
    min(coalesce(cdc_commit_sequence, ' ')) as first_commit_sequence,
    count_if(cdc_operation = 'truncate') as truncates
from {{ events }}
where cdc_batch > {{ applied }}
{%- endmacro -%}
