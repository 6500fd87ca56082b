"""The tables of a source, each with its key, or with the reason why nothing is written for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.generate.change_tables import change_tables
from spark_cdc_udfs.generate.db2 import db2_tables
from spark_cdc_udfs.generate.drafts import Found
from spark_cdc_udfs.generate.lake import Columns
from spark_cdc_udfs.generate.raw_logs import missing_columns
from spark_cdc_udfs.generate.shared_relations import capture_stream, event_log, messages
from spark_cdc_udfs.generate.tables import (
    Landing,
    Problem,
    Report,
    Table,
    check_columns,
    check_names,
)
from spark_cdc_udfs.lake.queries import QueryFailed

FINDERS: dict[str, Callable[[Landing], Found]] = {
    "qlik_change_table": change_tables,
    "qlik_messages": messages,
    "netiq_event_log": event_log,
    "db2_capture_table": db2_tables,
    "db2_log_table": db2_tables,
    "gbase_capture": capture_stream,
}


def find(landing: Landing) -> Iterator[tuple[Table | None, Report]]:
    """Find the tables of a source. A table for which nothing can be written is None.

    Raises Failure if there is no table at all.
    """
    source = landing.source
    some = False
    for names, draft in FINDERS[source.decoder](landing):
        some = True
        name = source.prefix + names[0]
        shared: Mapping[str, Columns] = {}
        try:
            table, told, notes = draft()
            shared = table.shared
            check_names(
                name, *names, table.landed, *table.raw, *(c.type for c in table.raw.values())
            )
            check_names(name, *table.columns)
            check_columns(table.columns)
            notes = [*notes, *_of_watermark(landing, table)]
            key, how, more = landing.key(names, table.columns, told)
        except Problem as problem:
            yield None, Report(source, name, names, problem=str(problem), shared=shared)
        except QueryFailed as failed:
            yield None, Report(source, name, names, problem=f"it cannot be read: {failed}")
        else:
            report = Report(source, name, names, f"{', '.join(key)}, {how}", notes=(*notes, *more))
            yield replace(table, name=name, key=key), report
    if not some:
        patterns = ", ".join(source.tables)
        raise Failure(f"{source.name}: {source.schema} has no table for {patterns}")


def _of_watermark(landing: Landing, table: Table) -> list[str]:
    """Say which columns of the watermark do not exist; of a shared relation only once."""
    missing = missing_columns(table.source, table.raw) if table.source.is_incremental else []
    if not missing:
        return []
    what = "batch" if table.source.batch else "raw_watermark"
    note = f"{what} is left out: {table.landed} has no column {', '.join(missing)}"
    if not table.source.kind.is_shared:
        return [note]
    if note not in landing.notes:
        landing.notes.append(note)
    return []
