{#- Stops if Spark lacks one of these Python functions, which the model calls. They need this version of Spark. Commands that
    run nothing compile without them. -#}
{%- macro _check_functions(me, functions, version) -%}
    {%- if spark_cdc._are_only_calls_asked() or invocation_args_dict.which in ('compile', 'generate') -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set there = [] -%}
    {%- for row in run_query("show functions like '" ~ functions | join('|') ~ "'") -%}
        {%- do there.append((row[0] | string).split('.') | last) -%}
    {%- endfor -%}
    {%- set missing = functions | reject('in', there) | list -%}
    {%- if missing -%}
        {%- set spark = run_query("select split(version(), ' ')[0]").rows[0][0] -%}
        {{ spark_cdc._stop(
            me, 'it needs Spark ' ~ version ~ ' or newer with the functions ' ~ missing | join(', ') ~ '; this Spark ' ~ spark ~ ' lacks them',
            'a server that spark-cdc-server starts, with that Spark, or a session after spark_cdc_udfs.register(spark)',
            "pip install 'pyspark==4.1.4', then spark-cdc-server start"
        ) }}
    {%- endif -%}
{%- endmacro -%}
