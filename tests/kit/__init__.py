"""What tests are built with: servers, dbt, projects, tables of plain rows."""
