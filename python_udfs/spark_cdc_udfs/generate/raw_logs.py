"""Raw logs: incremental models read raw rows that are kept once. See docs/incremental.md.

A change table has a raw log of its own. A relation with the rows of many tables has one for all of
them. Messages are read there, once for all tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spark_cdc_udfs.generate import call
from spark_cdc_udfs.generate.call import Expression
from spark_cdc_udfs.generate.config import Source
from spark_cdc_udfs.generate.lake import Column, Columns
from spark_cdc_udfs.generate.tables import Landed, Table
from spark_cdc_udfs.generate.yaml_text import generic_test
from spark_cdc_udfs.qlik.parsing import COLUMNS

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
# What a message says.
MESSAGE = f"struct<{', '.join(f'{name}: {kind}' for name, kind in COLUMNS.items())}>"


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
    return ref(shared_log(source) if source.kind.is_shared else f"{table.name}__log")


def arguments_of(table: Table) -> dict[str, Any]:
    """Write the arguments of the decoder; messages that have been read need no metadata."""
    is_read = table.source.is_incremental and table.source.kind.is_read_once
    return {
        name: argument_of(table, name, value)
        for name, value in table.arguments.items()
        if not (is_read and name == "metadata")
    }


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
    """Give the raw log of the relation of all tables."""
    if not source.kind.is_read_once:
        yield raw_log(source, shared_log(source), table.landed, table.raw)
        return
    versions, metadata = f"{source.name}_versions", table.arguments["metadata"]
    told = landed(source, metadata.table)
    yield RawModel(
        versions,
        f"{config(source, 'table')}\n\n{call.call('spark_cdc.qlik_schema_versions', [told], {})}\n",
        f"The versions of all tables that {metadata.table} tells of.",
        {name: Column(kind) for name, kind in VERSIONS.items()},
        is_log=False,
    )
    yield message_log(source, table, ref(versions))


def message_log(source: Source, table: Table, versions: Expression) -> RawModel:
    """Give the raw log of a topic. A landing that keeps its rows is read from the last batch on."""
    fitting = as_it_fits(source, table.raw)
    watermark = fitting.batch or fitting.raw_watermark
    given: dict[str, Any] = {"partition_by": ["cdc_table"]}
    if watermark:
        given["raw_watermark"] = watermark
    rows = landed(source, table.landed)
    of = call.call("spark_cdc.qlik_messages_log", [rows], {"versions": versions})
    test = generic_test("raw_log_is_complete", {"landing": rows.text})
    columns = in_a_log(replace(source, batch=""), table.raw)
    columns["cdc_table"] = Column("string", "Its table; NULL if that is not certain")
    columns["cdc_message"] = Column(MESSAGE, "What the message says")
    columns["cdc_waiting_id"] = Column("string", "The id of a message that waits")
    columns["cdc_resolved_id"] = Column("string", "This id, in the second row of the message")
    return RawModel(
        shared_log(source),
        f"{config(source, 'cdc_incremental', given)}\n\n{of}\n",
        f"The messages of {table.landed} as they were delivered, each read once for all tables.",
        columns,
        tests=(test,) if watermark else (),
    )


def raw_log(source: Source, name: str, relation: str, columns: Columns) -> RawModel:
    """Give a raw log of a relation of the landing."""
    source = as_it_fits(source, columns)
    given = {} if source.raw_watermark is None else {"raw_watermark": source.raw_watermark}
    head = config(source, "view") if source.batch else config(source, "cdc_incremental", given)
    rows = landed(source, relation)
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
