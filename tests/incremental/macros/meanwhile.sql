{#- Plans for the middle of a model's run. The environment variable MEANWHILE has them as JSON, by the name of the model:
      killed      before the first statement that matches this expression, the run ends
      after       after each statement that matches it, `statements` run; {made} is the suffix of the table that was created
      hold        the run waits there, or without `after` in a hook, until there is a table <model>_goes_on -#}

{% macro meanwhile() %}
  {% set all = fromjson(env_var('MEANWHILE', '{}')) %}
  {{ return(all.get(this.schema ~ '.' ~ this.identifier, {}) if this is defined and this else {}) }}
{% endmacro %}

{% macro run_query(sql) %}
  {% set plan = meanwhile() %}
  {% set text = sql | replace('`', '') %}
  {% if plan.killed and modules.re.search(plan.killed, text) %}
    {{ exceptions.raise_compiler_error('killed') }}
  {% endif %}
  {% call statement('asked', fetch_result=true, auto_begin=false) %}{{ sql }}{% endcall %}
  {% set result = load_result('asked') %}
  {% if plan.after and modules.re.search(plan.after, text) %}
    {% for one in plan.statements or [] %}
      {% set made = (modules.re.search('_([0-9]{14,})\\b', text) or ['', ''])[1] %}
      {% call statement('amid') %}{{ one | replace('{made}', made) }}{% endcall %}
    {% endfor %}
    {% if plan.hold %}{% do hold() %}{% endif %}
  {% endif %}
  {{ return(result.table) }}
{% endmacro %}

{% macro hold() %}
  {% set held = namespace(on=true) %}
  {% set like = "show tables in " ~ this.schema ~ " like '" ~ this.identifier %}
  {% if execute and meanwhile().hold and run_query(like ~ "_waits'") | length == 0 %}
    {% do run_query("create table " ~ this ~ "_waits as select 1 as one") %}
    {% for _ in range(600) %}{% if held.on %}
      {% do run_query("select reflect('java.lang.Thread', 'sleep', 200L)") %}
      {% set held.on = run_query(like ~ "_goes_on'") | length == 0 %}
    {% endif %}{% endfor %}
  {% endif %}
  select 1
{% endmacro %}
