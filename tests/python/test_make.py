"""`make` and what it calls, where the machine is not as one would wish: without Spark."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT


def program(path: Path, *lines: str, shell: str = "/bin/sh") -> None:
    """Write a program for the shell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([f"#!{shell}", *lines, ""]))
    path.chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with what the tests below need of one."""
    made = tmp_path / "checkout"
    shutil.copytree(ROOT / "scripts", made / "scripts")
    shutil.copy(ROOT / "Makefile", made)
    (made / "python_udfs").mkdir()
    (made / "python_udfs" / "pyproject.toml").touch()
    (made / "requirements.lock").touch()
    return made


def run(checkout: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command there, with the programs in `bin` before all others."""
    path = f"{checkout.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    # `make test` has variables for the makes that it calls, and these are none of them.
    others = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    return subprocess.run(
        command,
        cwd=checkout,
        env={**others, "PATH": path, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def python_of(checkout: Path, version: tuple[int, int]) -> str:
    """A Python that says it is of this version; the environment it makes has a pip that works."""
    path = checkout.parent / "bin" / "a-python"
    pretend = f"import sys; sys.version_info = {(*version, 0)}; exec(sys.argv[1])"
    program(
        path,
        f"""if [ "$1" = -c ]; then exec '{sys.executable}' -c '{pretend}' "$2"; fi""",
        'mkdir -p "$3/bin" && echo "#!/bin/sh" >"$3/bin/pip" && chmod +x "$3/bin/pip"',
    )
    return str(path)


# The environment


@pytest.mark.parametrize("version", [(3, 9), (3, 14)])
def test_python_that_does_not_do_is_refused(checkout: Path, version: tuple[int, int]) -> None:
    done = run(checkout, "make", "env", f"PYTHON={python_of(checkout, version)}")
    assert done.returncode != 0
    assert "Python 3.10 to 3.13 is needed; give it as PYTHON=python3.13 make env" in done.stderr
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize("version", [(3, 10), (3, 13)])
def test_python_that_does(checkout: Path, version: tuple[int, int]) -> None:
    done = run(checkout, "make", "env", f"PYTHON={python_of(checkout, version)}")
    assert done.returncode == 0, done.stderr
    assert (checkout / ".venv" / ".made").exists()


def test_environment_that_does_not_run_is_made_anew(checkout: Path) -> None:
    python = f"PYTHON={python_of(checkout, (3, 13))}"
    assert run(checkout, "make", "env", python).returncode == 0
    (checkout / ".venv" / "kept").touch()
    assert run(checkout, "make", "env", python).stdout == ""
    assert (checkout / ".venv" / "kept").exists()
    program(checkout / ".venv" / "bin" / "pip", shell="/moved/python")
    done = run(checkout, "make", "env", python)
    assert done.returncode == 0, done.stderr
    assert "does not run any more" in done.stdout
    assert (checkout / ".venv" / ".made").exists()
    assert not (checkout / ".venv" / "kept").exists()


@pytest.mark.parametrize("shell", ["/moved/python", "/bin/false"])
def test_clean_goes_on_where_the_command_cannot_run(checkout: Path, shell: str) -> None:
    program(checkout / ".venv" / "bin" / "spark-cdc-server", shell=shell)
    (checkout / ".spark-cdc").mkdir()
    done = run(checkout, "make", "clean")
    assert done.returncode == 0, done.stderr
    assert "a server that still runs is not stopped" in done.stdout
    assert not (checkout / ".venv").exists()
    assert not (checkout / ".spark-cdc").exists()


def test_clean_ends_where_the_server_is_not_stopped(checkout: Path) -> None:
    does_not_stop = 'if [ "$1" = stop ]; then echo "pid 1 does not end" >&2; exit 1; fi'
    program(checkout / ".venv" / "bin" / "spark-cdc-server", does_not_stop)
    done = run(checkout, "make", "clean")
    assert done.returncode != 0
    assert "pid 1 does not end" in done.stderr
    assert (checkout / ".venv").exists()


def test_clean_where_nothing_was_made(checkout: Path) -> None:
    done = run(checkout, "make", "clean")
    assert (done.returncode, done.stderr) == (0, "")
    assert "not stopped" not in done.stdout
