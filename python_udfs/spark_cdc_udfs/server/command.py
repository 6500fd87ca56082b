"""The command line of `spark-cdc-server`, also named `spark-cdc server`."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import NoReturn

from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.server import access
from spark_cdc_udfs.server import settings as spark_settings
from spark_cdc_udfs.server.children import INTERRUPTS
from spark_cdc_udfs.server.directory import Home
from spark_cdc_udfs.server.sessions import Options
from spark_cdc_udfs.server.starting import start
from spark_cdc_udfs.server.stopping import status, stop
from spark_cdc_udfs.version import __version__

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


def parser(prog: str = "spark-cdc-server") -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    main = Parser(prog=prog, description="A Spark Thrift server that belongs to a directory.")
    main.add_argument("--version", action="version", version=__version__)
    commands = main.add_subparsers(dest="command", required=True, metavar="start|status|env|stop")
    helps = {
        "start": "start it; returns when a client's query was answered",
        "status": "say whether it runs and answers, and where its log is",
        "env": 'print the variables by which dbt and other clients find it: eval "$(…)"',
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
    if arguments.command == "env":
        print(*access.variables(home), sep="\n")
        return 0
    conf = spark_settings.parse_conf(arguments.conf)
    options = Options(arguments.master, arguments.format, arguments.metastore_url, conf)
    start(home, arguments.host, arguments.port, options)
    return 0


def main(argv: Sequence[str] | None = None, prog: str = "spark-cdc-server") -> int:
    """Run the command line and return the exit status."""
    commands = parser(prog)
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
        why, code = "interrupted", 128 + error.number
        if arguments.command == "start":
            why += ": no server was started"
    print(f"{commands.prog}: {why}", file=sys.stderr)
    return code
