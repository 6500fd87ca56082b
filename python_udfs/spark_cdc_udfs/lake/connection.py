"""What a profile of dbt names: a server, by dbt's own code, or a session in this process."""

from __future__ import annotations

import contextlib
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.lake.queries import Lake, QueryFailed, Row, first_line

# Connects to the server that the options of a command choose.
Connect = Callable[[Namespace], AbstractContextManager[Lake]]

SECONDS_BETWEEN_POLLS = 0.05


class Server:
    """A server, through a connection of dbt."""

    def __init__(self, handle: Any, schema: str) -> None:
        self._handle = handle
        self.schema = schema

    def rows(self, query: str) -> list[Row]:
        """Run a query and give its rows. Raises QueryFailed."""
        try:
            cursor = self._handle.cursor()
            cursor.execute(query)
            return [tuple(row) for row in cursor.fetchall()]
        except Exception as error:  # each kind of connection has its own errors
            raise QueryFailed(first_line(error)) from error


class Session:
    """A Spark session in this process."""

    def __init__(self, spark: Any, schema: str) -> None:
        self._spark = spark
        self.schema = schema

    def rows(self, query: str) -> list[Row]:
        """Run a query and give its rows. Raises QueryFailed."""
        try:
            return [tuple(row) for row in self._spark.sql(query).collect()]
        except Exception as error:  # of the JVM, of Spark, or of the connection between them
            raise QueryFailed(first_line(error)) from error


@contextlib.contextmanager
def connected(arguments: Namespace) -> Iterator[Lake]:
    """Connect to the server of a dbt project's profile, or start its session.

    Raises Failure, whose message has no secret of the profile.
    """
    try:
        from spark_cdc_udfs.lake.profile import load_credentials
    except ImportError as error:
        raise Failure("dbt is missing: pip install './python_udfs[dbt]'") from error

    credentials = load_credentials(arguments)
    if credentials.method == "session":
        from spark_cdc_udfs.dbt_session import session_of_environment

        spark = session_of_environment()
        try:
            yield Session(spark, credentials.schema)
        finally:
            spark.stop()
        return
    handle = open_handle(credentials)
    try:
        yield Server(handle, credentials.schema)
    finally:
        with contextlib.suppress(Exception):
            handle.close()


def open_handle(credentials: Any) -> Any:
    """Connect to a server. Raises Failure."""
    from dbt.adapters.contracts.connection import Connection, Identifier
    from dbt.adapters.spark.connections import SparkConnectionManager
    from dbt_common.exceptions import env_secrets, scrub_secrets

    # A query takes some milliseconds; dbt would ask only every few seconds whether it has ended.
    credentials.poll_interval = SECONDS_BETWEEN_POLLS
    connection = Connection(Identifier("spark"), "spark-cdc", credentials)
    place = scrub_secrets(f"{credentials.host}, port {credentials.port}", env_secrets())
    try:
        SparkConnectionManager.open(connection)
        return connection.handle
    except Exception as error:
        raise Failure(
            f"no connection to {place} ({type(error).__name__}); `dbt debug` says more"
        ) from error
