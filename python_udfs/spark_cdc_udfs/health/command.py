"""The command line of `spark-cdc health`."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.health import rows, summary
from spark_cdc_udfs.health.page import page
from spark_cdc_udfs.health.relation import DEFAULT_MODEL, relation_of
from spark_cdc_udfs.health.severity import Limits
from spark_cdc_udfs.health.texts import seconds_of
from spark_cdc_udfs.health.view import view
from spark_cdc_udfs.lake import options
from spark_cdc_udfs.lake.connection import Connect, connected
from spark_cdc_udfs.lake.queries import QueryFailed

RUNS = 60

DESCRIPTION = """\
Show which tables of a dbt project need a look, the worst first, from the model that calls the
macro spark_cdc.health: in a few lines, or as a page. See docs/health-page.md.
"""
EPILOG = (
    "exit status: 0 if it is done; 2 if the command could not run, with one line that says why."
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `health`."""
    command.add_argument("--html", type=Path, metavar="FILE", help="write a page to this file")
    command.add_argument(
        "--model",
        metavar="NAME",
        help="the model (default: the one that calls spark_cdc.health; if dbt has not read the"
        f" project yet: {DEFAULT_MODEL})",
    )
    command.add_argument(
        "--runs",
        type=_runs,
        default=RUNS,
        metavar="N",
        help="how many runs of each table are shown (default: %(default)s)",
    )
    _add_limit(command, "lag-warn", "6h", _duration, "a lag above it is worth a warning")
    _add_limit(command, "lag-bad", "1d", _duration, "a lag above it is bad")
    _add_limit(
        command,
        "quarantined-warn",
        "0",
        _percent,
        "a percentage of raw rows in quarantine; more are worth a warning",
    )
    _add_limit(command, "quarantined-bad", "1", _percent, "a percentage; more are bad")
    command.add_argument(
        "--at",
        type=_time,
        metavar="TIME",
        help="the time to which ages are measured, such as 2026-03-02T12:00:00Z (default: now)",
    )
    options.add_options(command)


def _add_limit(
    command: argparse.ArgumentParser,
    name: str,
    default: str,
    read: Callable[[str], float],
    told: str,
) -> None:
    kind = "DURATION" if read is _duration else "PERCENT"
    command.add_argument(
        f"--{name}",
        type=read,
        default=default,
        metavar=kind,
        help=f"{told} (default: %(default)s)",
    )


def _duration(text: str) -> int:
    try:
        return seconds_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{error}; for example: 90s, 15m, 6h, 2d") from error


def _time(text: str) -> int:
    try:
        at = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return int((at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp())
    except (ValueError, OverflowError) as error:
        raise argparse.ArgumentTypeError(
            f"{text} is no time; for example: 2026-03-02T12:00:00Z"
        ) from error


def _percent(text: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"{text} is no percentage; for example: 0.5")
    return value / 100


def _runs(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:6]) <= 1000:
        raise argparse.ArgumentTypeError(f"{text} is no number from 1 to 1000")
    return int(text)


def limits_of(arguments: argparse.Namespace) -> Limits:
    """Give the limits of the command line. Raises Failure if they contradict each other."""
    limits = Limits(
        arguments.lag_warn,
        arguments.lag_bad,
        arguments.quarantined_warn,
        arguments.quarantined_bad,
    )
    if limits.lag_warn > limits.lag_bad:
        raise Failure("--lag-warn is above --lag-bad; for example: --lag-warn 6h --lag-bad 1d")
    if limits.quarantined_warn > limits.quarantined_bad:
        raise Failure(
            "--quarantined-warn is above --quarantined-bad; for example: --quarantined-warn 0"
            " --quarantined-bad 1"
        )
    return limits


def run(
    arguments: argparse.Namespace,
    connect: Connect = connected,
    clock: Callable[[], float] = time.time,
) -> int:
    """Run the command and return the exit status. Raises Failure."""
    limits = limits_of(arguments)
    folder: Path = arguments.project_dir
    with connect(arguments) as lake:
        relation = relation_of(folder, arguments.model, lake.schema)
        try:
            tables = rows.tables(lake, relation, arguments.runs)
        except QueryFailed as error:
            raise Failure(f"{relation} cannot be read: {error}; `dbt build` makes it") from error
    now = int(clock()) if arguments.at is None else arguments.at
    shown = relation.replace("`", "")
    print(summary.headline(tables, limits, shown, now))
    if arguments.html is None:
        for line in summary.lines(tables, limits):
            print(line)
        return 0
    write(arguments.html, page(view(tables, limits, shown, now)))
    print(f"written: {arguments.html}")
    return 0


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all. Raises Failure."""
    if not path.name or path.is_dir():
        raise Failure(f"{path} is a folder; for example: --html health.html")
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        # raw rows are in it: only for this user
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(text.encode())
        part.replace(path)
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
