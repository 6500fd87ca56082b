{#- The raw rows that a decoder cannot decode. See _macros.yml. -#}
{%- macro quarantine(decoder=none, relation=none) -%}
    {%- if not execute -%}{{ return('') }}{%- endif -%}
    {%- if spark_cdc._call_is_untold(relation, kwargs.get('of')) -%}{{ return(spark_cdc._untold(kwargs.get('of', relation))) }}{%- endif -%}
    {%- set call = spark_cdc._call_for('quarantine', decoder, relation, *varargs, **kwargs) -%}
    {%- do spark_cdc._check_materialized(call) -%}
    {%- if kwargs.get('of') is not none and spark_cdc._node_of(kwargs.of).config.materialized == 'cdc_incremental' -%}
        {{ return('select\n    cdc_source,\n    reason,\n    detail,\n    raw\nfrom ' ~ spark_cdc._side_table('quarantine', of=kwargs.of)) }}
    {%- endif -%}
    {{ return(spark_cdc._fit_for_view('quarantine', spark_cdc._declared_select(call))) }}
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
