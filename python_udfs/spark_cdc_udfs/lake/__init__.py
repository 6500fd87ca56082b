"""The lake as the commands ask it.

- `connection` connects to what a profile of dbt names, which `options` choose;
- `queries` has what queries are written with.
"""
