"""Ask a Thrift server, as a client does."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import ssl
from dataclasses import dataclass

from spark_cdc_udfs.server.directory import Server

SECONDS = 10

# Thrift reports every failed connection by itself as well.
logging.getLogger("thrift").addHandler(logging.NullHandler())


class NoAnswer(Exception):
    """The server did not answer; the message is one line that says how."""


def reachable(host: str) -> str:
    """Return the address at which a client on this machine finds a server bound to `host`."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return "127.0.0.1" if address.version == 4 else "::1"
    return host


def is_loopback(host: str) -> bool:
    """Say whether only this machine reaches a server bound to `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True)
class Login:
    """What a client gives a server."""

    user: str
    password: str
    is_tls: bool


def check(server: Server, login: Login, seconds: float = SECONDS) -> None:
    """Return when `server` has answered `select 1`.

    Raises NoAnswer if it does not within `seconds` for each message, or if another server answers.
    """
    # these four ship no types
    import thrift_sasl  # type: ignore[import-untyped]
    from pyhive import hive  # type: ignore[import-untyped]
    from thrift.transport.TSocket import TSocket  # type: ignore[import-untyped]
    from thrift.transport.TSSLSocket import TSSLSocket  # type: ignore[import-untyped]

    host = reachable(server.host)
    if login.is_tls:
        # As dbt does, which checks no certificate either.
        unchecked = ssl.create_default_context()
        unchecked.check_hostname = False
        unchecked.verify_mode = ssl.CERT_NONE
        socket = TSSLSocket(host, server.port, ssl_context=unchecked)
    else:
        socket = TSocket(host, server.port)
    socket.setTimeout(seconds * 1000)
    transport = thrift_sasl.TSaslClientTransport(
        lambda: hive.get_installed_sasl(
            host=host,
            sasl_auth="PLAIN",
            username=login.user,
            password=login.password,
        ),
        "PLAIN",
        socket,
    )
    try:
        with (
            contextlib.closing(
                hive.connect(thrift_transport=transport, username=login.user)
            ) as connection,
            contextlib.closing(connection.cursor()) as cursor,
        ):
            cursor.execute("select 1")
            one = cursor.fetchall()
            cursor.execute("set spark.cdc.server.instance")
            instance = cursor.fetchall()
    except Exception as error:
        # Every error that a client can get: Thrift's errors, the socket's, PyHive's own.
        words = str(error).split("\n")[0][:300] or type(error).__name__
        raise NoAnswer(words) from error
    if one != [(1,)] or [row[1] for row in instance] != [server.instance]:
        raise NoAnswer(f"another server answers on {server.address}")
