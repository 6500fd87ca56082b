"""The lake as the commands ask it.

- `profile` reads the profile of dbt that `options` choose, and `connection` connects to its server;
- `queries` has what queries are written with.
"""
