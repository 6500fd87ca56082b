{#- Writes the demo's seeds, in this project only: dbt takes this override from the root project. The macro of dbt-spark
    passes cells as parameters, and its session method writes a NULL as the text 'None'. -#}
{% macro spark__load_csv_rows(model, agate_table) %}
    {%- set types = model.config.column_types -%}
    {%- set rows = [] -%}
    {%- for row in agate_table.rows -%}
        {%- set cells = [] -%}
        {%- for name in agate_table.column_names -%}
            {%- set cell = 'null' if row[name] is none else spark_cdc._literal(row[name] | string) -%}
            {%- do cells.append('cast(' ~ cell ~ ' as ' ~ types[name] ~ ')') -%}
        {%- endfor -%}
        {%- do rows.append('(' ~ cells | join(', ') ~ ')') -%}
    {%- endfor -%}
    {%- set sql = 'insert into ' ~ this.render() ~ ' values\n' ~ rows | join(',\n') -%}
    {%- do adapter.add_query(sql, abridge_sql_log=True) -%}
    {{ return(sql) }}
{% endmacro %}
