"""What tables cost with each encoding of parquet: to write, to keep, and to read.

The same rows are written in each encoding, in turn. Then queries read them, as users do. Run by
itself: `python tests/benchmark/encodings.py --rows 2000000 --repeats 3`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import raw_orders
from benchmark import build, size
from thrift_server import SCHEMA, Spark, dbt, free_port, say, server

UNIQUE = (
    *("cdc_sequence", "cdc_commit_sequence", "cdc_transaction_id"),
    *("cdc_valid_from_sequence", "cdc_valid_to_sequence"),
)
# Options of the tables. The first is what Spark does without any.
ENCODINGS: Mapping[str, Mapping[str, str]] = {
    "default": {},
    "zstd": {"compression": "zstd"},
    "zstd level 1": {"compression": "zstd", "parquet.compression.codec.zstd.level": "1"},
    "no dictionary": {"parquet.enable.dictionary": "false"},
    "zstd, no dictionary": {"compression": "zstd", "parquet.enable.dictionary": "false"},
    "zstd level 1, no dictionary": {
        "compression": "zstd",
        "parquet.compression.codec.zstd.level": "1",
        "parquet.enable.dictionary": "false",
    },
    "zstd, positions without dictionary": {"compression": "zstd"}
    | {f"parquet.enable.dictionary#{name}": "false" for name in UNIQUE},
    "zstd, small dictionaries": {"compression": "zstd", "parquet.dictionary.page.size": "65536"},
    "lz4_raw": {"compression": "lz4_raw"},
}
TABLES = ("events", "current", "history")


def reads(middle: str) -> dict[str, str]:
    """Queries over the three tables, which are `{events}`, `{current}` and `{history}`."""
    columns = [name for name in raw_orders.COLUMNS if not name.startswith("header__")]
    every = f"bit_xor(xxhash64({', '.join(columns)}))"
    return {
        "events: all columns": (
            f"select {every}, bit_xor(xxhash64(cdc_before.note)) from {{events}}"
        ),
        "events: since a commit": (
            f"select {every} from {{events}} where cdc_commit_sequence >= '{middle}'"
        ),
        "current: a filter": (
            "select count(*), sum(amount) from {current} where status = 'paid' and quantity > 50"
        ),
        "current: groups": "select status, customer_id, sum(amount) from {current} group by 1, 2",
        "current: groups of text": "select email, count(note) from {current} group by 1",
        "current: one key": "select * from {current} where order_id = 123456",
        "current: all columns": f"select {every} from {{current}}",
        "a merge reads": (  # what is new in current state, beside the target that has these keys
            "select bit_xor(xxhash64(source.*, target.*)) from {current} as source"
            " left join {history} as target"
            " on source.order_id = target.order_id and target.cdc_is_current"
            f" where source.cdc_commit_sequence >= '{middle}'"
        ),
        "history: as of": (
            f"select {every} from {{history}} where cdc_valid_from_sequence <= '{middle}'"
            f" and (cdc_is_current or cdc_valid_to_sequence > '{middle}')"
        ),
        "history: groups": (
            "select status, date_trunc('day', cdc_valid_from), sum(amount) from {history}"
            " group by 1, 2"
        ),
    }


def encoded(options: Mapping[str, str]) -> str:
    """The options of a table as SQL."""
    pairs = ", ".join(f"'{name}' '{value}'" for name, value in options.items())
    return f"options ({pairs})" if pairs else ""


def measure(
    rows: int, repeats: int, home: Path, encodings: Sequence[str] = tuple(ENCODINGS)
) -> list[dict[str, Any]]:
    """Write and read the tables in each encoding, `repeats` times in turn."""
    port, log = free_port(), home / "encodings"
    found: dict[str, dict[str, list[float]]] = {name: {} for name in encodings}
    sizes: dict[str, dict[str, int]] = {name: {} for name in encodings}
    warehouse = log / "server" / "warehouse" / f"{SCHEMA}.db"
    with server(log, port):
        spark = Spark(port)
        spark.create("raw", raw_orders.select(rows))
        dbt(port, home / "target", "deps")
        compiled = build(port, home / "target")
        ((middle,),) = spark.sql(
            f"select percentile_disc(0.9) within group (order by cdc_commit_sequence)"
            f" from {SCHEMA}.events"
        )
        queries = reads(middle)
        for repeat in range(repeats + 1):  # the first is not counted: Java is not warm
            began = time.monotonic()
            spark.create("copy", f"select * from {SCHEMA}.raw")
            copy = time.monotonic() - began
            for number, name in enumerate(encodings):
                say(f"{repeat}/{repeats} {name}")
                tables = {table: f"{SCHEMA}.{table}_{number}" for table in TABLES}
                for table, target in tables.items():
                    select = compiled[table]
                    for other in TABLES:  # it reads what is in the same encoding
                        for quote in ("", "`"):
                            select = select.replace(
                                f"{SCHEMA}{quote}.{quote}{other}{quote}\n", f"{tables[other]}\n"
                            )
                    spark.sql(f"drop table if exists {target}")
                    began = time.monotonic()
                    spark.sql(
                        f"create table {target} using parquet {encoded(ENCODINGS[name])}"
                        f" as {select}"
                    )
                    taken = (time.monotonic() - began) / copy
                    sizes[name][f"write {table}"] = size(warehouse / target.split(".")[1])
                    if repeat:
                        found[name].setdefault(f"write {table}", []).append(taken)
                for read, query in queries.items():
                    text = query.format(**tables)
                    for again in range(3):
                        began = time.monotonic()
                        spark.sql(text)
                        if repeat and again:
                            found[name].setdefault(read, []).append(time.monotonic() - began)
    return [
        {
            "encoding": name,
            "bytes": sizes[name],
            "medians": {step: statistics.median(times) for step, times in found[name].items()},
        }
        for name in encodings
    ]


def as_markdown(figures: Sequence[Mapping[str, Any]]) -> list[str]:
    """The figures: writing in raw copies and MiB, reading relative to the first encoding."""
    if not figures:
        return []
    steps = list(figures[0]["medians"])
    lines = ["", "| encoding | " + " | ".join(steps) + " |", "|---" * (len(steps) + 1) + "|"]
    for figure in figures:
        cells = []
        for step in steps:
            median = figure["medians"][step]
            if step in figure["bytes"]:
                cells.append(f"{median:.2f} ({figure['bytes'][step] / 1024**2:.0f} MiB)")
            else:
                cells.append(f"{median / figures[0]['medians'][step]:.2f}")
        lines.append(f"| {figure['encoding']} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    """Measure by itself."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=2_000_000, help="raw rows (2000000)")
    parser.add_argument("--repeats", type=int, default=3, help="times each step is run (3)")
    parser.add_argument("--encodings", help="which, with semicolons (all)")
    parser.add_argument("--out", type=Path, default=Path("target/encodings"))
    given = parser.parse_args()
    out: Path = given.out.absolute()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    chosen = given.encodings.split(";") if given.encodings else list(ENCODINGS)
    figures = measure(given.rows, given.repeats, out / "work", chosen)
    (out / "encodings.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print("\n".join(as_markdown(figures)))
    shutil.rmtree(out / "work")


if __name__ == "__main__":
    main()
