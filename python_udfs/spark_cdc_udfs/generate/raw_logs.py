"""Raw logs: incremental models read raw rows that are kept once. See docs/incremental.md.

A change table has a raw log of its own. A relation with the rows of many tables has one for all of
them. Of messages each table has a view with the ones that it needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spark_cdc_udfs.generate import call, routes
from spark_cdc_udfs.generate.call import Expression
from spark_cdc_udfs.generate.config import Source
from spark_cdc_udfs.generate.lake import Column, Columns
from spark_cdc_udfs.generate.tables import Landed, Table
from spark_cdc_udfs.generate.yaml_text import generic_test

# The columns of qlik_schema_versions.
VERSIONS = {
    "schema_id": "string",
    "source_schema": "string",
    "source_table": "string",
    "table_version": "bigint",
    "written_at": "timestamp",
    "server": "string",
    "task": "string",
    "columns": (
        "array<struct<name: string, ordinal: int, type: string, length: bigint, precision: int,"
        " scale: int, primary_key_position: int, nullable: boolean>>"
    ),
    "data_schema": "string",
}


@dataclass(frozen=True)
class RawModel:
    """A model that passes raw rows on: its name, SQL, description and columns."""

    name: str
    sql: str
    description: str
    columns: Columns
    is_log: bool = True  # whether it has `cdc_batch`
    tests: tuple[Any, ...] = ()


def ref(model: str) -> Expression:
    """Write a reference to a model."""
    return Expression(f"ref({model!r})")


def config(source: Source, materialized: str, more: Mapping[str, Any] | None = None) -> str:
    """Write the config of a model."""
    given: dict[str, Any] = {"materialized": materialized}
    if source.file_format and materialized != "view":
        given["file_format"] = source.file_format
    return call.config({**given, **(more or {})})


# What a decoder reads


def shared_log(source: Source) -> str:
    """Name the raw log of the relation with the rows of all tables."""
    return f"{source.name}_log"


def input_log(source: Source, relation: str) -> str:
    """Name the raw log of another relation that a decoder reads, such as the units of work."""
    return f"{source.name}_{re.sub('[^a-z0-9_]', '_', relation.lower())}_log"


def rows_of(table: Table) -> Expression:
    """Write the relation that the decoder of a table reads."""
    source = table.source
    if not source.is_incremental:
        return landed(source, table.landed)
    is_own = table.route is not None or not source.kind.is_shared
    return ref(f"{table.name}__log" if is_own else shared_log(source))


def argument_of(table: Table, name: str, value: Any) -> Any:
    """Write an argument of the decoder; raw rows are read from their raw log."""
    source = table.source
    if not isinstance(value, Landed):
        return value
    if source.is_incremental and name in source.kind.inputs:
        return ref(input_log(source, value.table))
    if source.kind.is_shared and value.table == table.landed:
        return rows_of(table)
    return landed(source, value.table)


def landed(source: Source, relation: str) -> Expression:
    """Write a reference to a relation of the landing."""
    return Expression(f"source({source.name!r}, {relation!r})")


# The models


def models_of_table(table: Table) -> Iterator[RawModel]:
    """Give the models with the raw rows of one table."""
    source, name = table.source, f"{table.name}__log"
    if not source.is_incremental:
        return
    if not source.kind.is_shared:
        yield raw_log(source, name, table.landed, table.raw)
    elif table.route is not None:
        said = f"The rows of {source.relation} that {table.name} needs."
        sql = routes.messages_of(ref(shared_log(source)), table.route)
        passed = routes.without_column(table.raw)
        yield RawModel(name, sql, said, in_a_log(source, passed))
    yield from models_of_inputs([table], is_own=True)


def models_of_source(source: Source, tables: Sequence[Table]) -> Iterator[RawModel]:
    """Give the models with the raw rows of several tables."""
    if source.is_incremental:
        if source.kind.is_shared:
            yield from shared_models(source, tables[0])
        yield from models_of_inputs(tables, is_own=False)


def models_of_inputs(tables: Iterable[Table], is_own: bool) -> Iterator[RawModel]:
    """Give the raw logs of further relations with raw rows, which one table reads, or several."""
    seen = set()
    for table in tables:
        for name in table.source.kind.inputs:
            value, columns = table.arguments.get(name), table.own if is_own else table.shared
            if isinstance(value, Landed) and value.table in columns and value.table not in seen:
                seen.add(value.table)
                model = input_log(table.source, value.table)
                yield raw_log(table.source, model, value.table, columns[value.table])


def shared_models(source: Source, table: Table) -> Iterator[RawModel]:
    """Give the raw log of the relation of all tables. Messages get the column with their table."""
    columns, relation, route = dict(table.raw), table.landed, table.route
    raw, metadata = landed(source, relation), table.arguments.get("metadata")
    if route and isinstance(metadata, Landed) and not routes.is_routed(columns):
        versions, routed = f"{source.name}_versions", f"{source.name}_routed"
        told = landed(source, metadata.table)
        of_versions = call.call("spark_cdc.qlik_schema_versions", [told], {})
        yield RawModel(
            versions,
            f"{config(source, 'table')}\n\n{of_versions}\n",
            f"The versions of all tables that {metadata.table} tells of.",
            {name: Column(kind) for name, kind in VERSIONS.items()},
            is_log=False,
        )
        columns[routes.COLUMN] = Column("string", "Its table; NULL if that is not certain")
        said = f"The messages of {relation}, each with its table."
        sql = routes.with_column(raw, ref(versions))
        yield RawModel(routed, sql, said, columns, is_log=False)
        raw = ref(routed)
    by = {"partition_by": [routes.COLUMN]} if route and not source.batch else {}
    yield raw_log(source, shared_log(source), relation, columns, raw, by)


def raw_log(
    source: Source,
    name: str,
    relation: str,
    columns: Columns,
    raw: Expression | None = None,
    more: Mapping[str, Any] | None = None,
) -> RawModel:
    """Give a raw log of a relation of the landing; `raw` if a view has its rows."""
    source = as_it_fits(source, columns)
    given = dict(more or {})
    if source.raw_watermark is not None:
        given["raw_watermark"] = source.raw_watermark
    head = config(source, "view") if source.batch else config(source, "cdc_incremental", given)
    rows = raw or landed(source, relation)
    of = call.call("spark_cdc.raw_log", [rows], {"batch": source.batch} if source.batch else {})
    of_landing = {} if source.batch else {"landing": rows.text}
    is_ordered = source.batch or source.raw_watermark is not None
    tests = (generic_test("raw_log_is_complete", of_landing),) if is_ordered else ()
    said = f"The rows of {relation} as they were delivered, kept once for all models."
    if source.batch:
        said = f"The rows of {relation}, with the batch of each delivery."
    return RawModel(name, f"{head}\n\n{of}\n", said, in_a_log(source, columns), tests=tests)


def in_a_log(source: Source, columns: Columns) -> dict[str, Column]:
    """Give columns as models read them: a raw log that keeps its rows has no varchar."""
    if not source.is_incremental or as_it_fits(source, columns).batch:
        return dict(columns)
    return {
        name: Column("string", one.comment) if one.type.lower().startswith("varchar") else one
        for name, one in columns.items()
    }


def as_it_fits(source: Source, columns: Columns) -> Source:
    """Leave out the watermark and the batch of a source if a relation does not have the columns."""
    if missing_columns(source, columns):
        return replace(source, batch="", raw_watermark=None)
    return source


def missing_columns(source: Source, columns: Columns) -> list[str]:
    """Name the columns of the watermark, or of the batch, that a relation does not have."""
    given = source.batch or source.raw_watermark
    there = {name.lower() for name in columns}
    if isinstance(given, Mapping):
        within = given.get("within")
        named = [given.get("column"), *(within if isinstance(within, list) else [within])]
    else:
        named = [given]
    return [str(name) for name in named if name is not None and str(name).lower() not in there]
