"""Db2: capture tables, and log tables of text search. Neither names the key."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

from spark_cdc_udfs.generate.drafts import (
    Arguments,
    Draft,
    Found,
    arguments_of,
    declared,
    own_tables,
)
from spark_cdc_udfs.generate.lake import Column, Columns
from spark_cdc_udfs.generate.raw_logs import in_a_log
from spark_cdc_udfs.generate.tables import Evidence, Landing, Problem, Table
from spark_cdc_udfs.lake.queries import quoted, table_name

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
        data = {n: c for n, c in in_a_log(source, raw).items() if not n.lower().startswith(HEADER)}
        own = source.of(*names).columns or {}
        before = _before_columns(landing, table, data, given, {name.lower() for name in own})
        data = {name: column for name, column in data.items() if name not in before.columns}
        data = _named_by_key(data, landing.given_key(names)[1], given.values)
        columns, is_declared, left_out = declared(landing, names, data)
        left_out += before.notes
        is_declared = is_declared or bool(before.columns and before.others)
        # without it the decoder would stop, unless each column has a before column
        if before.columns and not len(before.columns) == len(columns) > 1:
            given.values["before_prefix"] = before.prefix
        elif before.others and not before.columns:
            given.values["before_prefix"] = None
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


@dataclass(frozen=True)
class Before:
    """The columns with the prefix of before columns: those that are, and others of the table."""

    prefix: str = ""
    columns: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def _before_columns(
    landing: Landing, table: str, data: Columns, given: Arguments, own: Collection[str]
) -> Before:
    """Tell before columns from columns of the table, such as REF and XREF, by the inserts.

    A before column is NULL in each of them. `own` are columns of the table in table_settings.
    Raises Problem where neither the rows nor the settings tell.
    """
    source, told = landing.source, given.values.get("before_prefix", "auto")
    prefix = "X" if told == "auto" else str(told or "")
    spelled = {name.lower(): name for name in data}
    named = {
        spelled[(prefix + name).lower()]: name
        for name in data
        if prefix and (prefix + name).lower() in spelled.keys() - own
    }
    if not named or source.decoder != "db2_capture_table":
        return Before()
    raw = landing.columns(table)
    operation = next(name for name in raw if name.lower() == f"{HEADER}operation")
    counts = ", ".join(f"count({quoted(name)})" for name in named)
    ((inserts, *filled),) = landing.lake.rows(
        f"select count(*), {counts} from {table_name(source.schema, table)}"
        f" where cast({quoted(operation)} as string) = 'I'"
    )
    others = {name: rows for name, rows in zip(named, filled, strict=True) if rows}
    before = tuple(name for name in named if name not in others)
    landed = {name.lower() for name in source.landing_columns}
    has_each = len(before) * 2 == len(spelled.keys() - landed) > 2
    unclear = [name for name in before if named[name] in before]
    if before and not inserts and told == "auto" and not has_each:
        unclear = list(before)
    if unclear or (others and before and own):
        raise Problem(
            f"{', '.join(unclear or others)}: before columns with the prefix {prefix}, or columns"
            " of the table? Give columns, and arguments: {before_prefix: "
            f"{prefix}}}, or before_prefix: null if there are none"
        )
    notes = [
        f"{name} is a column of the table, and no before column of {named[name]}:"
        f" {rows:,} inserts have a value there"
        for name, rows in others.items()
    ]
    if before:
        how = f"NULL in all {inserts:,} inserts" if inserts else "by name, as there is no insert"
        notes.append(f"before columns are {', '.join(before)}: {how}")
    return Before(prefix, before, tuple(others), tuple(notes))


def _named_by_key(
    data: dict[str, Column], key: tuple[str, ...], arguments: dict[str, object]
) -> dict[str, Column]:
    """Name the columns that hold the key (`PK01`, …) as the key does."""
    there = {name.lower() for name in data}
    if all(name.lower() in there for name in key):
        return data
    held = arguments.get("key_columns")
    numbered = [name for name in data if re.fullmatch(r"pk0*[1-9][0-9]*", name.lower())]
    holding = (
        [str(one) for one in held]
        if isinstance(held, list)
        else sorted(numbered, key=lambda name: int(name[2:]))
    )
    if len(holding) != len(key):
        return data
    names = {held.lower(): name for held, name in zip(holding, key, strict=True)}
    return {names.get(name.lower(), name): column for name, column in data.items()}
