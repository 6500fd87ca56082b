{#- What dbt does for a unit test, with less work for Spark. dbt makes a view of the model's query for its columns, and
    then runs the query together with the expected rows. So Spark would analyze the query twice, and the decoders have
    up to thousands of lines. Here the query is run once, as a model is built: into a table, which is then read.

    The text of the query holds its input rows, so the same text gives the same rows. Its table is kept under a hash of
    the text, and a later run with the same text only compares the rows with the expected ones. The text may hold the
    time at which the run started. No expected row does, so the hash ignores it. -#}

{%- macro make_temp_relation(base_relation, suffix='__dbt_tmp') -%}
{{ return(base_relation.incorporate(path={'identifier': base_relation.identifier ~ suffix}, type='view')) }}
{%- endmacro -%}

{%- macro get_empty_subquery_sql(select_sql, select_sql_header=none) -%}
{{ select_sql }}
{%- endmacro -%}

{%- macro create_temporary_view(relation, compiled_code) -%}
{%- set time_of_run = '[0-9-]{10}[T ][0-9]{2}' ~ run_started_at.strftime(':%M:%S[.]%f') -%}
{%- set kept = this.identifier ~ '__' ~ local_md5(modules.re.sub(time_of_run, '', compiled_code)) -%}
{%- if run_query("show tables in kept_results like '" ~ kept ~ "'").rows | length == 0 -%}
{%- set folder = env_var('SPARK_CDC_KEPT_RESULTS') -%}
{%- do run_query(
    "create table kept_results." ~ kept ~ " using parquet location '" ~ folder ~ "/" ~ kept ~ "' as\n" ~ compiled_code
) -%}
{%- endif -%}
create view {{ relation }} as select * from kept_results.{{ kept }}
{%- endmacro -%}

{%- macro get_unit_test_sql(main_sql, expected_fixture_sql, expected_column_names) -%}
{%- set columns = expected_column_names | join(', ') -%}
select {{ columns }}, 'actual' as `actual_or_expected`
from {{ make_temp_relation(this) }}
union all
select {{ columns }}, 'expected' as `actual_or_expected`
from (
    {{ expected_fixture_sql }}
)
{%- endmacro -%}

{#- One relation of literals, where dbt has a query for each row. -#}
{%- macro get_expected_sql(rows, column_name_to_data_types, column_name_to_quoted) -%}
{%- if not rows -%}
select * from {{ make_temp_relation(this) }} limit 0
{%- else -%}
select * from values
{%- for row in rows %}
    ({{ format_row(row, column_name_to_data_types).values() | join(', ') }}){{ ',' if not loop.last }}
{%- endfor %}
as expected_rows ({% for name in rows[0] %}{{ column_name_to_quoted[name | lower] }}{{ ', ' if not loop.last }}{% endfor %})
{%- endif -%}
{%- endmacro -%}
