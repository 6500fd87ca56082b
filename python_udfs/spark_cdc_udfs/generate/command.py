"""The command line of `spark-cdc generate`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from spark_cdc_udfs.errors import printable
from spark_cdc_udfs.generate import files
from spark_cdc_udfs.generate.clashes import check_names
from spark_cdc_udfs.generate.config import NAME, read_config
from spark_cdc_udfs.generate.files import CREATE, KEEP, REMOVE, UPDATE, Change
from spark_cdc_udfs.generate.project import Project, check_folders, generate, model_paths
from spark_cdc_udfs.lake import options
from spark_cdc_udfs.lake.connection import Connect, connected

NOT_DONE = 1

DESCRIPTION = f"""\
Write the models, their YAML and the sources of a dbt project from the tables of a landing, which
{NAME} describes. A file that was edited is never written again. See docs/generate.md.
"""
EPILOG = """\
exit status: 0 if all is done; 1 if a table has no key, or with --check if something would change;
2 if the command could not run.
"""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `generate`."""
    command.add_argument(
        "--dry-run", action="store_true", help="show what would change, and write nothing"
    )
    command.add_argument(
        "--check",
        action="store_true",
        help="as --dry-run; the exit status is 1 if something would change",
    )
    options.add_options(command)


def run(arguments: argparse.Namespace, connect: Connect = connected) -> int:
    """Run the command and return the exit status. Raises Failure."""
    folder: Path = arguments.project_dir
    folders = model_paths(folder)
    config = read_config(folder / NAME)
    check_folders(config, folder, folders)
    with connect(arguments) as lake:
        project = generate(config, lake, folder)
    changes = files.plan(folder, project.files, folders, project.protected)
    check_names(folder, folders, project.files, changes)
    is_dry = arguments.dry_run or arguments.check
    for text in told(project, changes, is_dry):
        for line in text.split("\n"):
            print(printable(line))
    if not is_dry:
        files.apply(folder, changes)
    would_change = any(change.what != KEEP for change in changes)
    return NOT_DONE if project.problems or (arguments.check and would_change) else 0


def told(project: Project, changes: Iterable[Change], is_dry: bool) -> Iterable[str]:
    """Say what is known of each table, and what happens to each file."""
    changes = list(changes)
    for report in project.reports:
        name = f"{report.source.name}.{report.name}"
        yield (
            f"{name}: not written: {report.problem}" if report.problem else f"{name}: {report.key}"
        )
        yield from (f"  {note}" for note in report.notes)
    yield from project.notes
    whole = (change for change in changes if change.what in (CREATE, REMOVE))
    ordered = sorted(whole, key=lambda one: (one.what, one.path.parent, one.path.name))
    for (what, place), some in groupby(ordered, lambda one: (one.what, one.path.parent)):
        yield f"{what} {place}: {', '.join(one.path.name for one in some)}"
    for change in changes:
        if change.what == UPDATE:
            yield f"update {change.path}"
            if is_dry:
                yield change.difference()
        elif change.what == KEEP:
            yield f"keep {change.path}: {change.why}. The difference to what would be written:"
            yield change.difference()
    yield summary(project, changes, is_dry)


def summary(project: Project, changes: Iterable[Change], is_dry: bool) -> str:
    """Say in one line what was done, or would be."""
    whats = [change.what for change in changes]
    done = (
        f"{whats.count(what)} {word}"
        for what, word in (
            (CREATE, "new"),
            (UPDATE, "changed"),
            (REMOVE, "removed"),
            (KEEP, "kept"),
        )
    )
    line = f"{len(project.reports) - len(project.problems)} tables; files: {', '.join(done)}"
    if project.problems:
        line += f"; {len(project.problems)} tables not written"
    return f"{line}; nothing was written" if is_dry else line
