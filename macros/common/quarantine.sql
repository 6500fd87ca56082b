{#- The raw rows that a decoder can make nothing of. See _macros.yml. -#}
{%- macro quarantine(decoder=none, relation=none) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- set given = spark_cdc._decoder_call('quarantine', decoder, relation, *varargs, **kwargs) -%}
    {%- do spark_cdc._declare({
        'builds': 'quarantine', 'decoder': given.decoder, 'layout': given.layout, 'definition': dict(given.layout, relation='')
    }) -%}
    {{ return(spark_cdc._of_decoder('quarantine', given.decoder)(given.layout)) }}
{%- endmacro -%}

{#- What `quarantine` and `raw_counts` are about: a dict of `decoder` and `layout`, from a decoder's name and arguments, or
    from the model `of` whose body calls a decoder. -#}
{%- macro _decoder_call(me, decoder, relation) -%}
    {%- set of = kwargs.pop('of', none) -%}
    {%- if of is none -%}
        {%- do spark_cdc._of_decoder(me, decoder) -%}
        {{ return({'decoder': decoder, 'layout': spark_cdc._layout_of(me, decoder, relation, *varargs, **kwargs)}) }}
    {%- endif -%}
    {%- set example = "{{ spark_cdc." ~ me ~ "(of=ref('orders__changes')) }}" -%}
    {%- if decoder is not none or relation is not none or varargs or kwargs -%}
        {{ spark_cdc._stop(
            me, 'there are of and other arguments', 'of alone, or the name of a decoder, a relation and its arguments', example
        ) }}
    {%- endif -%}
    {%- set node = spark_cdc._node_of(of) -%}
    {%- set calls = [] if node is none or node.resource_type != 'model' else spark_cdc._calls_in(node) -%}
    {%- if calls | length != 1 or calls[0].builds != 'events' -%}
        {{ spark_cdc._stop(
            me, 'of is ' ~ of ~ ', whose body is not one call of a decoder', "ref() of the model that holds a decoder's result", example
        ) }}
    {%- endif -%}
    {{ return({'decoder': calls[0].decoder, 'layout': calls[0].layout}) }}
{%- endmacro -%}

{#- What the body of another model calls, as `_declare` is told it. Its refs are no dependencies of this model, so dbt would
    not resolve them here. -#}
{%- macro _calls_in(node) -%}
    {%- set calls, own = [], model.get('spark_cdc_calls') -%}
    {%- do model.update({'spark_cdc_calls': calls}) -%}
    {%- do render('{%- set ref = spark_cdc._ref_in_graph -%}' ~ node.raw_code) -%}
    {%- if own is none -%}{%- do model.pop('spark_cdc_calls') -%}{%- else -%}{%- do model.update({'spark_cdc_calls': own}) -%}{%- endif -%}
    {{ return(calls) }}
{%- endmacro -%}

{#- The relation that `ref` with these arguments stands for, whatever the model that asks depends on. -#}
{%- macro _ref_in_graph(name, second=none) -%}
    {%- for node in graph.nodes.values()
        if node.resource_type in ('model', 'seed', 'snapshot') and node.name == (second or name)
        and (second is none or node.package_name == name) and (kwargs.version or kwargs.v) in (none, undefined, node.version) -%}
        {{ return(api.Relation.create(database=node.database, schema=node.schema, identifier=node.alias)) }}
    {%- endfor -%}
{%- endmacro -%}

{#- A decoder's own part of `quarantine` or `raw_counts`: the macro _quarantine_<decoder>, _raw_counts_<decoder>. -#}
{%- macro _of_decoder(part, decoder) -%}
    {%- set prefix = '_' ~ part ~ '_' -%}
    {%- set decoders = [] -%}
    {%- for name in spark_cdc if name.startswith(prefix) -%}
        {%- do decoders.append(name[prefix | length:]) -%}
    {%- endfor -%}
    {%- if decoder not in decoders -%}
        {{ spark_cdc._stop(
            part, 'decoder is ' ~ decoder, 'the name of a decoder: ' ~ decoders | sort | join(', '),
            "{{ spark_cdc." ~ part ~ "('qlik_change_table', source('erp', 'orders__ct'), key=['order_id']) }}"
        ) }}
    {%- endif -%}
    {{ return(spark_cdc[prefix ~ decoder]) }}
{%- endmacro -%}

{#- What a decoder makes of its arguments, which `quarantine` and `raw_counts` are given, too. -#}
{%- macro _layout_of(me, decoder, relation) -%}
    {%- set accepted = spark_cdc[decoder].macro.arguments | map(attribute='name') | list -%}
    {%- for name in kwargs if name not in accepted -%}
        {{ spark_cdc._stop(
            me, 'there is an argument ' ~ name, 'what ' ~ decoder ~ ' has: ' ~ accepted | join(', '),
            "{{ spark_cdc." ~ me ~ "('" ~ decoder ~ "', source('erp', 'orders'), key=['order_id']) }}"
        ) }}
    {%- endfor -%}
    {{ return(spark_cdc['_layout_' ~ decoder](relation, *varargs, **kwargs)) }}
{%- endmacro -%}
