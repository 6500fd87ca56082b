"""Look at a server and stop it: `spark-cdc-server status` and `stop`."""

from __future__ import annotations

import os
import signal

from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.server import access, client, directory
from spark_cdc_udfs.server.directory import Home, held
from spark_cdc_udfs.server.logs import say

STOP_SECONDS = 30

NOT_ANSWERING = 1
NOT_RUNNING = 3  # as the status of a stopped service in the Linux Standard Base


def status(home: Home) -> int:
    """Print one line about the server of `home` and return the exit status. Raises Failure."""
    home.check()
    server = home.read()
    log = f"; log: {home.log}" if home.log.exists() else ""
    if not held(home.lock):
        ended = f" (pid {server.pid} ended without being stopped)" if server else ""
        say(f"no server runs in {home.root}{ended}{log}")
        return NOT_RUNNING
    if server is None:
        say(f"a server is being started in {home.root}, or a session runs there{log}")
        return NOT_ANSWERING
    line = f"pid {server.pid} on {server.address}, version {server.version}, {server.format}"
    try:
        client.check(server, access.login(home, server))
    except client.NoAnswer as error:
        say(f"not answering: {line} ({error}){log}")
        return NOT_ANSWERING
    say(f"running: {line}{log}")
    return 0


def stop(home: Home) -> None:
    """Stop the server of `home`, if there is one, and return when none of its processes is left.

    Raises Failure if it belongs to another user, or does not end.
    """

    def alive() -> bool:
        return held(home.lock) or held(home.log)

    def gone() -> bool:
        # Another server may have been started in the directory since.
        return not alive() or home.read() not in (server, None)

    home.check()
    if not alive():
        say(f"no server runs in {home.root}")
        return
    # A new start removes the number of the last server at once, and soon writes its own.
    directory.wait_for(lambda: not alive(), 0.2)
    directory.wait_for(lambda: home.read() is not None or not alive(), 2)
    server = home.read()
    if server is None:
        raise Failure(f"{home.root} is in use by a start or a session: end that one itself")
    try:
        if held(home.lock):
            os.kill(server.pid, signal.SIGTERM)
            directory.wait_for(gone, STOP_SECONDS)
        if alive() and home.read() == server:
            directory.signal_group(server.pid, signal.SIGKILL, alive)
    except ProcessLookupError:
        pass
    except PermissionError as error:
        raise Failure(f"pid {server.pid} belongs to another user") from error
    if not directory.wait_for(gone, 10):
        raise Failure(f"pid {server.pid} does not end; log: {home.log}")
    owned = directory.take(home.lock)
    if owned is not None:
        home.forget()
        os.close(owned)
    say(f"stopped: pid {server.pid} on {server.address}")
