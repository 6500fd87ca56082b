{#- What one dbt command asks only once. Of hundreds of tables most have nothing new, and their runs only ask the metastore. -#}

{#- Notes that a run changed nothing, with the properties that it found. Models downstream in the same command use them. -#}
{%- macro _note_unchanged(run) -%}
    {%- do spark_cdc._found_by_command().update({
        spark_cdc._place_of_unchanged(run.target): {'properties': run.properties, 'is_view': run.format.kind == 'view'}
    }) -%}
{%- endmacro -%}

{#- What is known of a model that this command found unchanged: its `properties`, and whether it `is_view`. Else none. Another
    command may have changed it since: a model that reads rows asks for the properties again. -#}
{%- macro _unchanged(relation) -%}
    {{ return(spark_cdc._found_by_command().get(spark_cdc._place_of_unchanged(relation))) }}
{%- endmacro -%}

{%- macro _place_of_unchanged(relation) -%}
    {{ return('unchanged ' ~ (relation.schema ~ '.' ~ relation.identifier) | lower) }}
{%- endmacro -%}

{#- The names of the tables in the schema of this model when the command ran its first model there. Tables of killed runs are
    among them. A run that takes the lock asks again. -#}
{%- macro _tables_at_begin() -%}
    {%- set found, place = spark_cdc._found_by_command(), 'tables of ' ~ this.without_identifier() -%}
    {%- if place not in found -%}
        {%- do found.update({place: spark_cdc._tables_like('*') | map('lower') | list}) -%}
    {%- endif -%}
    {{ return(found[place]) }}
{%- endmacro -%}
