"""The version of this package: `pyproject.toml` and the function `spark_cdc_version()` read it."""

__version__ = "0.1.0"
