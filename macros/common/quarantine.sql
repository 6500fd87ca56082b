{#- The raw rows that a decoder cannot decode. See _macros.yml. -#}
{%- macro quarantine(decoder=none, relation=none) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- if spark_cdc._call_is_untold(relation, kwargs.get('of')) -%}{{ return(spark_cdc._untold(kwargs.get('of', relation))) }}{%- endif -%}
    {%- set call = spark_cdc._call_for('quarantine', decoder, relation, *varargs, **kwargs) -%}
    {%- do spark_cdc._declare(call) -%}
    {{ return(spark_cdc._declared_select(call)) }}
{%- endmacro -%}

{#- The call of `quarantine` or `raw_counts`: with a decoder's name and arguments, or with `of`, the model whose body calls a
    decoder. -#}
{%- macro _call_for(me, decoder, relation) -%}
    {%- set of = kwargs.pop('of', none) -%}
    {%- if of is none -%}
        {{ return(spark_cdc._call_of_decoder(me, me, decoder, spark_cdc._spec_of(me, decoder, relation, *varargs, **kwargs))) }}
    {%- endif -%}
    {%- set example = "{{ spark_cdc." ~ me ~ "(of=ref('orders__changes')) }}" -%}
    {%- if decoder is not none or relation is not none or varargs or kwargs -%}
        {{ spark_cdc._stop(
            me, 'it has the argument of and others', 'of alone, or the name of a decoder, a relation and its arguments', example
        ) }}
    {%- endif -%}
    {%- set node = spark_cdc._node_of(of) -%}
    {%- set calls = [] if node is none or node.resource_type != 'model' else spark_cdc._calls_in(node) -%}
    {%- if calls | length != 1 or calls[0].builds != 'events' -%}
        {{ spark_cdc._stop(
            me, 'of is ' ~ of ~ ', whose body is not one call of a decoder', "ref() of the model that holds a decoder's result", example
        ) }}
    {%- endif -%}
    {{ return(dict(calls[0], builds=me)) }}
{%- endmacro -%}

{#- The call in the body of another model, as `_declare` is given it. This model does not depend on the refs in that body, so
    dbt would not resolve them here. -#}
{%- macro _calls_in(node) -%}
    {%- set calls, own = [], model.get('spark_cdc_calls') -%}
    {%- do model.update({'spark_cdc_calls': calls}) -%}
    {%- do render('{%- set ref = spark_cdc._ref_in_graph -%}' ~ node.raw_code) -%}
    {%- if own is none -%}{%- do model.pop('spark_cdc_calls') -%}{%- else -%}{%- do model.update({'spark_cdc_calls': own}) -%}{%- endif -%}
    {{ return(calls) }}
{%- endmacro -%}

{#- The relation of `ref` with these arguments, whatever the calling model depends on. -#}
{%- macro _ref_in_graph(name, second=none) -%}
    {%- for node in graph.nodes.values()
        if node.resource_type in ('model', 'seed', 'snapshot') and node.name == (second or name)
        and (second is none or node.package_name == name) and (kwargs.version or kwargs.v) in (none, undefined, node.version) -%}
        {{ return(api.Relation.create(database=node.database, schema=node.schema, identifier=node.alias)) }}
    {%- endfor -%}
{%- endmacro -%}
