"""The Spark Thrift server of the dbt project spark_cdc and the Python functions its models call.

- `register(spark)` gives every function of this package to a session of your own.
- `session(directory)` builds a session with the settings and functions of the server.
- `spark-cdc server start | status | stop` runs the server (`spark_cdc_udfs.server`).
- `spark-cdc generate` writes the models of a dbt project (`spark_cdc_udfs.generate`).
- `spark-cdc health` shows which tables need a look (`spark_cdc_udfs.health`).
- `python -m spark_cdc_udfs.dbt_session` runs dbt in one process with such a session.

Each format with functions has a folder: `gbase`, `qlik`. They run on executors, which load nothing
of the server.
"""

from typing import TYPE_CHECKING, Any

from spark_cdc_udfs.version import __version__

if TYPE_CHECKING:
    from spark_cdc_udfs.functions import register
    from spark_cdc_udfs.server.sessions import session

__all__ = ["__version__", "register", "session"]


def __getattr__(name: str) -> Any:
    """Load a public name when it is used: executors import this package as well."""
    if name == "register":
        from spark_cdc_udfs.functions import register

        return register
    if name == "session":
        from spark_cdc_udfs.server.sessions import session

        return session
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
