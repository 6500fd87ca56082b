"""The Spark Thrift server of the dbt project spark_cdc and the Python functions its models call.

- `register(spark)` gives every function of this package to a session of your own.
- `session(directory)` builds a session with the settings and functions of the server.
- `spark-cdc-server start | status | stop` runs the server (`spark_cdc_udfs.server`).
- `python -m spark_cdc_udfs.dbt_session` runs dbt in one process with such a session.
"""

from spark_cdc_udfs.functions import register
from spark_cdc_udfs.sessions import session
from spark_cdc_udfs.version import __version__

__all__ = ["__version__", "register", "session"]
