"""`make` and its scripts on machines that lack something: without Spark."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kit.warehouse import ROOT, free_port

WAITS = "touch begun; while [ ! -e go ]; do sleep 0.05; done"
# What dbt leaves of the documentation.
DOCUMENTED = ("mkdir -p target", "touch target/index.html target/manifest.json target/catalog.json")


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


def environment(checkout: Path, **variables: str) -> dict[str, str]:
    """The environment of a user, with the programs in `bin` first on PATH."""
    path = f"{checkout.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    # `make test` sets variables for the makes that it calls; these tests run without them.
    others = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    return {**others, "PATH": path, **variables}


def run(checkout: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command there."""
    return subprocess.run(
        command,
        cwd=checkout,
        env=environment(checkout, **variables),
        capture_output=True,
        text=True,
        check=False,
    )


@contextlib.contextmanager
def begun(checkout: Path, *command: str) -> Iterator[subprocess.Popen[str]]:
    """A command that runs until `go` exists, in a process group of its own as in a terminal."""
    for file in ("begun", "go"):
        (checkout / file).unlink(missing_ok=True)
    # A shell that runs the tests in the background makes them ignore SIGINT, and the command too.
    ignored = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        command,
        cwd=checkout,
        env=environment(checkout),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    signal.signal(signal.SIGINT, ignored)
    try:
        end = time.monotonic() + 60
        while not (checkout / "begun").exists() and process.poll() is None:
            assert time.monotonic() < end
            time.sleep(0.02)
        assert process.poll() is None, process.communicate()
        yield process
    finally:
        (checkout / "go").touch()
        process.communicate(timeout=60)


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """The only line on standard error of a make that failed, except for the line of make itself."""
    assert done.returncode != 0
    line, of_make = done.stderr.splitlines()
    assert of_make.startswith("make: ***")
    return line


def python_of(
    checkout: Path, version: tuple[int, int] = (3, 13), without: str = "", pip: tuple[str, ...] = ()
) -> str:
    """A Python that claims this version, as an argument of make.

    It has no module `without`. The environments that it makes have a pip of these lines.
    """
    path = checkout.parent / "bin" / "a-python"
    pretend = (
        f"import sys; sys.version_info = {(*version, 0)}; sys.modules[{without!r}] = None;"
        "sys.argv.pop(0); exec(sys.argv[0])"
    )
    program(checkout.parent / "bin" / "a-pip", *pip)
    program(
        path,
        'case "$1" in',
        f'-c) shift; exec "{sys.executable}" -c {shlex.quote(pretend)} "$@" ;;',
        '-m) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;',
        f"-I) cp '{checkout.parent / 'bin' / 'a-pip'}' .venv/bin/pip ;;",
        "esac",
    )
    return f"PYTHON={path}"


# The environment


@pytest.mark.parametrize("version", [(3, 9), (3, 14)])
def test_unsuitable_python_is_refused(checkout: Path, version: tuple[int, int]) -> None:
    said = one_line(run(checkout, "make", "demo", python_of(checkout, version)))
    assert f"a-python is Python 3.{version[1]}: install Python 3.10 to 3.13 and name it" in said
    assert said.endswith("as in make env PYTHON=python3.13")
    assert not (checkout / ".venv").exists()
    assert run(checkout, "make", "env", python_of(checkout)).returncode == 0


def test_missing_python_is_asked_for(checkout: Path) -> None:
    said = one_line(run(checkout, "make", "demo", "PYTHON=no-python"))
    assert said.startswith("no-python is not found, or does not run: install Python 3.10 to 3.13")


@pytest.mark.parametrize("without", ["ensurepip", "venv"])
def test_python_without_venv_is_refused(checkout: Path, without: str) -> None:
    said = one_line(run(checkout, "make", "demo", python_of(checkout, without=without)))
    assert "a-python cannot create environments: install venv for it" in said
    assert "apt-get install python3-venv" in said
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize("version", [(3, 10), (3, 13)])
def test_suitable_python_is_accepted(checkout: Path, version: tuple[int, int]) -> None:
    done = run(checkout, "make", "env", python_of(checkout, version))
    assert (done.returncode, done.stderr) == (0, "")
    assert (checkout / ".venv" / ".made").exists()


def test_environment_that_does_not_run_is_created_again(checkout: Path) -> None:
    python = python_of(checkout)
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


def test_packages_are_installed_again_after_a_change_of_their_versions(checkout: Path) -> None:
    python = python_of(checkout, pip=("echo $* >>asked",))
    assert run(checkout, "make", "env", python).returncode == 0
    (checkout / ".venv" / "kept").touch()
    os.utime(checkout / ".venv" / ".made", (0, 0))
    # Another Python is not asked for: the environment has its own.
    assert run(checkout, "make", "env", "PYTHON=no-python").returncode == 0
    installs = [
        line for line in (checkout / "asked").read_text().splitlines() if "--version" not in line
    ]
    assert len(installs) == 4 and installs[:2] == installs[2:]
    assert (checkout / ".venv" / "kept").exists()
    assert run(checkout, "make", "env", "PYTHON=no-python").stdout == ""


def test_no_network_gets_one_line(checkout: Path) -> None:
    pip = f"exec '{sys.executable}' -m pip \"$@\""
    package = f"no-such-package==1 --hash=sha256:{'0' * 64}\n"
    (checkout / "requirements.lock").write_text(package)
    index = f"http://127.0.0.1:{free_port()}/simple"
    done = run(
        checkout,
        *("make", "demo", python_of(checkout, pip=(pip,))),
        PIP_INDEX_URL=index,
        NO_PROXY="127.0.0.1",
    )
    said = one_line(done)
    assert said.startswith("pip cannot download: check the network")
    assert said.endswith("log: logs/env.log")
    log = (checkout / "logs" / "env.log").read_text()
    assert "No matching distribution found for no-such-package==1" in log
    assert 0 < log.count("Retrying") <= 2
    assert run(checkout, "make", "env", python_of(checkout)).returncode == 0


@pytest.mark.parametrize("log_is_written", [True, False])
def test_full_disk_gets_one_line(checkout: Path, log_is_written: bool) -> None:
    if not log_is_written:
        if not Path("/dev/full").exists():
            pytest.skip("needs /dev/full")
        (checkout / "logs").mkdir()
        (checkout / "logs" / "env.log").symlink_to("/dev/full")
    error = "ERROR: Could not install packages: [Errno 28] No space left on device"
    full = python_of(checkout, pip=(f"echo '{error}' >&2; exit 1",))
    said = one_line(run(checkout, "make", "demo", full))
    assert said.startswith("the disk is full: make room (2 GB here, 1 GB in ")
    assert not (checkout / ".venv").exists()
    assert run(checkout, "make", "env", python_of(checkout)).returncode == 0


def test_other_errors_of_pip_get_one_line(checkout: Path) -> None:
    says = "echo Collecting a; echo 'ERROR: no hash of a' >&2; echo 'hint: see above' >&2; exit 1"
    said = one_line(run(checkout, "make", "demo", python_of(checkout, pip=(says,))))
    assert said.startswith("the environment .venv was not made (ERROR: no hash of a): see logs/")
    log = (checkout / "logs" / "env.log").read_text()
    assert log == "Collecting a\nERROR: no hash of a\nhint: see above\n"
    assert run(checkout, "make", "env", python_of(checkout)).returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_environment_that_was_not_finished_is_created_again(
    checkout: Path, number: signal.Signals
) -> None:
    python = python_of(checkout, pip=("touch .venv/half", WAITS))
    with begun(checkout, "make", "env", python) as process:
        os.killpg(process.pid, number)
        _, said = process.communicate(timeout=60)
    assert process.returncode != 0
    if number != signal.SIGKILL:
        assert said.splitlines()[0] == "interrupted: run make env again"
    assert (checkout / ".venv" / "half").exists()
    done = run(checkout, "make", "env", python_of(checkout))
    assert (done.returncode, done.stderr) == (0, "")
    assert "is not finished" in done.stdout
    assert not (checkout / ".venv" / "half").exists()


# The demo


@pytest.fixture
def demo(checkout: Path) -> Path:
    """A checkout whose demo calls programs that only note in `told` that they were called.

    `state` has the exit status of `spark-cdc-server status`, and what it prints.
    """
    bin = checkout.parent / "bin"
    program(checkout / "scripts" / "java")
    program(bin / "dbt", *DOCUMENTED)
    program(bin / "spark-cdc")
    program(
        bin / "spark-cdc-server",
        'echo "$*" >>told; mkdir -p .spark-cdc',
        'if [ "$1" = status ]; then read -r status line <state; echo "$line"; exit "$status"; fi',
    )
    (checkout / "state").write_text("3 no server runs\n")
    return checkout


def told(demo: Path) -> list[str]:
    """What the server was told to do since the last call, without settings of Spark."""
    lines = (demo / "told").read_text().splitlines()
    (demo / "told").unlink()
    return [line.partition(" --conf ")[0] for line in lines]


@pytest.mark.parametrize("within", ["pip", "dbt"])
def test_second_demo_in_a_folder_is_refused(demo: Path, within: str) -> None:
    python = python_of(demo, pip=(WAITS,) if within == "pip" else ())
    if within == "dbt":
        program(demo.parent / "bin" / "dbt", WAITS, *DOCUMENTED)
    with begun(demo, "make", "demo", python) as first:
        for command in ("demo", "env") if within == "pip" else ("demo",):
            said = one_line(run(demo, "make", command, python))
            assert re.match(r"make demo \(pid \d+\) is at work in this folder: wait until ", said)
            assert said.endswith(f"then run make {command} again")
        (demo / "go").touch()
        _, errors = first.communicate(timeout=60)
    assert (first.returncode, errors) == (0, "")
    assert run(demo, "make", "demo", python).returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_demo_that_was_interrupted_runs_again(demo: Path, number: signal.Signals) -> None:
    python = python_of(demo)
    program(demo.parent / "bin" / "dbt", "trap '' INT", WAITS)
    with begun(demo, "make", "demo", python) as process:
        os.killpg(process.pid, number)
        _, said = process.communicate(timeout=60)
    assert process.returncode != 0
    if number != signal.SIGKILL:
        assert "interrupted: run make demo again" in said.splitlines()
    program(demo.parent / "bin" / "dbt", *DOCUMENTED)
    done = run(demo, "make", "demo", python)
    assert (done.returncode, done.stderr) == (0, "")


def test_port_in_use_gets_one_line(demo: Path) -> None:
    """The real server ends before it starts Spark."""
    server = demo.parent / "bin" / "spark-cdc-server"
    ours = server.read_text().splitlines()[1:]
    program(server, f"exec '{sys.executable}' -m spark_cdc_udfs.server \"$@\"")
    package = os.pathsep.join([str(ROOT / "python_udfs"), os.environ.get("PYTHONPATH", "")])
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        taken = f"SPARK_CDC_PORT={port}"
        done = run(demo, "make", "demo", python_of(demo), taken, PYTHONPATH=package)
    said = one_line(done)
    assert f"port {port} on 127.0.0.1 is taken by another process: choose a free one" in said
    assert said.endswith("as in make demo SPARK_CDC_PORT=10001")
    program(server, *ours)
    assert run(demo, "make", "demo", python_of(demo), taken).returncode == 0
    assert told(demo) == ["status", f"start --port {port} --format parquet", "env"]


def test_server_that_cannot_be_used_makes_room(demo: Path) -> None:
    port = free_port()
    start = f"start --port {port} --format parquet"
    server = f"pid 1 on 127.0.0.1:{port}, version 1, parquet; log: a file"
    for state, commands in {
        "3 no server runs": ["status", start, "env"],
        f"0 running: {server}": ["status", "env"],
        f"0 running: {server.replace('parquet', 'delta')}": ["status", "stop", start, "env"],
        f"0 running: {server.replace(str(port), '1')}": ["status", "stop", start, "env"],
        f"1 not answering: {server}": ["status", "stop", start, "env"],
    }.items():
        (demo / "state").write_text(f"{state}\n")
        done = run(demo, "make", "demo", python_of(demo), f"SPARK_CDC_PORT={port}")
        assert (done.returncode, done.stderr) == (0, "")
        assert told(demo) == commands, state


# Removing everything


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
    program(bin / "dpkg", f'echo "dpkg $*" >>"{told}"')
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
    assert told.read_text().splitlines()[-2:] == ["dpkg --configure -a", last]
    assert java(checkout).stdout == ""


@pytest.mark.parametrize(("package", "user"), [("openjdk-11-jre-headless", 0), ("any", 1000)])
def test_java_that_cannot_be_installed_is_asked_for(
    checkout: Path, package: str, user: int
) -> None:
    told = debian(checkout, package, user)
    done = java(checkout)
    assert done.returncode != 0
    why = "no Java here: install one"
    tried = "; apt-get could not install one, log: logs/java.log" if user == 0 else ""
    assert done.stderr == f"{why}{tried}\n"
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
