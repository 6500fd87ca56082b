"""Scenarios on the parquet server, grouped by subject."""
