"""Answers a change in less than three minutes: `make check`, or `make check ONLY=name`.

It lints the changed files, checks all types, and runs the tests without Spark and the dbt unit
tests. With a name or a path it checks only what this name concerns. The server of the dbt unit
tests keeps running in `.spark-cdc-check` until `make clean`, or until its Python code changes.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SERVERS = ROOT / ".spark-cdc-check"

UNIT_TESTS = "tests/laws/test_units.py"  # one test for each dbt unit test
VECTORS = "tests/laws/test_formats.py"  # one test for each vector of a format
# Models with dbt unit tests, and all models.
TESTED = ("tests/units/models", "tests/formats/*/models")
MODELS = ("models", "tests/consumer/models", "tests/benchmark/models", *TESTED)
# Files that sqlfluff reads with every model.
LINTER = (".sqlfluff", "tests/stand_ins/")
# Macros that no dbt unit test calls, and their tests.
TESTS_OF_MACROS = {
    "incremental": "tests/incremental",
    "generic_tests": "tests/package/test_generic_tests.py",
    "demo": "tests/package/test_demo.py",
}


@dataclass(frozen=True)
class Plan:
    """The plan: models to lint, tests, and models with dbt unit tests (all if none is named)."""

    sql: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    marks: str = "unit or macros"
    types: bool = False


class Unknown(Exception):
    """A name for which there is nothing to check."""


# The meaning of a name


def resolve(only: str) -> Plan:
    """Give the plan for a decoder, a folder of macros, a model or a path."""
    path = ROOT / only
    if only in decoders():
        return of_decoder(only)
    if only in {folder.name for folder in (ROOT / "macros").iterdir()}:
        return of_macros(ROOT / "macros" / only)
    if not path.exists():
        found = [model for model in models() if model.stem == only]
        if found:
            return of_models(found)
    elif path.is_relative_to(ROOT / "macros"):
        return of_macros(path)
    elif path.is_relative_to(ROOT / "python_udfs") and path.suffix == ".py":
        return of_python(path)
    elif path in models():
        return of_models([path])
    elif path.is_relative_to(ROOT / "tests") and (path.is_dir() or path.name.startswith("test_")):
        return Plan(tests=(only,), marks="not slow", types=path.suffix == ".py")
    raise Unknown(
        f"ONLY={only} is nothing to check: give a decoder ({', '.join(decoders())}), a folder of"
        " macros (apply), a model, a test file, or a file below macros/ or python_udfs/;"
        " for example: make check ONLY=qlik_change_table"
    )


def decoders() -> list[str]:
    """Name the decoders: the ones with tests of their own."""
    return sorted(
        folder.name
        for folder in (ROOT / "tests" / "formats").iterdir()
        if (ROOT / "macros" / folder.name).is_dir()
    )


def models(folders: Sequence[str] = MODELS) -> list[Path]:
    """Find the models of the demo, of the tests and of the benchmark."""
    return sorted(path for folder in folders for path in ROOT.glob(f"{folder}/**/*.sql"))


def of_decoder(name: str) -> Plan:
    """Its tests, its dbt unit tests, its models."""
    folders = (ROOT / "models" / name, ROOT / "tests" / "formats" / name)
    sql = [model for model in models() if any(model.is_relative_to(folder) for folder in folders)]
    return Plan(names(sql), (f"tests/formats/{name}", UNIT_TESTS, VECTORS), (name,))


def of_models(found: Sequence[Path]) -> Plan:
    """The dbt unit tests of models; models of the demo and of the benchmark have none."""
    tested = sorted({model.stem for model in found} & {model.stem for model in models(TESTED)})
    return Plan(names(found), (UNIT_TESTS,) if tested else (), tuple(tested))


def of_macros(path: Path) -> Plan:
    """A decoder, or the tests of the folder, or the dbt unit tests of the models that call it."""
    folder = path.relative_to(ROOT / "macros").parts[:1]
    if folder and folder[0] in decoders():
        return of_decoder(folder[0])
    if folder and folder[0] in TESTS_OF_MACROS:
        return Plan(tests=(TESTS_OF_MACROS[folder[0]],), marks="not slow and not server")
    concerned = callers(path)
    found = [model for model in models(TESTED) if calls(model.read_text("utf-8"), concerned)]
    return of_models(found) if found else Plan(tests=(UNIT_TESTS,))


def of_python(path: Path) -> Plan:
    """The tests without Spark that import a module, or one that imports it.

    If a format's folder does, its vectors are tested too.
    """
    modules = importers(path)
    found = [file for file in (ROOT / "tests").glob("**/*.py") if set(imports(file)) & modules]
    tests = [file for file in found if file.name.startswith("test_")]
    formats = {file.parent.name for file in found if file.parent.parent.name == "formats"}
    if not tests:
        raise Unknown(f"no test imports {names([path])[0]}: make check runs all that need no Spark")
    vectors = (VECTORS,) if formats else ()
    return Plan((), (*names(tests), *vectors), tuple(sorted(formats)), marks="unit", types=True)


# Dependencies


def callers(path: Path) -> set[str]:
    """Name the macros of a file or folder, and all macros that call them."""
    macros: dict[str, str] = {}
    found: set[str] = set()
    for file in ROOT.glob("macros/**/*.sql"):
        parts = re.split(r"\{%-?\s*macro\s+(\w+)", file.read_text(encoding="utf-8"))
        macros |= zip(parts[1::2], parts[2::2], strict=True)
        if file.is_relative_to(path):
            found.update(parts[1::2])
    while more := {name for name, text in macros.items() if calls(text, found)} - found:
        found |= more
    return found


def calls(text: str, macros: set[str]) -> bool:
    """Whether SQL or Jinja calls one of the macros."""
    return not macros.isdisjoint(re.findall(r"\bspark_cdc\.(\w+)", text))


def importers(path: Path) -> set[str]:
    """Name a module of `python_udfs` and all that import it."""
    package = ROOT / "python_udfs"
    found = {module_of(path)}
    files = [*package.glob("spark_cdc_udfs/**/*.py")]
    uses = {module_of(file): set(imports(file)) for file in files}
    while more := {name for name, used in uses.items() if used & found} - found:
        found |= more
    return found


def module_of(path: Path) -> str:
    """Name the module that a file of `python_udfs` holds."""
    parts = path.relative_to(ROOT / "python_udfs").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[str]:
    """Name the modules that a file of Python imports, and what may be modules."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def names(paths: Iterable[Path]) -> tuple[str, ...]:
    """Write paths relative to the root of the repository."""
    return tuple(sorted(str(path.relative_to(ROOT)) for path in paths))


# Changes


def changed() -> set[str]:
    """Name the files that differ from HEAD, are new, or are in commits that were not pushed."""
    found = lines("git", "diff", "--name-only", "HEAD")
    found += lines("git", "ls-files", "--others", "--exclude-standard")
    if lines("git", "rev-parse", "--verify", "--quiet", "@{upstream}"):
        found += lines("git", "diff", "--name-only", "@{upstream}...HEAD")
    return set(found)


def lines(*command: str) -> list[str]:
    """Give the lines that a command prints; none if it fails."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def of_changes(files: set[str]) -> Plan:
    """Everything that needs no tables; only the changed models."""
    sql = names(models())
    if not any(file.startswith(LINTER) for file in files):
        sql = tuple(model for model in sql if model in files)
    return Plan(sql, ("tests",), types=True)


# Running


def commands(plan: Plan) -> dict[str, list[str]]:
    """Give the commands of a plan. Each can be repeated by hand."""
    found = {
        "ruff check": ["ruff", "check", "python_udfs", "tests", "scripts"],
        "ruff format": ["ruff", "format", "--check", "python_udfs", "tests", "scripts"],
    }
    if plan.types:
        found["mypy"] = ["mypy"]
    if plan.sql:
        found["sqlfluff"] = ["sqlfluff", "lint", *plan.sql]
    only = [word for name in plan.only for word in ("--only", name)]
    if plan.tests:
        several = ["-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder"]
        found["pytest"] = ["pytest", "-q", "--hypothesis-profile", "check", *several]
        found["pytest"] += ["-m", plan.marks, *only, *plan.tests]
    return found


def stop_outdated_server() -> None:
    """Stop a server that was started with other Python code, and remove the results it kept."""
    code = hashlib.sha256()
    for file in sorted(ROOT.glob("python_udfs/**/*.py")):
        code.update(file.read_bytes())
    for name in ("requirements.lock", "tests/kit/warehouse.py"):
        code.update((ROOT / name).read_bytes())
    started_with = SERVERS / "code"
    if started_with.exists() and started_with.read_text() != code.hexdigest():
        home = str(SERVERS / "parquet" / "server")
        subprocess.run(["spark-cdc-server", "stop", "--dir", home], check=True)
        shutil.rmtree(SERVERS / "parquet" / "kept_results", ignore_errors=True)
    SERVERS.mkdir(exist_ok=True)
    started_with.write_text(code.hexdigest())


def run(name: str, command: Sequence[str]) -> bool:
    """Run a command, print its output and its time; give whether it found nothing wrong."""
    began = time.monotonic()
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"SPARK_CDC_TEST_SERVERS": str(SERVERS)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    # pytest ends with 5 if it has no test to run
    is_well = done.returncode == 0 or (name == "pytest" and done.returncode == 5)
    said = "" if is_well and name != "pytest" else f"\n{done.stdout}"
    print(f"== {name}: {'ok' if is_well else 'FAILED'}, {time.monotonic() - began:.0f} s{said}")
    return is_well


def main(only: str) -> int:
    """Check, and return the exit code."""
    try:
        plan = resolve(only) if only else of_changes(changed())
    except Unknown as unknown:
        print(unknown, file=sys.stderr)
        return 2
    stop_outdated_server()
    parts = commands(plan)
    with ThreadPoolExecutor(2) as pool:
        tests = [pool.submit(run, name, parts.pop(name)) for name in ("pytest",) if name in parts]
        well = [run(name, command) for name, command in parts.items()]
        well += [test.result() for test in tests]
    if not tests:
        print(f"== no dbt unit test is about {only}: it was only linted; make demo builds the demo")
    return 0 if all(well) else 1


if __name__ == "__main__":
    sys.exit(main("".join(sys.argv[1:])))
