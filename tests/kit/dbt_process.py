"""dbt in a process that has already run it: the tests run it some eighty times."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from multiprocessing import forkserver, get_context
from pathlib import Path
from unittest import mock

_FORKED = get_context("forkserver")


@cache
def _start() -> None:
    """Start the process from which all others are forked; it imports dbt with these modules."""
    forkserver.set_forkserver_preload(["kit.dbt_process", "kit.warm_dbt"])
    # it is not told where this process finds modules
    with mock.patch.dict(os.environ, PYTHONPATH=str(Path(__file__).parents[1])):
        forkserver.ensure_running()


def run_dbt(arguments: Sequence[str], project: Path, env: Mapping[str, str], output: Path) -> int:
    """Run dbt in `project` with this environment, its output in a file; give its exit code."""
    _start()
    process = _FORKED.Process(target=_dbt, args=(arguments, project, dict(env), output))
    process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def _dbt(arguments: Sequence[str], project: Path, env: Mapping[str, str], output: Path) -> None:
    from dbt.cli.main import cli

    from kit.closing import tolerate_dropped_views

    tolerate_dropped_views()
    os.chdir(project)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["dbt", *arguments]  # dbt looks for deprecated options there
    with output.open("w") as file:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(file.fileno(), stream.fileno())
    cli(list(arguments), prog_name="dbt")
