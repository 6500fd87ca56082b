"""The lake as the commands ask it: `connection` to what a profile of dbt names, and `queries`."""
