{#- Each scenario is a folder of models and a schema. -#}

{% macro generate_schema_name(custom_schema_name, node) %}
  {{ return(target.schema ~ '_' ~ node.fqn[1]) }}
{% endmacro %}
{% macro generate_alias_name(custom_alias_name=none, node=none) %}
  {{ return(node.name.split('__', 1) | last) }}
{% endmacro %}
{#- A schema for which dbt's list of relations is empty. -#}
{% macro spark__list_relations_without_caching(relation) %}
  {% set is_unlisted = relation.schema | string == env_var('UNLISTED', '') %}
  {% set like = 'nothing' if is_unlisted else '*' %}
  {{ return(run_query('show table extended in ' ~ relation.schema ~ " like '" ~ like ~ "'")) }}
{% endmacro %}
