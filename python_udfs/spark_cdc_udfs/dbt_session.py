"""`python -m spark_cdc_udfs.dbt_session ARGUMENTS`: dbt with a Spark in its own process.

For profiles with `method: session`. It builds a session as `spark_cdc_udfs.session` does, and then
runs dbt with ARGUMENTS; dbt finds the session by itself. There are two environment variables.
SPARK_CDC_DIR names the directory of warehouse and metastore (default: .spark-cdc-session).
SPARK_CDC_FORMAT is a table format in addition to Spark's own (iceberg or delta). The exit status is
dbt's: 0 for success, 1 if a node failed, 2 if dbt or Spark did not run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.server.sessions import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def session_of_environment() -> SparkSession:
    """Build the session that the environment describes. Raises Failure."""
    return session(
        os.environ.get("SPARK_CDC_DIR", ".spark-cdc-session"),
        table_format=os.environ.get("SPARK_CDC_FORMAT", "parquet"),
    )


def main(arguments: Sequence[str]) -> int:
    """Run dbt and return its exit status."""
    from dbt.cli.main import dbtRunner

    try:
        spark = session_of_environment()
    except Failure as error:
        print(f"spark_cdc_udfs.dbt_session: {error}", file=sys.stderr)
        return 2
    try:
        result = dbtRunner().invoke(list(arguments))
    finally:
        spark.stop()
    if result.exception is not None:
        print(result.exception, file=sys.stderr)
        return 2
    return 0 if result.success else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
