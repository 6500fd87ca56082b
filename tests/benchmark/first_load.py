"""The first load of the five models of one table, in raw copies: each model's select as a table.

Change events, quarantine, counts, current state and history of the raw table of `make bench`. Run
by itself: `python tests/benchmark/first_load.py --rows 2000000 --repeats 3`. A second directory of
macros, given by `--macros`, is measured in turn with the package's own: an older or another design.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import raw_orders
from benchmark import size
from thrift_server import HERE, SCHEMA, Spark, dbt, free_port, say, server

ROOT = HERE.parents[1]
MODELS = ("events", "quarantine", "counts", "current", "history")


def project_with(macros: Path | None, home: Path) -> Path:
    """The benchmark's project with the package, or with a copy of it that has other macros."""
    home.mkdir(parents=True)
    package = ROOT
    if macros is not None:
        package = home / "package"
        package.mkdir()
        shutil.copy(ROOT / "dbt_project.yml", package)
        for folder in ("models", "seeds"):
            shutil.copytree(ROOT / folder, package / folder)
        shutil.copytree(macros, package / "macros")
    project = home / "project"
    project.mkdir()
    for name in ("dbt_project.yml", "profiles.yml"):
        shutil.copy(HERE / name, project)
    (project / "packages.yml").write_text(f"packages: [{{local: {package}}}]\n", encoding="utf-8")
    (project / "models").mkdir()
    for name in ("sources.yml", *(f"{model}.sql" for model in MODELS)):
        shutil.copy(HERE / "models" / name, project / "models")
    return project


def measure(rows: int, repeats: int, home: Path, macros: Path | None) -> dict[str, Any]:
    """Build each model `repeats` times in turn, with each design."""
    port = free_port()
    designs = {"now": None} | ({"other": macros} if macros else {})
    selects: dict[str, dict[str, str]] = {}
    seconds: dict[str, dict[str, list[float]]] = {}
    copies: list[float] = []
    sizes = {}
    with server(home / "spark", port):
        spark = Spark(port)
        spark.create("raw", raw_orders.select(rows))
        for design, folder in designs.items():
            project = project_with(folder, home / design)
            dbt(port, home / design / "target", "deps", project=project, profiles=project)
            dbt(port, home / design / "target", "run", project=project, profiles=project)
            compiled = home / design / "target" / "compiled" / "benchmark" / "models"
            selects[design] = {
                name: (compiled / f"{name}.sql").read_text(encoding="utf-8") for name in MODELS
            }
            seconds[design] = {name: [] for name in MODELS}
        for repeat in range(repeats + 1):  # the first is not counted: Java is not warm
            began = time.monotonic()
            spark.create("copy", f"select * from {SCHEMA}.raw")
            if repeat:
                copies.append(time.monotonic() - began)
            for name in MODELS:
                for design in designs:
                    began = time.monotonic()
                    spark.create(name, selects[design][name])
                    taken = time.monotonic() - began
                    say(f"{repeat}/{repeats} {name}, {design}: {taken:.1f} s")
                    if repeat:
                        seconds[design][name].append(taken)
        warehouse = home / "spark" / "server" / "warehouse" / f"{SCHEMA}.db"
        sizes = {name: size(warehouse / name) for name in ("copy", *MODELS)}
    copy = statistics.median(copies)
    return {
        "rows": rows,
        "copies": {
            design: {name: statistics.median(times) / copy for name, times in of_design.items()}
            for design, of_design in seconds.items()
        },
        "bytes": sizes,
    }


def as_markdown(figure: Mapping[str, Any]) -> list[str]:
    """The figures as a table."""
    lines = ["", f"| raw copies | {' | '.join(MODELS)} | all |", "|---" * (len(MODELS) + 2) + "|"]
    for design, of_design in figure["copies"].items():
        cells = [f"{of_design[name]:.2f}" for name in MODELS]
        lines.append(f"| {design} | {' | '.join(cells)} | {sum(of_design.values()):.2f} |")
    cells = [f"{figure['bytes'][name] / 1024**2:.0f}" for name in MODELS]
    lines.append(f"| MiB (raw: {figure['bytes']['copy'] / 1024**2:.0f}) | {' | '.join(cells)} | |")
    return lines


def main() -> None:
    """Measure by itself."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=2_000_000, help="raw rows (2000000)")
    parser.add_argument("--repeats", type=int, default=3, help="times each step is run (3)")
    parser.add_argument("--macros", type=Path, help="a second directory of macros")
    parser.add_argument("--out", type=Path, default=Path("target/first_load"))
    given = parser.parse_args()
    out: Path = given.out.absolute()
    shutil.rmtree(out, ignore_errors=True)
    macros = given.macros.absolute() if given.macros else None
    figure = measure(given.rows, given.repeats, out / "work", macros)
    (out / "first_load.json").write_text(json.dumps(figure, indent=2) + "\n", encoding="utf-8")
    print("\n".join(as_markdown(figure)))
    shutil.rmtree(out / "work")


if __name__ == "__main__":
    main()
