{#- The raw rows of a relation, kept once for every model that reads them. See _macros.yml. -#}
{%- macro raw_log(relation, batch=none) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- if spark_cdc._is_untold(relation) -%}{{ return(spark_cdc._untold(relation)) }}{%- endif -%}
    {{ return(spark_cdc._declared(spark_cdc._call_of_log(relation, batch))) }}
{%- endmacro -%}

{#- The call as `_declared` takes it. Wrong arguments and a materialization that cannot hold a log stop here. -#}
{%- macro _call_of_log(relation, batch) -%}
    {%- set example = "{{ spark_cdc.raw_log(source('erp', 'orders__ct')) }}" -%}
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
            'raw_log', model.name ~ ' is a ' ~ materialized ~ (', and batch is ' ~ batch if batch is not none else ', and it has no batch'),
            "materialized='cdc_incremental', which keeps the rows; or a view with batch, a column of the relation that never decreases"
            ~ ' from one delivery to the next, where the relation keeps all its rows',
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
        'batch': batch,
        'spec': {
            'relation': relation, 'raw_columns': raw_columns, 'key': [], 'columns': {}, 'inputs': {}, 'lookups': {}, 'as_of': none,
        },
        'fingerprint_of': {'builds': 'raw_log'},
    }) }}
{%- endmacro -%}

{#- The model's SELECT. `batch` is the value of cdc_batch, as SQL, where it is no column of the relation. A varchar is stored as a
    string, so that it may become longer. -#}
{%- macro _select_of_log(call, batch) -%}
select
    {%- for name, data_type in call.spec.raw_columns.items() %}
    {%- set column = spark_cdc._quote(name) %}
    {{ 'cast(' ~ column ~ ' as string) as ' ~ column if call.batch is none and (data_type | lower).startswith('varchar') else column }},
    {%- endfor %}
    {{ batch if call.batch is none else spark_cdc._quote(call.batch) }} as cdc_batch
from {{ call.spec.relation }}
{%- endmacro -%}

{#- The columns of raw rows in a relation, without the batch of a raw log: a dict of name -> type. -#}
{%- macro _raw_columns_in(relation) -%}
    {%- set columns = dict(spark_cdc.columns_of(relation)) -%}
    {%- if execute and spark_cdc._raw_log_of(spark_cdc._tested_relation(relation)) is not none -%}
        {%- for name in columns.keys() | list if name | lower == 'cdc_batch' -%}{%- do columns.pop(name) -%}{%- endfor -%}
    {%- endif -%}
    {{ return(columns) }}
{%- endmacro -%}
