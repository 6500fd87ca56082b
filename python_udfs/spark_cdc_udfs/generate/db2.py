"""Db2: capture tables, and log tables of text search. Neither names the key."""

from __future__ import annotations

import re
from functools import partial

from spark_cdc_udfs.generate.drafts import Draft, Found, arguments_of, declared, own_tables
from spark_cdc_udfs.generate.lake import Column, Columns
from spark_cdc_udfs.generate.raw_logs import in_a_log
from spark_cdc_udfs.generate.tables import Evidence, Landing, Problem, Table

HEADER = "ibmsnap_"
# The columns of each kind of table, besides those of the source table.
NEEDED = {
    "db2_capture_table": ("ibmsnap_commitseq", "ibmsnap_intentseq", "ibmsnap_operation"),
    "db2_log_table": ("operation", "time"),
}


def db2_tables(landing: Landing) -> Found:
    """Find the tables of a source; the shared unit of work is not one of them."""
    shared = {str(value).lower() for value in landing.source.arguments.values()}
    for table, names in own_tables(landing):
        if table.lower() not in shared:
            yield names, partial(_draft, landing, table, names)


def _draft(landing: Landing, table: str, names: tuple[str, ...]) -> Draft:
    source = landing.source
    raw = landing.columns(table)
    missing = [name for name in NEEDED[source.decoder] if name not in map(str.lower, raw)]
    if missing:
        raise Problem(f"it has no column {', '.join(missing)}")
    given = arguments_of(landing, names)
    base = given.columns("base")
    metadata = source.kind.metadata
    if source.decoder == "db2_capture_table":
        headers = {name.lower()[len(HEADER) :] for name in raw if name.lower().startswith(HEADER)}
        unit = given.columns("unit_of_work") or {}
        headers |= {name.lower()[len(HEADER) :] for name in unit if name.lower().startswith(HEADER)}
        metadata = _metadata(headers)
    if base is not None:
        columns, is_declared, left_out = declared(landing, names, base)
    else:
        prefix = given.values.get("before_prefix", "X")
        data = _data(in_a_log(source, raw), prefix or "")
        data = _named_by_key(data, landing.given_key(names)[1], given.values)
        columns, is_declared, left_out = declared(landing, names, data)
    found = Table(
        *(source, names[0], table, raw, columns, (), given.values),
        is_declared=is_declared,
        metadata=metadata,
        own=given.own,
        shared=given.shared,
    )
    evidence = Evidence(tried=("Db2 does not name it in these tables",))
    return found, evidence, [*given.notes, *left_out]


def _metadata(headers: set[str]) -> str:
    """Give the type of cdc_metadata of a capture table."""
    more = [f"{name}: string" for name in ("authid", "apply_qual") if name in headers]
    return f"struct<{', '.join(['intentseq: string', 'logmarker: timestamp', *more])}>"


def _data(raw: Columns, prefix: str) -> dict[str, Column]:
    """Give the columns of the source table: neither those of Db2 nor before columns."""
    data = {name: column for name, column in raw.items() if not name.lower().startswith(HEADER)}
    befores = {(prefix + name).lower() for name in data} if prefix else set()
    return {name: column for name, column in data.items() if name.lower() not in befores}


def _named_by_key(
    data: dict[str, Column], key: tuple[str, ...], arguments: dict[str, object]
) -> dict[str, Column]:
    """Name the columns that hold the key (`PK01`, …) as the key does."""
    there = {name.lower() for name in data}
    if all(name.lower() in there for name in key):
        return data
    held = arguments.get("key_columns")
    numbered = [name for name in data if re.fullmatch(r"pk\d+", name.lower())]
    holding = (
        [str(one) for one in held]
        if isinstance(held, list)
        else sorted(numbered, key=lambda name: int(name[2:]))
    )
    if len(holding) != len(key):
        return data
    names = {held.lower(): name for held, name in zip(holding, key, strict=True)}
    return {names.get(name.lower(), name): column for name, column in data.items()}
