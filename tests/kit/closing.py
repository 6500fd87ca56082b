"""Closing a client's session while another client drops a temporary view."""

from __future__ import annotations

from pyhive import exc, hive  # type: ignore[import-untyped]  # it ships no types


def tolerate_dropped_views() -> None:
    """Make PyHive ignore one error of Spark 4.1 in this process.

    All clients share one session. When a client closes, Spark lists all temporary views and then
    looks each one up. If a dbt unit test drops a view meanwhile, that is an error. The client is
    closed anyway.
    """
    close = hive.Connection.close

    def closed(connection: hive.Connection) -> None:
        try:
            close(connection)
        except exc.OperationalError as error:
            if "TABLE_OR_VIEW_NOT_FOUND" not in str(error):
                raise

    hive.Connection.close = closed
