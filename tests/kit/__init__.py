"""The tools of the tests: servers, dbt, projects, tables of plain rows."""
