{#- Materializations with which what a macro of the package gives cannot be right. Of those that others have made nothing is
    known: they go on, as do tests, analyses and what `dbt show` is given. -#}

{#- Stops where a model, or a snapshot, whose body is this call would not be what the call gives. -#}
{%- macro _check_materialized(call) -%}
    {%- set materialized = model.config.materialized if model is defined and model.config is defined else none -%}
    {%- set wrong = {
        'incremental': 'incremental, which adds what a run gives to what the runs before it gave: each row would be there again, and'
            ~ ' rows that go would stay',
        'snapshot': 'a snapshot, which sees of each key one change a run, and no change between two runs',
        'ephemeral': 'ephemeral: no relation that others could be built on, and ask for its columns',
    } -%}
    {%- if materialized not in wrong -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set accepted = "materialized='cdc_incremental', which works on what is new; table; or view, where no Python function is called" -%}
    {%- if materialized == 'snapshot' -%}
        {%- set accepted = 'a model of history, which has every version: ' ~ accepted -%}
    {%- endif -%}
    {%- set me = call.builds if call.builds != 'events' else 'decode' if '.' in call.decoder else call.decoder -%}
    {%- set problem = [me, model.name ~ ' is ' ~ wrong[materialized], accepted, "{{ config(materialized='cdc_incremental') }}"] -%}
    {#- dbt does not show why a batch of a microbatch model stops -#}
    {%- if model.config.incremental_strategy == 'microbatch' -%}
        {%- do log(spark_cdc._stop_message(*problem), info=true) -%}
    {%- endif -%}
    {{ spark_cdc._stop(*problem) }}
{%- endmacro -%}
