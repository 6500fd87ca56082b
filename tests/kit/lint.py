"""sqlfluff over the SQL that dbt has compiled."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kit.warehouse import ROOT

# Without Python's search for cycles, of which sqlfluff leaves few: that takes half of its time.
# Its own `--processes` would bring it back.
SQLFLUFF = (
    *(sys.executable, "-c"),
    "import gc; gc.disable(); from sqlfluff.cli.commands import cli; cli()",
    *("lint", "--config", ".sqlfluff"),
)


def lint(compiled: Path) -> list[str]:
    """Say what is wrong with the layout of the SQL that dbt has compiled, line by line."""
    paths = sorted(compiled.rglob("*.sql"), key=lambda path: path.stat().st_size)
    # sqlfluff is not asked for the end of a file, where dbt leaves no newline
    findings = [
        f"{path}: ends with blank space"
        for path in paths
        if path.read_text(encoding="utf-8") != path.read_text(encoding="utf-8").rstrip()
    ]

    def run(some: Sequence[Path]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*SQLFLUFF, *map(str, some)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    with ThreadPoolExecutor() as pool:
        for done in pool.map(run, filter(None, [paths[0::2], paths[1::2]])):
            if done.returncode:
                findings += done.stdout.splitlines()
    return findings
