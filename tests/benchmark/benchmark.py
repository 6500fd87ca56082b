"""`make bench`: the cost of the models of a table, and of other ways to build them.

Everything is run several times in turn: Spark over Thrift, on a server of its own, and DuckDB on
the same files. First the results are checked to be equal. The figures are written to
`benchmark.json`, `benchmark.md` and `benchmark.png` in the directory given by `--out`. Times are
only meaningful as ratios within one run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import by_hand
import db2
import duckdb
import gbase
import generated
import increments
import matplotlib
import netiq
import qlik
import qlik_avro
import raw_orders
from matplotlib import pyplot
from thrift_server import SCHEMA, Span, Spark, dbt, free_port, say, server, task_totals

OURS = ("events", "quarantine", "counts", "current", "history", "history_by_event")
TARGETS = {"events": 1.6, "current": 0.6, "history": 1.3}


@dataclass
class Step:
    """One measured step: its action, and the result of each run."""

    name: str
    run: Callable[[], None]
    path: Path
    seconds: list[float] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)

    def measure(self) -> None:
        """Run it once."""
        began = time.time()
        self.run()
        self.spans.append((began, time.time()))
        self.seconds.append(self.spans[-1][1] - began)


def build(port: int, target: Path) -> dict[str, str]:
    """Let dbt build the models once, and give the SQL that it compiled."""
    others = ("incremental", "netiq", "db2", "qlik")
    dbt(port, target, "run", "--exclude", *others)
    models = target / "compiled" / "benchmark" / "models"
    return {name: (models / f"{name}.sql").read_text(encoding="utf-8") for name in OURS}


def spark_step(spark: Spark, home: Path, name: str, select: str) -> Step:
    """Measure the creation of a table."""
    path = home / "server" / "warehouse" / f"{SCHEMA}.db" / name
    return Step(name, lambda: spark.create(name, select), path)


def duckdb_step(name: str, home: Path, select: str, memory: int | None) -> Step:
    """Measure DuckDB, with as many threads as there are cores, writing parquet."""
    path = home / f"{name}.parquet"

    def run() -> None:
        with contextlib.closing(duckdb.connect()) as connection:
            connection.execute("set timezone = 'UTC'")
            connection.execute(f"set temp_directory = '{home}/spill'")
            connection.execute("set preserve_insertion_order = false")
            if memory:
                connection.execute(f"set memory_limit = '{memory}GiB'")
            connection.execute(f"copy ({select}) to '{path}' (format parquet)")

    return Step(name, run, path)


def size(path: Path) -> int:
    """The bytes of a file, or of a directory's data files."""
    files = [path] if path.is_file() else path.glob("*.parquet")
    return sum(file.stat().st_size for file in files)


def check(spark: Spark, home: Path) -> None:
    """Stop if the ways have different results."""
    names = by_hand.NAMES
    ours = {
        "events": f"cdc_operation, cdc_sequence, cdc_commit_sequence, {names}",
        "current": names,
        "history": f"{names}, cdc_valid_from_sequence, cdc_valid_to_sequence",
    }
    theirs = {
        "events": f"operation, change_sequence, commit_sequence, {names}",
        "current": names,
        "history": f"{names}, valid_from_sequence, valid_to_sequence",
    }
    for name, columns in ours.items():
        built = f"select {columns} from {SCHEMA}.{name}"
        for other in (f"{SCHEMA}.{name}_by_hand", f"parquet.`{home}/{name}_duckdb.parquet`"):
            if wrong := spark.differences(built, f"select {theirs[name]} from {other}"):
                sys.exit(f"{name} and {other} differ in {wrong} rows: nothing is compared")


def machine() -> dict[str, Any]:
    """The machine and the versions of the figures."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 1024**3),
        "system": platform.platform(),
        "python": platform.python_version(),
        "date": date.today().isoformat(),
    }


def measure(rows: int, repeats: int, memory: int | None, home: Path) -> dict[str, Any]:
    """Write the raw table, build everything `repeats` times in turn, and give the figures.

    `memory` is the limit of Spark and of DuckDB, in GiB; without it they choose themselves.
    """
    port = free_port()
    log = home / "spark"
    with server(log, port, memory=memory):
        spark = Spark(port)
        say(f"writing about {rows:,} raw rows")
        spark.create("raw", raw_orders.select(rows))
        ((raw_rows,),) = spark.sql(f"select count(*) from {SCHEMA}.raw")
        say("dbt builds everything once")
        dbt(port, home / "target", "deps")
        compiled = build(port, home / "target")
        raw_files = f"read_parquet('{log}/server/warehouse/{SCHEMA}.db/raw/*.parquet')"
        steps = [
            spark_step(spark, log, "copy", f"select * from {SCHEMA}.raw"),
            *(spark_step(spark, log, name, compiled[name]) for name in OURS),
            spark_step(spark, log, "events_by_hand", by_hand.events("spark", f"{SCHEMA}.raw")),
            spark_step(
                spark, log, "current_by_hand", by_hand.current("spark", f"{SCHEMA}.events_by_hand")
            ),
            spark_step(
                spark, log, "history_by_hand", by_hand.history("spark", f"{SCHEMA}.events_by_hand")
            ),
            duckdb_step("events_duckdb", home, by_hand.events("duckdb", raw_files), memory),
            duckdb_step(
                "current_duckdb",
                home,
                by_hand.current("duckdb", f"read_parquet('{home}/events_duckdb.parquet')"),
                memory,
            ),
            duckdb_step(
                "history_duckdb",
                home,
                by_hand.history("duckdb", f"read_parquet('{home}/events_duckdb.parquet')"),
                memory,
            ),
        ]
        for repeat in range(repeats):
            for step in steps:
                step.measure()
                say(f"{repeat + 1}/{repeats} {step.name}: {step.seconds[-1]:.1f} s")
        say("comparing the results")
        check(spark, home)
        counts = {
            step.name: spark.sql(f"select count(*) from parquet.`{step.path}`")[0][0]
            for step in steps
        }
    results = []
    copies = statistics.median(steps[0].seconds)
    for step in steps:
        totals = task_totals(log, step.spans)
        results.append(
            {
                "step": step.name,
                "seconds": [round(seconds, 2) for seconds in step.seconds],
                "copies": round(statistics.median(step.seconds) / copies, 2),
                "rows": counts[step.name],
                "bytes": size(step.path),
                **{
                    key: max(total[key] for total in totals)
                    for key in ("shuffle_bytes", "spilled_bytes")
                },
            }
        )
    return {"raw_rows": raw_rows, "repeats": repeats, "memory": memory, "steps": results}


def as_markdown(figures: Mapping[str, Any]) -> str:
    """The figures as a table."""
    about = figures["machine"]
    mib = 1024 * 1024
    lines = [
        f"{figures['raw_rows']:,} raw rows, {about['cores']} cores, {about['memory_gib']} GiB"
        + (f", of which each may take {figures['memory']}" if figures["memory"] else "")
        + f", {about['date']}; medians of {figures['repeats']}.",
        "",
        "| step | raw copies | seconds | rows | MiB | shuffled MiB | spilled MiB |",
        "|---|---|---|---|---|---|---|",
    ]
    for step in figures["steps"]:
        cells = [
            step["step"],
            f"{step['copies']:.2f}",
            f"{statistics.median(step['seconds']):.1f}",
            f"{step['rows']:,}",
            *(f"{step[key] / mib:,.0f}" for key in ("bytes", "shuffle_bytes", "spilled_bytes")),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += increments.as_markdown(figures["increments"])
    lines += gbase.as_markdown(figures["gbase"])
    lines += qlik_avro.as_markdown(figures["qlik_avro"])
    lines += netiq.as_markdown(figures["netiq"])
    lines += db2.as_markdown(figures["db2"])
    lines += qlik.as_markdown(figures["qlik"])
    lines += generated.as_markdown(figures["generated"])
    return "\n".join(lines) + "\n"


def plot(figures: Mapping[str, Any], path: Path) -> None:
    """The ratios as bars, with the least and the greatest, and the targets."""
    matplotlib.use("agg")
    steps = figures["steps"]
    base = statistics.median(steps[0]["seconds"])
    colors = {"by_hand": "#9aa5b1", "duckdb": "#c9a227", "copy": "#3b4252"}
    figure, axes = pyplot.subplots(figsize=(9, 0.45 * len(steps) + 1.4), layout="constrained")
    for row, step in enumerate(steps):
        ratios = [seconds / base for seconds in step["seconds"]]
        color = next((c for kind, c in colors.items() if kind in step["step"]), "#2f6db5")
        middle = statistics.median(ratios)
        axes.barh(row, middle, color=color, height=0.62)
        axes.hlines(row, min(ratios), max(ratios), color="#1b1f24", linewidth=1)
        axes.text(max(ratios) + 0.05, row, f"{middle:.2f}", va="center", fontsize=9)
        if target := TARGETS.get(step["step"]):
            axes.vlines(target, row - 0.42, row + 0.42, color="#c0392b", linewidth=2)
    axes.set_yticks(range(len(steps)), [step["step"].replace("_", " ") for step in steps])
    axes.invert_yaxis()
    axes.margins(x=0.08)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("raw copies of the change table (line: least to greatest; red: target)")
    axes.set_title(f"{figures['raw_rows']:,} raw rows", loc="left", fontsize=11)
    figure.savefig(path, dpi=150)


def write(figures: Mapping[str, Any], out: Path) -> None:
    """Write the figures so far: the parts take long, and a failure should not lose the others."""
    (out / "benchmark.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    (out / "benchmark.md").write_text(as_markdown(figures), encoding="utf-8")
    plot(figures, out / "benchmark.png")


def main() -> None:
    """Read the command line, measure, write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=5_000_000, help="raw rows (5000000)")
    parser.add_argument("--repeats", type=int, default=3, help="times each step is run (3)")
    parser.add_argument(
        "--memory",
        type=int,
        help="GiB that Spark and DuckDB each may take (what they choose); not for increments",
    )
    parser.add_argument(
        "--formats",
        default="parquet,iceberg,delta",
        help="table formats on which increments are measured, with commas; or none",
    )
    parser.add_argument(
        "--records", type=int, default=1_000_000, help="inserts in the GBase stream (1000000)"
    )
    parser.add_argument(
        "--generated", type=int, default=300, help="change tables whose models are generated (300)"
    )
    parser.add_argument("--out", type=Path, default=Path("target/benchmark"))
    given = parser.parse_args()
    out: Path = given.out.absolute()
    work = out / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    figures: dict[str, Any] = {"machine": machine(), "increments": [], "gbase": []}
    figures |= {"qlik_avro": [], "netiq": [], "db2": [], "qlik": [], "generated": []}
    figures |= measure(given.rows, given.repeats, given.memory, work)
    write(figures, out)
    for table_format in given.formats.split(","):
        if table_format != "none":
            figures["increments"].append(
                increments.measure(table_format, given.rows, given.repeats, work)
            )
            write(figures, out)
    say(f"decoding a GBase stream of {given.records:,} inserts")
    figures["gbase"] = gbase.measure(given.records, given.repeats, work)
    write(figures, out)
    figures["qlik_avro"] = qlik_avro.measure(min(given.records, 100_000), given.repeats)
    write(figures, out)
    figures["netiq"] = netiq.measure(given.rows, given.repeats, work)
    write(figures, out)
    figures["db2"] = db2.measure(given.rows, given.repeats, work)
    write(figures, out)
    figures["qlik"] = qlik.measure(given.rows * 2 // 5, given.repeats, work)
    write(figures, out)
    figures["generated"] = [generated.measure(given.generated, 100, "parquet", work / "generated")]
    write(figures, out)
    shutil.rmtree(work)
    print(as_markdown(figures))
    say(f"in {out}: benchmark.json, benchmark.md, benchmark.png")


if __name__ == "__main__":
    main()
