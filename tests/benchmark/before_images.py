"""What `before_image='key'` saves of change events, on tables of 20 and 100 columns.

Half of the raw rows are updates with their before images, the others are inserts. An update changes
three columns. Run by itself: `python tests/benchmark/before_images.py --rows 500000 --repeats 3`.
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

from benchmark import size
from first_load import project_with
from thrift_server import SCHEMA, Spark, dbt, free_port, say, server

WIDTHS = (20, 100)
KINDS = ("row", "key")
HEADERS = 4
# The types of the columns of a table, in turn, and their values in version {v} of row `key`.
TYPES = (
    ("bigint", "xxhash64(key, {c})"),
    ("string", "concat('text ', hash(key, {c}) % 1000)"),
    ("decimal(12,2)", "key % 10000 / 4"),
    ("timestamp", "timestamp_seconds(1704067200 + key * {c})"),
    ("int", "cast(hash(key, {c}) as int)"),
)


def raw(rows: int, width: int) -> str:
    """A change table of so many columns: 2 inserts for each update and its before image."""
    names = [f"c{place:03d}" for place in range(width)]
    changed = names[1:4]
    digits = (HEADERS + width + 7) // 8 * 2
    every = f"{((1 << width) - 1) << HEADERS:0{digits}X}"
    some = f"{sum(1 << (HEADERS + names.index(name)) for name in changed):0{digits}X}"
    keys = rows // 2
    values = ["key as c000"]
    for place, name in list(enumerate(names))[1:]:
        kind, text = TYPES[place % len(TYPES)]
        value = text.format(c=f"{place} + version" if name in changed else place)
        values.append(f"cast({value} as {kind}) as {name}")
    return f"""
    with changes as (
        select id as change, id % {keys} as key, if(id < {keys}, 'I', 'U') as operation
        from range({keys * 3 // 2}) where id < {keys} or id % 2 = 0
    ),
    steps as (
        select change, key, explode(if(operation = 'I', array('I'), array('B', 'U'))) as step
        from changes
    ),
    versions as (select *, if(step = 'U', 1, 0) as version from steps)
    select
        concat('20260302080000', lpad(cast(change as string), 21, '0')) as header__change_seq,
        step as header__change_oper,
        case step when 'I' then '{every}' when 'U' then '{some}' end as header__change_mask,
        hex(change div 10) as header__transaction_id,
        {", ".join(values)}
    from versions
    """


def measure(rows: int, repeats: int, home: Path) -> list[dict[str, Any]]:
    """Build the change events of each table in both ways, in turn."""
    port, found = free_port(), []
    with server(home / "spark", port):
        spark = Spark(port)
        project = project_with(None, home / "dbt")
        shutil.rmtree(project / "models")
        (project / "models").mkdir()
        sources = [f"raw_{width}" for width in WIDTHS]
        tables = ", ".join(f"{{name: {name}}}" for name in sources)
        (project / "models" / "sources.yml").write_text(
            f"sources: [{{name: landing, schema: {SCHEMA}, tables: [{tables}]}}]\n"
        )
        for width in WIDTHS:
            spark.create(f"raw_{width}", raw(rows, width))
            for kind in KINDS:
                call = f"source('landing', 'raw_{width}'), key=['c000'], before_image='{kind}'"
                (project / "models" / f"{kind}_{width}.sql").write_text(
                    f"{{{{ spark_cdc.qlik_change_table({call}) }}}}\n"
                )
        dbt(port, home / "target", "deps", project=project, profiles=project)
        dbt(port, home / "target", "compile", project=project, profiles=project)
        compiled = home / "target" / "compiled" / "benchmark" / "models"
        warehouse = home / "spark" / "server" / "warehouse" / f"{SCHEMA}.db"
        for width in WIDTHS:
            seconds: dict[str, list[float]] = {name: [] for name in ("copy", *KINDS)}
            for repeat in range(repeats + 1):  # the first is not counted: Java is not warm
                for name in seconds:
                    select = f"select * from {SCHEMA}.raw_{width}"
                    if name != "copy":
                        select = (compiled / f"{name}_{width}.sql").read_text(encoding="utf-8")
                    began = time.monotonic()
                    spark.create(name, select)
                    say(f"{repeat}/{repeats} {width} columns, {name}")
                    if repeat:
                        seconds[name].append(time.monotonic() - began)
            medians = {name: statistics.median(times) for name, times in seconds.items()}
            for kind in KINDS:
                found.append(
                    {
                        "columns": width,
                        "before_image": kind,
                        "copies": medians[kind] / medians["copy"],
                        "bytes": size(warehouse / kind) / size(warehouse / "copy"),
                    }
                )
    return found


def as_markdown(figures: Sequence[Mapping[str, Any]]) -> list[str]:
    """The figures as a table."""
    lines = [
        "",
        "| columns | before_image | raw copies | bytes, in the raw table's |",
        "|---" * 4 + "|",
    ]
    for one in figures:
        cells = (one["columns"], one["before_image"], f"{one['copies']:.2f}", f"{one['bytes']:.2f}")
        lines.append(f"| {' | '.join(str(cell) for cell in cells)} |")
    return lines


def main() -> None:
    """Measure by itself."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=500_000, help="raw rows (500000)")
    parser.add_argument("--repeats", type=int, default=3, help="times each step is run (3)")
    parser.add_argument("--out", type=Path, default=Path("target/before_images"))
    given = parser.parse_args()
    out: Path = given.out.absolute()
    shutil.rmtree(out, ignore_errors=True)
    figures = measure(given.rows, given.repeats, out / "work")
    (out / "before_images.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print("\n".join(as_markdown(figures)))
    shutil.rmtree(out / "work")


if __name__ == "__main__":
    main()
