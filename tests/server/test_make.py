"""`make` and its scripts on machines that lack something: without Spark."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from kit.warehouse import ROOT


def program(path: Path, *lines: str, shell: str = "/bin/sh") -> None:
    """Write a program for the shell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([f"#!{shell}", *lines, ""]))
    path.chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the files that the tests below need."""
    made = tmp_path / "checkout"
    shutil.copytree(ROOT / "scripts", made / "scripts")
    shutil.copy(ROOT / "Makefile", made)
    (made / "python_udfs").mkdir()
    (made / "python_udfs" / "pyproject.toml").touch()
    (made / "requirements.lock").touch()
    return made


def run(checkout: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command there, with the programs in `bin` first on PATH."""
    path = f"{checkout.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    # `make test` sets variables for the makes that it calls; these tests run without them.
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
    """A Python that claims this version; the environment that it makes has a pip that works."""
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
def test_unsuitable_python_is_refused(checkout: Path, version: tuple[int, int]) -> None:
    done = run(checkout, "make", "env", f"PYTHON={python_of(checkout, version)}")
    assert done.returncode != 0
    assert "Python 3.10 to 3.13 is needed; give it as PYTHON=python3.13 make env" in done.stderr
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize("version", [(3, 10), (3, 13)])
def test_suitable_python_is_accepted(checkout: Path, version: tuple[int, int]) -> None:
    done = run(checkout, "make", "env", f"PYTHON={python_of(checkout, version)}")
    assert done.returncode == 0, done.stderr
    assert (checkout / ".venv" / ".made").exists()


def test_environment_that_does_not_run_is_created_again(checkout: Path) -> None:
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
def test_clean_continues_if_the_command_cannot_run(checkout: Path, shell: str) -> None:
    program(checkout / ".venv" / "bin" / "spark-cdc-server", shell=shell)
    (checkout / ".spark-cdc").mkdir()
    done = run(checkout, "make", "clean")
    assert done.returncode == 0, done.stderr
    assert "a server that still runs is not stopped" in done.stdout
    assert not (checkout / ".venv").exists()
    assert not (checkout / ".spark-cdc").exists()


def test_clean_ends_if_the_server_is_not_stopped(checkout: Path) -> None:
    does_not_stop = 'if [ "$1" = stop ]; then echo "pid 1 does not end" >&2; exit 1; fi'
    program(checkout / ".venv" / "bin" / "spark-cdc-server", does_not_stop)
    done = run(checkout, "make", "clean")
    assert done.returncode != 0
    assert "pid 1 does not end" in done.stderr
    assert (checkout / ".venv").exists()


def test_clean_stops_the_server_of_make_check(checkout: Path) -> None:
    program(checkout / ".venv" / "bin" / "spark-cdc-server", 'echo "$@" >>told')
    (checkout / ".spark-cdc-check").mkdir()
    done = run(checkout, "make", "clean")
    assert done.returncode == 0, done.stderr
    told = (checkout / "told").read_text().splitlines()
    assert told[-2:] == ["stop", "stop --dir .spark-cdc-check/parquet/server"]
    assert not (checkout / ".spark-cdc-check").exists()


def test_clean_before_anything_was_made(checkout: Path) -> None:
    done = run(checkout, "make", "clean")
    assert (done.returncode, done.stderr) == (0, "")
    assert "not stopped" not in done.stdout


# Java and Chromium


def debian(checkout: Path, package: str, user: int = 0) -> Path:
    """A machine on which apt has only this package; gives the file with the log of apt.

    The Python has a package of ours that finds a Java when the package is installed.
    """
    told = checkout.parent / "told"
    bin = checkout.parent / "bin"
    program(bin / "id", f"echo {user}")
    program(bin / "python", f"exec '{sys.executable}' \"$@\"")
    program(
        bin / "apt-get",
        f'echo "$DEBIAN_FRONTEND $* $(cat)" >>"{told}"',
        'case "$*" in',
        "  update*) ;;",
        f"  *{package}) ;;",
        '  *) echo "E: no candidate" >&2; exit 100 ;;',
        "esac",
    )
    ours = checkout.parent / "ours" / "spark_cdc_udfs"
    (ours / "server").mkdir(parents=True)
    (ours / "__init__.py").touch()
    (ours / "server" / "__init__.py").touch()
    (ours / "errors.py").write_text("class Failure(Exception): pass\n")
    (ours / "server" / "java.py").write_text(
        "from pathlib import Path\n"
        "from spark_cdc_udfs.errors import Failure\n"
        "def find_java(environ):\n"
        f"    told = Path({str(told)!r})\n"
        "    if not told.exists() or 'install -y' not in told.read_text():\n"
        "        raise Failure('no Java here: install one')\n"
    )
    return told


def java(checkout: Path) -> subprocess.CompletedProcess[str]:
    """Make sure of Java on that machine."""
    return run(checkout, "scripts/java", PYTHONPATH=str(checkout.parent / "ours"))


@pytest.mark.parametrize("package", ["openjdk-21-jre-headless", "openjdk-17-jre-headless"])
def test_java_is_installed_if_it_is_missing(checkout: Path, package: str) -> None:
    told = debian(checkout, package)
    done = java(checkout)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"== installing Java ({package})\n"
    last = f"noninteractive install -y -qq --no-install-recommends {package} "
    assert told.read_text().splitlines()[-1] == last
    assert java(checkout).stdout == ""


@pytest.mark.parametrize(("package", "user"), [("openjdk-11-jre-headless", 0), ("any", 1000)])
def test_java_that_cannot_be_installed_is_asked_for(
    checkout: Path, package: str, user: int
) -> None:
    told = debian(checkout, package, user)
    done = java(checkout)
    assert done.returncode != 0
    assert done.stderr == "no Java here: install one\n"
    assert not told.exists() or "install -y" not in told.read_text()


def test_package_that_is_broken_installs_no_java(checkout: Path) -> None:
    told = debian(checkout, "openjdk-21-jre-headless")
    (checkout.parent / "ours" / "spark_cdc_udfs" / "errors.py").write_text("import no_such_module")
    done = java(checkout)
    assert done.returncode != 0
    assert "No module named 'no_such_module'" in done.stderr
    assert not told.exists()


def chromium(checkout: Path, package: str = "chromium", user: int = 0) -> tuple[Path, str, str]:
    """Make sure of Chromium on a machine without it; give the log of apt, and what was said."""
    told = debian(checkout, package, user)
    bin = checkout.parent / "bin"
    for name in ("bash", "cat"):
        (bin / name).symlink_to(str(shutil.which(name)))
    done = run(checkout, "scripts/chromium", PATH=str(bin))
    assert done.returncode == 0
    return told, done.stdout, done.stderr


def test_chromium_is_installed_if_it_is_missing(checkout: Path) -> None:
    told, output, errors = chromium(checkout)
    assert (output, errors) == ("== installing Chromium (Debian's chromium)\n", "")
    last = "noninteractive install -y -qq --no-install-recommends chromium "
    assert told.read_text().splitlines()[-1] == last


@pytest.mark.parametrize(("package", "user"), [("firefox", 0), ("chromium", 1000)])
def test_chromium_that_cannot_be_installed_is_asked_for(
    checkout: Path, package: str, user: int
) -> None:
    told, _, errors = chromium(checkout, package, user)
    assert "are skipped (Debian, Ubuntu: sudo apt-get install chromium)" in errors
    assert told.exists() == (user == 0)


def test_chromium_that_is_there_is_not_installed(checkout: Path) -> None:
    program(checkout.parent / "bin" / "chromium")
    told, output, errors = chromium(checkout)
    assert (told.exists(), output, errors) == (False, "", "")


def test_other_seeds_run_the_tests_of_generated_databases() -> None:
    """Without names `make test-all` would run all tests once more for each seed."""
    done = run(ROOT, "make", "--dry-run", "test-all")
    (line,) = [one for one in done.stdout.splitlines() if "SPARK_CDC_SEED=" in one]
    named = {word for word in line.split() if word.startswith("tests/")}
    laws = {f"tests/laws/test_{name}.py" for name in ("workloads", "increments")}
    assert laws | {"tests/incremental/test_crashes.py"} <= named
    assert all("SEED" in (ROOT / name).read_text(encoding="utf-8") for name in named)
