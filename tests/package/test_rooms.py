"""The rooms of the Python package: what may import what."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "python_udfs" / "spark_cdc_udfs"
FORMATS = ("gbase", "qlik")
# Modules that every room may use.
COMMON = ("arrays", "errors", "version")
# A room, or a module that is no room, and the rooms that it may import.
MAY_IMPORT = {
    **dict.fromkeys(FORMATS, COMMON),
    "server": ("functions", *COMMON),
    "lake": ("dbt_session", *COMMON),
    "generate": ("lake", "qlik", *COMMON),
    "health": ("lake", *COMMON),
    "functions": ("server", "version"),
    "command": ("generate", "health", "server", *COMMON),
    "dbt_session": ("server", "errors"),
    "__init__": ("functions", "server", "version"),
    **dict.fromkeys(COMMON, COMMON),
}
# Python packages that an executor need not have.
OF_THE_DRIVER = ("dbt", "pyhive", "thrift", "yaml")


def room(path: Path) -> str:
    """Name the room of a file of the package."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    """Name the rooms that a file imports, at its top or within a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            within = node.module == PACKAGE.name
            names = [f"{node.module}.{a.name}" if within else str(node.module) for a in node.names]
        for name in names:
            if name.startswith(f"{PACKAGE.name}."):
                yield name.split(".")[1]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.stem)
def test_a_room_imports_only_the_rooms_that_it_may(path: Path) -> None:
    may = {*MAY_IMPORT[room(path)], room(path), "__version__"}
    assert set(imported(path)) <= may


def test_executors_load_nothing_of_the_driver() -> None:
    """Functions are sent to executors by their names, so these modules are imported there."""
    functions = [f"{PACKAGE.name}.{one}.functions" for one in FORMATS]
    program = (
        "import sys\n"
        f"import {', '.join([f'{PACKAGE.name}.functions', *functions])}\n"
        "print(*sys.modules)"
    )
    command = [sys.executable, "-c", program]
    there = {"PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(command, env=there, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert f"{PACKAGE.name}.qlik.functions" in loaded
    rooms = ("server", "generate", "health", "lake")
    driver = (*(f"{PACKAGE.name}.{room}" for room in rooms), *OF_THE_DRIVER)
    assert not [name for name in loaded if name.startswith(driver)]


def test_an_installed_package_has_every_room_and_file() -> None:
    told = (PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8")
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    rooms = {path.parent.name for path in files if path.parent != PACKAGE}
    assert {"health", "server"} <= rooms
    assert not [room for room in rooms if f'"{PACKAGE.name}.{room}",' not in told]
    data = [path.name for path in files if path.suffix != ".py"]
    assert {"page.js", "py.typed"} <= set(data)
    assert not [name for name in data if f'"{name}"' not in told]


def test_the_package_has_its_public_names() -> None:
    import spark_cdc_udfs

    for name in spark_cdc_udfs.__all__:
        assert getattr(spark_cdc_udfs, name)
    assert not hasattr(spark_cdc_udfs, "anything")
