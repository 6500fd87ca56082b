"""Change tables of Qlik Replicate: their columns, and their keys from masks and `.dfm` files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from spark_cdc_udfs.generate import masks, qlik
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
from spark_cdc_udfs.lake.queries import QueryFailed

TABLES_OF_A_QUERY = 20
Masks = list[tuple[str, str, int]]


@dataclass
class ChangeTable:
    """A change table, and what is known of it before its masks are read."""

    landing: Landing
    table: str
    names: tuple[str, ...]
    raw: Columns
    headers: masks.Headers
    found: Masks | QueryFailed

    def draft(self) -> Draft:
        """Draft the table: its key from masks, else from a `.dfm` file."""
        source, headers = self.landing.source, self.headers
        if isinstance(self.found, QueryFailed):
            raise self.found
        if "change_seq" not in headers.names:
            there = ", ".join(list(self.raw)[:8])
            example = "arguments: {header_prefix: hdr__}"
            raise Problem(f"no header column change_seq in {there}, …; for example {example}")
        arguments = arguments_of(self.landing, self.names)
        read = in_a_log(source, self.raw)
        data = {n: column for n, column in read.items() if n not in headers.names.values()}
        if "mask_columns" in arguments.values:
            data = {name: column for name, column in data.items() if name in headers.data}
        columns, is_declared, left_out = declared(self.landing, self.names, data)
        self._places(arguments, columns)
        earlier = self.landing.earlier(self.names)
        has_inserts = any(oper == "I" for oper, _, _ in self.found)
        if not has_inserts and earlier.mask_byte_order:
            arguments.values.setdefault("mask_byte_order", earlier.mask_byte_order)
            arguments.notes.append("mask_byte_order is from the earlier run: there is no insert")
        told = masks.tell(self.found, headers, arguments.values.get("mask_byte_order"))
        without = told.without_bit if has_inserts else earlier.without_bit
        without = tuple(name for name in without if name in columns)
        notes = [*arguments.notes, *left_out, *self._notes(told, without, arguments)]
        is_text = all(column.type == "string" for column in columns.values())
        is_text = is_text and not source.of(*self.names).columns
        evidence = self._of_masks(told)
        if is_text or not told.key:
            dfm = qlik.dfm_of(
                self.landing.lake, source.schema, self.table, columns, source.datetime
            )
            evidence = _of_dfm(evidence, dfm)
            if is_text and isinstance(dfm, qlik.Told):
                columns = {n: Column(k, columns[n].comment) for n, k in dfm.columns.items()}
                is_declared = True
                notes += ["types are from a .dfm file", *dfm.notes]
            elif is_text and earlier.has_types_of(columns):
                columns = {n: Column(k, columns[n].comment) for n, k in earlier.types.items()}
                is_declared = True
                notes.append(f"types are from the earlier run ({dfm})")
            elif is_text:
                notes.append(f"all columns stay text ({dfm}); types can be in table_settings")
        table = Table(
            *(source, self.names[0], self.table, self.raw, columns, (), arguments.values),
            is_declared=is_declared,
            metadata=self._metadata(),
            own=arguments.own,
            shared=arguments.shared,
            without_bit=without,
            has_mask="change_mask" in headers.names,
        )
        return table, evidence, notes

    def _places(self, arguments: Arguments, columns: Columns) -> None:
        """Write the order of the columns where the relation has another. Raises Problem."""
        headers = self.headers
        if "change_mask" not in headers.names or "mask_columns" in arguments.values:
            return
        moved = [name for name in headers.data if self.raw[name].is_partition]
        if moved:
            raise Problem(
                f"it is partitioned by {moved[0]}, so its place in the change masks is not known:"
                " give mask_columns in table_settings, or name it in landing_columns"
            )
        own = [name for name in self.raw if name not in headers.names.values()]
        kept = {name.lower() for name in columns}
        last = max((place for place, name in enumerate(own) if name.lower() in kept), default=-1)
        if len(kept & {name.lower() for name in own[: last + 1]}) < last + 1:
            arguments.values["mask_columns"] = list(headers.data)

    def _of_masks(self, told: masks.Told) -> Evidence:
        if told.key:
            how = f"by the masks of {told.rows:,} deletes"
            if not told.inserts:
                how += f"; no insert confirms that {self.headers.counted} header columns count"
            return Evidence(told.key, how)
        has_masks = "change_mask" in self.headers.names
        return Evidence(tried=(told.tried if has_masks else "it has no change_mask",))

    def _notes(self, told: masks.Told, without: tuple[str, ...], arguments: Arguments) -> list[str]:
        """Say what the masks show; note another order of bytes in the arguments."""
        notes = list(told.problems)
        if told.order:
            arguments.values["mask_byte_order"] = told.order
            notes.append(
                f"mask_byte_order is {told.order}: so the masks of {told.inserts:,} inserts fit"
            )
        if without:
            notes.append(
                f"no insert has a bit for {', '.join(without)}: a large object (see"
                " qlik_sparse_updates), or has the landing added a column (see landing_columns)?"
            )
        return notes

    def _metadata(self) -> str:
        names = self.headers.names
        fields = [
            f"{name}: {self.raw[names[name]].type}"
            for name in ("stream_position", "timestamp", "partition_name")
            if name in names
        ]
        return f"struct<{', '.join(fields) or 'stream_position: string'}>"


def _of_dfm(evidence: Evidence, dfm: qlik.Told | str) -> Evidence:
    """Add what a `.dfm` file tells of the key, or why there is none."""
    if evidence.key:
        return evidence
    if isinstance(dfm, str):
        return replace(evidence, tried=(*evidence.tried, dfm))
    if dfm.key:
        return Evidence(dfm.key, "by primaryKeyPos in its .dfm file")
    return replace(evidence, tried=(*evidence.tried, "its .dfm file has no primaryKeyPos"))


def _failing(failed: QueryFailed) -> Draft:
    raise failed


def change_tables(landing: Landing) -> Found:
    """Find change tables. The masks of several tables are asked for together."""
    tables = list(own_tables(landing))
    for first in range(0, len(tables), TABLES_OF_A_QUERY):
        some: dict[str, ChangeTable | QueryFailed] = {}
        for table, names in tables[first : first + TABLES_OF_A_QUERY]:
            try:
                raw = landing.columns(table)
            except QueryFailed as failed:
                some[table] = failed
                continue
            given = {**landing.source.arguments, **landing.source.of(*names).arguments}
            headers = masks.Headers.of(
                raw,
                given.get("header_prefix", "header__"),
                given.get("header_columns"),
                landing.source.landing_columns,
                given.get("mask_columns"),
            )
            some[table] = ChangeTable(landing, table, names, raw, headers, [])
        _ask({table: one for table, one in some.items() if isinstance(one, ChangeTable)})
        for table, names in tables[first : first + TABLES_OF_A_QUERY]:
            one = some[table]
            if isinstance(one, QueryFailed):
                yield names, lambda failed=one: _failing(failed)  # type: ignore[misc]
            else:
                yield names, one.draft


def _ask(tables: Mapping[str, ChangeTable]) -> None:
    """Ask for the masks of some tables at once; if that fails, one by one."""
    queries = {}
    for table, one in tables.items():
        query = masks.masks_query(one.landing.source.schema, table, one.headers)
        if query is not None:
            queries[table] = query
    if not queries:
        return
    lake = next(iter(tables.values())).landing.lake
    found: dict[str, Masks] = {table: [] for table in queries}
    try:
        together = " union all ".join(f"({query})" for query in queries.values())
        for table, oper, mask, rows in lake.rows(together):
            found[table].append((oper, mask, rows))
        for table in queries:
            tables[table].found = found[table]
    except QueryFailed:
        for table, query in queries.items():
            try:
                tables[table].found = [(row[1], row[2], row[3]) for row in lake.rows(query)]
            except QueryFailed as failed:
                tables[table].found = failed
