"""Relations with the rows of many tables: Qlik messages, NetIQ event logs, GBase streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.generate import netiq, qlik
from spark_cdc_udfs.generate.drafts import Arguments, Draft, Found, arguments_of
from spark_cdc_udfs.generate.lake import Column, Columns
from spark_cdc_udfs.generate.tables import (
    Evidence,
    Landing,
    Problem,
    Table,
    base_name,
    chosen,
    ending_of,
)
from spark_cdc_udfs.lake.queries import QueryFailed


def relation_of(landing: Landing, name: str) -> tuple[str, Columns]:
    """Give a relation that all tables need, and its columns. Raises Failure."""
    source = landing.source
    there = landing.spelled(name)
    if there is None:
        raise Failure(f"{source.name}: {source.schema} has no table {name}")
    try:
        return there, landing.columns(there)
    except QueryFailed as failed:
        raise Failure(f"{source.name}: {there} cannot be read: {failed}") from failed


def ask(landing: Landing, relation: str, query: str) -> list[tuple[Any, ...]]:
    """Run a query that all tables need. Raises Failure."""
    try:
        return landing.lake.rows(query)
    except QueryFailed as failed:
        raise Failure(f"{landing.source.name}: {relation} cannot be read: {failed}") from failed


def table_of(
    landing: Landing, name: str, columns: Columns, first: dict[str, Any], given: Arguments
) -> Table:
    """Make a table of the shared relation; `first` are arguments before the given ones."""
    source = landing.source
    there, raw = relation_of(landing, source.relation)
    return Table(
        *(source, name, there, raw, columns, (), {**first, **given.values}),
        is_declared=True,
        metadata=source.kind.metadata,
        own=given.own,
        shared={there: raw, **given.shared},
    )


# Messages of Qlik Replicate


def messages(landing: Landing) -> Found:
    """Find the tables that metadata messages describe."""
    source = landing.source
    metadata, columns = relation_of(landing, str(source.arguments.get("metadata", "")))
    query = qlik.metadata_query(source.schema, metadata, columns)
    told, unread = qlik.read_metadata(ask(landing, metadata, query), source.datetime)
    if unread:
        landing.notes.append(f"{unread:,} metadata messages of {metadata} cannot be read")
    for name, one in told.items():
        if ending_of(source, name, one.table) is not None:
            yield (base_name(one.table, ""), name), partial(_of_messages, landing, one)


def _of_messages(landing: Landing, told: qlik.Told) -> Draft:
    name = base_name(told.table, "")
    given = arguments_of(landing, (name, f"{told.schema}.{told.table}"))
    types = {**told.columns, **landing.source.of(name, f"{told.schema}.{told.table}").columns}
    if not types:
        raise Problem("its metadata has only Avro schemas; give columns and key in table_settings")
    columns = {column: Column(kind) for column, kind in types.items()}
    first = {"table": told.table, **({"schema": told.schema} if told.schema else {})}
    evidence = (
        Evidence(told.key, "by primaryKeyPosition in its metadata")
        if told.key
        else Evidence(tried=("no column has a primaryKeyPosition in its metadata",))
    )
    table = table_of(landing, name, columns, first, given)
    table = replace(table, without_bit=told.large)
    return table, evidence, [*given.notes, *told.notes]


# Event logs of NetIQ Identity Manager


def event_log(landing: Landing) -> Found:
    """Find the tables that an event log names."""
    source = landing.source
    relation, columns = relation_of(landing, source.relation)
    layout = source.arguments.get("layout")
    log = netiq.layout_of(columns, layout)
    if log is None:
        there = ", ".join(columns)
        raise Failure(
            f"{source.name}: {relation} has no ten columns in the layout"
            f" {layout or 'record_id_status'}; it has {there}"
        )
    forms: dict[str, list[tuple[str | None, int]]] = {}
    schemas: dict[str, set[str]] = {}
    for table, names, rows, *some in ask(
        landing, relation, netiq.keys_query(source.schema, relation, log)
    ):
        if table:
            forms.setdefault(table, []).append((names, rows))
            schemas.setdefault(table, set()).update(one for one in some if one)
    changed = _once(
        lambda: ask(landing, relation, netiq.columns_query(source.schema, relation, log))
    )
    for table in chosen(source, sorted(forms)):
        name = base_name(table, "")
        several = ", ".join(sorted(schemas[table])) if len(schemas[table]) > 1 else ""
        note = [f"the log has rows of {several}: they are taken for one table"] if several else []
        yield (name, table), partial(_of_log, landing, (name, table), forms[table], changed, note)


def _once(ask_it: Callable[[], list[tuple[Any, ...]]]) -> Callable[[], list[tuple[Any, ...]]]:
    """Ask when somebody wants to know, and only once."""
    answers: list[list[tuple[Any, ...]]] = []

    def answer() -> list[tuple[Any, ...]]:
        if not answers:
            answers.append(ask_it())
        return answers[0]

    return answer


def _of_log(
    landing: Landing,
    names: tuple[str, str],
    forms: list[tuple[str | None, int]],
    changed: Callable[[], list[tuple[Any, ...]]],
    of_schemas: list[str],
) -> Draft:
    given = arguments_of(landing, names)
    notes = [*given.notes, *of_schemas]
    types = landing.source.of(*names).columns
    snapshot = given.columns("snapshot")
    if types:
        columns: Columns = {name: Column(kind) for name, kind in types.items()}
    elif snapshot is not None:
        landed = {name.lower() for name in landing.source.landing_columns}
        columns = {n: c for n, c in snapshot.items() if n.lower() not in landed}
    else:
        logged = [column for table, column, _ in changed() if table == names[1]]
        keys = [one.strip() for form, _ in forms for one in (form or "").split("\t") if one]
        keys = [one for one in dict.fromkeys(keys) if netiq.column_of(one, logged) is None]
        keys = [one for one in keys if not one.startswith("pk_")]
        columns = {name: Column("string") for name in [*keys, *logged]}
        notes.append("columns are those that the log names, as string: it has no snapshot")
    key, rows, tried = netiq.key_of(forms, list(columns))
    evidence = Evidence(key, f"by table_key of {rows:,} rows") if key else Evidence(tried=(tried,))
    return table_of(landing, names[0], columns, {"table": names[1]}, given), evidence, notes


# Capture streams of GBase 8s and Informix


def capture_stream(landing: Landing) -> Found:
    """Give the tables of `table_settings`; a stream names its tables by numbers."""
    for table in chosen(landing.source, landing.source.table_settings):
        yield (base_name(table, ""), table), partial(_of_stream, landing, table)


def _of_stream(landing: Landing, table: str) -> Draft:
    name = base_name(table, "")
    given = arguments_of(landing, (name, table))
    types = landing.source.of(table).columns
    if not types:
        raise Problem("table_settings has no columns for it, and a stream has no types of Spark")
    columns = {column: Column(kind) for column, kind in types.items()}
    tried = Evidence(tried=("a capture stream does not name the key",))
    return table_of(landing, name, columns, {}, given), tried, given.notes
