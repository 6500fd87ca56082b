"""`spark-cdc-server`: start, look at and stop a Spark Thrift server that belongs to a directory."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from types import FrameType
from typing import Any, NoReturn

from spark_cdc_udfs import client, directory
from spark_cdc_udfs import settings as spark_settings
from spark_cdc_udfs.children import INTERRUPTS, child
from spark_cdc_udfs.directory import Home, Server, held
from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.logs import telling_line
from spark_cdc_udfs.sessions import Options, assemble, with_jars
from spark_cdc_udfs.version import __version__

START_SECONDS = 300
STOP_SECONDS = 30

NOT_ANSWERING = 1
NOT_RUNNING = 3  # as the status of a stopped service in the Linux Standard Base

EPILOG = """\
The server asks for no password: whoever reaches its port can do on this machine what you can.

--conf wins over every setting made here; spark.jars and spark.sql.extensions are added to what is
there. spark.jars.packages is fetched before the start and put on the class path. Paths in settings
are absolute.

A metastore of your own takes user and password from the environment:
  SPARK_CDC_METASTORE_USER=hive SPARK_CDC_METASTORE_PASSWORD=... spark-cdc-server start \\
    --metastore-url jdbc:postgresql://db.example.org/metastore
The JDBC driver of PostgreSQL is fetched. That of another database, or one as a file, you name:
  --conf spark.jars.packages=GROUP:ARTIFACT:VERSION
  --conf spark.driver.extraClassPath=/path/to/driver.jar

On a cluster (--master spark://...) the package of this server is sent to the executors. Their
Python, python3 or what --conf spark.pyspark.python=... names, is of the same minor version as this
one and has pandas and pyarrow. The tables lie where all machines can read and write them:
  --conf spark.sql.warehouse.dir=hdfs://...
"""


class Interrupted(BaseException):
    """A signal asked this command to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


# Start


def start(home: Home, host: str, port: int, options: Options) -> None:
    """Start a server in `home` and return when it has answered `select 1`.

    Raises Failure if it does not; then no process is left.
    """
    server = Server(0, host, port, __version__, options.table_format, uuid.uuid4().hex)
    more = spark_settings.thrift(host, port, server.instance)
    home.create()
    with contextlib.ExitStack() as descriptors:
        owned = directory.own(home)
        descriptors.callback(os.close, owned)
        check_free(host, port)
        launch = assemble(home, options, ansi=True, more=more)
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
                "spark_cdc_udfs.driver", [], json.dumps(driver), home.root, log, [owned]
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
            client.check(server)
            return
        except client.NoAnswer as error:
            answer = str(error)
        time.sleep(0.1)
    raise Failure(f"no answer within {START_SECONDS} s ({answer}); log: {home.log}")


# Status


def status(home: Home) -> int:
    """Print one line about the server of `home` and return the exit status."""
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
        client.check(server)
    except client.NoAnswer as error:
        say(f"not answering: {line} ({error}){log}")
        return NOT_ANSWERING
    say(f"running: {line}{log}")
    return 0


# Stop


def stop(home: Home) -> None:
    """Stop the server of `home`, if there is one, and return when none of its processes is left.

    Raises Failure if it belongs to another user, or does not end.
    """

    def alive() -> bool:
        return held(home.lock) or held(home.log)

    def gone() -> bool:
        # Another server may have been started in the directory since.
        return not alive() or home.read() not in (server, None)

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


# Command line


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Report the error in the arguments and end with status 2."""
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def port_number(text: str) -> int:
    """Read a TCP port."""
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: give a number from 1 to 65535")
    return int(text)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    main = Parser(
        prog="spark-cdc-server", description="A Spark Thrift server that belongs to a directory."
    )
    main.add_argument("--version", action="version", version=__version__)
    commands = main.add_subparsers(dest="command", required=True, metavar="start|status|stop")
    helps = {
        "start": "start it; returns when a client's query was answered",
        "status": "say whether it runs and answers, and where its log is",
        "stop": "stop it",
    }
    for name, words in helps.items():
        command = commands.add_parser(
            name,
            help=words,
            description=words[0].upper() + words[1:] + ".",
            epilog=EPILOG if name == "start" else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_argument(
            "--dir",
            type=Home.at,
            default=Home.at(".spark-cdc"),
            metavar="DIR",
            help="where all that belongs to it lies (default: .spark-cdc)",
        )
        if name == "start":
            add_start_options(command)
    return main


def add_start_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `start`."""
    command.add_argument(
        "--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)"
    )
    command.add_argument(
        "--port", type=port_number, default=10000, help="the port to listen on (%(default)s)"
    )
    command.add_argument(
        "--master", default="local[*]", help="Spark's master (default: %(default)s)"
    )
    command.add_argument(
        "--format",
        choices=list(spark_settings.FORMATS),
        default="parquet",
        help="the table format to have beside Spark's own (default: %(default)s, needs no jar)",
    )
    command.add_argument(
        "--metastore-url",
        metavar="JDBC_URL",
        help="a database for the metastore (default: an embedded one in DIR)",
    )
    command.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of Spark's; may be given more than once",
    )


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Raise Interrupted, once, in the block when a signal asks this process to end.

    A signal that it was told to ignore (`nohup`) stays ignored.
    """

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        for one in INTERRUPTS:
            signal.signal(one, signal.SIG_IGN)
        raise Interrupted(number)

    before = {number: signal.getsignal(number) for number in INTERRUPTS}
    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    home = arguments.dir
    if arguments.command == "status":
        return status(home)
    if arguments.command == "stop":
        stop(home)
        return 0
    if not client.is_loopback(arguments.host):
        say(f"note: no password protects {arguments.host}, and its clients can do what you can")
    conf = spark_settings.parse_conf(arguments.conf)
    options = Options(arguments.master, arguments.format, arguments.metastore_url, conf)
    start(home, arguments.host, arguments.port, options)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    commands = parser()
    arguments = commands.parse_args(argv)
    os.umask(0o077)
    try:
        with interruptible():
            return run(arguments)
    except Failure as error:
        why, code = str(error), 1
    except OSError as error:
        why, code = str(error), 1
    except Interrupted as error:
        why, code = "interrupted: no server was started", 128 + error.number
    print(f"{commands.prog}: {why}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
