"""Start a server: `spark-cdc-server start`."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import os
import socket
import subprocess
import time
import uuid
from importlib.metadata import version
from typing import Any

from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.server import access, client, directory
from spark_cdc_udfs.server import settings as spark_settings
from spark_cdc_udfs.server.children import child
from spark_cdc_udfs.server.directory import Home, Server
from spark_cdc_udfs.server.logs import say, telling_line
from spark_cdc_udfs.server.sessions import Options, assemble, with_jars
from spark_cdc_udfs.version import __version__

START_SECONDS = 300


def start(home: Home, host: str, port: int, options: Options) -> None:
    """Start a server in `home` and return when it has answered `select 1`.

    Raises Failure if it does not; then no process is left.
    """
    asked = access.settings(options.conf)
    server = Server(
        *(0, host, port, __version__, options.table_format, uuid.uuid4().hex),
        has_token=bool(asked),
        is_tls=options.conf.get(access.TLS, "").lower() == "true",
    )
    more = spark_settings.thrift(host, port, server.instance) | asked
    home.create()
    with contextlib.ExitStack() as descriptors:
        owned = directory.own(home)
        descriptors.callback(os.close, owned)
        check_free(host, port)
        launch = assemble(home, options, ansi=True, more=more)
        if server.has_token:
            access.make_token(home)
        log = directory.open_log(home)
        descriptors.callback(os.close, log)
        if "spark.jars.packages" in launch.settings:
            say(f"fetching {launch.settings['spark.jars.packages']} (Maven; cached afterwards)")
            launch = with_jars(launch, log)
        say(f"starting Spark {version('pyspark')} in {home.root}; log: {home.log}")
        driver = {
            "launch": launch.to_json(),
            "server": {k: v for k, v in dataclasses.asdict(server).items() if k != "pid"},
        }
        try:
            with child(
                "spark_cdc_udfs.server.driver", [], json.dumps(driver), home.root, log, [owned]
            ) as process:
                await_answer(dataclasses.replace(server, pid=process.pid), process, home)
        except BaseException:
            home.forget()
            raise
    say(f"ready: pid {process.pid} on {server.address}")


def check_free(host: str, port: int) -> None:
    """Raise Failure if no server can listen on `host` and `port`.

    A name can have several addresses. Java takes one of them and a client another, so none may be
    taken. An address that does not exist (IPv6 on a machine without it) is not an error.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise Failure(f"cannot listen on {host}, port {port}: {error.strerror}") from error
    tried = [
        bind_fault(family, kind, number, address) for family, kind, number, _, address in found
    ]
    faults = [fault for fault in tried if fault is not None]
    if any(fault.errno == errno.EADDRINUSE for fault in faults):
        raise Failure(f"port {port} on {host} is taken by another process: choose one with --port")
    if len(faults) == len(found):
        raise Failure(f"cannot listen on {host}, port {port}: {faults[0].strerror}")


def bind_fault(family: int, kind: int, protocol: int, address: Any) -> OSError | None:
    """Return why no server can listen on an address; None if one can."""
    try:
        with socket.socket(family, kind, protocol) as probe:
            # As Java does: connections of the last server that are not yet forgotten do not count.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        return error
    return None


def await_answer(server: Server, process: subprocess.Popen[str], home: Home) -> None:
    """Return when `server` has answered a client.

    Raises Failure if its process ends before that, or START_SECONDS pass.
    """
    end = time.monotonic() + START_SECONDS
    answer = ""
    while time.monotonic() < end:
        if process.poll() is not None:
            why = "it was stopped" if process.returncode == 0 else telling_line(home.log)
            raise Failure(f"the server died while it started: {why}; log: {home.log}")
        try:
            client.check(server, access.login(home, server))
            return
        except client.NoAnswer as error:
            answer = str(error)
        time.sleep(0.1)
    raise Failure(f"no answer within {START_SECONDS} s ({answer}); log: {home.log}")
