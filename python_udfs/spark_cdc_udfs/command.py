"""`spark-cdc`: the console command of this package."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence

from spark_cdc_udfs.errors import Failure, printable
from spark_cdc_udfs.generate import command as generate
from spark_cdc_udfs.health import command as health
from spark_cdc_udfs.server import command as server
from spark_cdc_udfs.version import __version__

COULD_NOT_RUN = 2
RUN: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "generate": generate.run,
    "health": health.run,
}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    main = server.Parser(prog="spark-cdc", description="Tools of the dbt package spark_cdc.")
    main.add_argument("--version", action="version", version=__version__)
    commands = main.add_subparsers(dest="command", required=True, metavar="generate|health|server")
    generate.add_options(
        commands.add_parser(
            "generate",
            help="write the models of a dbt project from the tables of a landing",
            description=generate.DESCRIPTION,
            epilog=generate.EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
    )
    health.add_options(
        commands.add_parser(
            "health",
            help="show which tables need a look, in a few lines or as a page",
            description=health.DESCRIPTION,
            epilog=health.EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
    )
    commands.add_parser("server", help="start, look at and stop a Spark Thrift server")
    return main


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["server"]:
        return server.main(given[1:], prog="spark-cdc server")
    commands = parser()
    arguments = commands.parse_args(given)
    try:
        return RUN[arguments.command](arguments)
    except Failure as error:
        print(f"spark-cdc {arguments.command}: {printable(str(error))}", file=sys.stderr)
        return COULD_NOT_RUN


if __name__ == "__main__":
    sys.exit(main())
