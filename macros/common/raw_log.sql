{#- The raw rows of a relation, kept once for every model that reads them. See _macros.yml. -#}
{%- macro raw_log(relation, batch=none) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- if spark_cdc._is_untold(relation) -%}{{ return(spark_cdc._untold(relation)) }}{%- endif -%}
    {{ return(spark_cdc._declared(spark_cdc._call_of_log(relation, batch, none, 'raw_log'))) }}
{%- endmacro -%}

{#- The call as `_declared` takes it. Wrong arguments and a materialization that cannot hold a log stop here. A `reader` is a
    decoder with _log_<decoder>(spec, relation): the log also has what this computes of each row, once. -#}
{%- macro _call_of_log(relation, batch, reader, me) -%}
    {%- set example = '{{ spark_cdc.' ~ me ~ "(source('erp', 'orders__ct')) }}" -%}
    {%- set raw_columns = spark_cdc._raw_columns_in(relation) -%}
    {%- set materialized = model.config.materialized if model is defined and model.config is defined else none -%}
    {%- if batch is not none and (batch is not string or not batch | trim) -%}
        {{ spark_cdc._stop(
            'raw_log', 'batch is ' ~ (batch if batch is not string else 'empty'), 'the name of a column of ' ~ relation ~ ', or none',
            "{{ spark_cdc.raw_log(source('erp', 'orders__ct'), batch='landed_at') }}"
        ) }}
    {%- endif -%}
    {%- if batch is not none -%}
        {%- set batch = spark_cdc._resolve_names('raw_log', 'batch', [batch], raw_columns | list, example)[0] -%}
        {%- if '<' in raw_columns[batch] or raw_columns[batch] | lower == 'variant' -%}
            {{ spark_cdc._stop(
                'raw_log', 'batch is ' ~ batch ~ ', of type ' ~ raw_columns[batch], 'a column of numbers, times, text or binary', example
            ) }}
        {%- endif -%}
    {%- endif -%}
    {%- if materialized in ('view', 'table', 'cdc_incremental') and materialized != ('cdc_incremental' if batch is none else 'view') -%}
        {{ spark_cdc._stop(
            me, model.name ~ ' is a ' ~ materialized ~ (', and batch is ' ~ batch if batch is not none else ', and it has no batch'),
            "materialized='cdc_incremental', which keeps the rows" ~ ('' if reader else '; or a view with batch, a column of the relation'
            ~ ' that never decreases from one delivery to the next, where the relation keeps all its rows'),
            "{{ config(materialized='cdc_incremental') }} " ~ example
        ) }}
    {%- endif -%}
    {%- if batch is not none and relation.event_time_filter -%}
        {{ spark_cdc._stop(
            'raw_log', '--sample leaves out a part of ' ~ relation.schema ~ '.' ~ relation.identifier,
            'a run without --sample: models on the raw log would treat the missing rows as read', 'dbt run --select ' ~ model.name
        ) }}
    {%- endif -%}
    {{ return({
        'builds': 'raw_log',
        'decoder': none,
        'reader': reader,
        'batch': batch,
        'spec': {
            'relation': relation, 'raw_columns': raw_columns, 'key': [], 'columns': {}, 'inputs': {}, 'lookups': {}, 'as_of': none,
        },
        'fingerprint_of': dict({'builds': 'raw_log'}, **({'reader': reader} if reader else {})),
    }) }}
{%- endmacro -%}

{#- The model's SELECT. `batch` is the value of cdc_batch, as SQL, where it is no column of the relation. A varchar is stored as a
    string, so that it may become longer. -#}
{%- macro _select_of_log(call, batch) -%}
    {%- if call.reader -%}
select
    *,
    {{ batch }} as cdc_batch
from (
    {{ spark_cdc._read_for_log(call, call.spec.relation) | indent(4) }}
) as read_rows
    {%- else -%}
select
    {%- for name, data_type in call.spec.raw_columns.items() %}
    {%- set column = spark_cdc._quote(name) %}
    {{ 'cast(' ~ column ~ ' as string) as ' ~ column if call.batch is none and (data_type | lower).startswith('varchar') else column }},
    {%- endfor %}
    {{ batch if call.batch is none else spark_cdc._quote(call.batch) }} as cdc_batch
from {{ call.spec.relation }}
    {%- endif -%}
{%- endmacro -%}

{#- A select of the rows of a relation with what the log's reader computes of them. -#}
{%- macro _read_for_log(call, relation) -%}
    {{ return(spark_cdc._part_of_decoder('raw_log', 'log', call.reader)(call.spec, relation, **kwargs)) }}
{%- endmacro -%}

{#- The rows of a log as they were delivered; `columns` are those of the log. Where its reader knows more of a row later, the row has a second one, with the
    cdc_waiting_id of the first as cdc_resolved_id. -#}
{%- macro _rows_delivered_to(log, columns) -%}
    {{ return('(select * from ' ~ log ~ ' where cdc_resolved_id is null)' if 'cdc_resolved_id' in columns else log | string) }}
{%- endmacro -%}

{#- The columns of a log before cdc_batch, in their order. -#}
{%- macro _columns_of_log(spec) -%}
    {{ return(spec.raw_columns | list + (spec.computed or {}) | list) }}
{%- endmacro -%}

{#- The columns of raw rows in a relation, without the batch of a raw log: a dict of name -> type. -#}
{%- macro _raw_columns_in(relation) -%}
    {%- set columns = dict(spark_cdc.columns_of(relation)) -%}
    {%- if execute and spark_cdc._raw_log_of(spark_cdc._tested_relation(relation)) is not none -%}
        {%- for name in columns.keys() | list if name | lower == 'cdc_batch' -%}{%- do columns.pop(name) -%}{%- endfor -%}
    {%- endif -%}
    {{ return(columns) }}
{%- endmacro -%}


{#- The raw log that a relation is, or is a view over: its relation, whether it keeps its rows, and the views. Gives none for
    other relations. -#}
{%- macro _raw_log_of(relation) -%}
    {{ return(spark_cdc._raw_log_below(spark_cdc._node_of(relation))) }}
{%- endmacro -%}

{%- macro _raw_log_below(node, views=[]) -%}
    {%- if node is none or node is undefined or node.resource_type != 'model' -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set relation = api.Relation.create(database=node.database, schema=node.schema, identifier=node.alias) -%}
    {%- set materialized = node.config.materialized -%}
    {%- if spark_cdc._is_call_of_log(node.depends_on.macros) and materialized in ('cdc_incremental', 'view') -%}
        {{ return({'relation': relation, 'is_stored': materialized == 'cdc_incremental', 'views': views}) }}
    {%- elif materialized == 'view' and node.depends_on.nodes | length == 1 and graph.nodes is defined -%}
        {{ return(spark_cdc._raw_log_below(graph.nodes.get(node.depends_on.nodes[0]), views + [relation])) }}
    {%- endif -%}
    {{ return(none) }}
{%- endmacro -%}

{#- Whether one of these macros makes a raw log: `raw_log`, or <decoder>_log of a decoder that has a raw log of its own. -#}
{%- macro _is_call_of_log(macros) -%}
    {%- set ours = spark_cdc._macros_of('spark_cdc') -%}
    {%- for name in macros if name.startswith('macro.spark_cdc.') and name.endswith('_log') -%}
        {%- set decoder = name.split('.')[2][:-4] -%}
        {%- if decoder == 'raw' or '_log_' ~ decoder in ours -%}{{ return(true) }}{%- endif -%}
    {%- endfor -%}
    {{ return(false) }}
{%- endmacro -%}

{#- The relation of a decoder without the batch of a raw log. A decoder with a raw log of its own knows the columns. -#}
{%- macro _without_batch(spec) -%}
    {%- if spec.computed or spark_cdc._raw_log_of(spec.relation) is none -%}
        {{ return(spec.relation) }}
    {%- endif -%}
    {{ return('(select ' ~ spark_cdc._column_list(spec.raw_columns) ~ ' from ' ~ spec.relation ~ ')') }}
{%- endmacro -%}
