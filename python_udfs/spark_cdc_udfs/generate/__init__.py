"""`spark-cdc generate`: the models of a dbt project from the tables of a landing.

- `command` is the command line, and `project` all that it writes;
- `config` reads `spark_cdc.yml` (`places`, `examples`), `known_keys` the CSV with keys, and
  `earlier` the files of an earlier run;
- `lake` has the queries for tables; `spark_cdc_udfs.lake` connects as the profile of dbt says;
- `finding` finds the tables of a source and their keys (`tables`, `drafts`): `change_tables`,
  `db2` and `shared_relations`, of which `masks`, `qlik` and `netiq` know what a format tells;
- `models` and `raw_logs` write SQL with `call`; `properties` writes YAML with
  `yaml_text`;
- `files` writes files and keeps edits; `clashes` finds names that would make dbt stop.
"""
