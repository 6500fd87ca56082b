"""Drafts of tables: what all decoders have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from spark_cdc_udfs.generate.decoders import RELATIONS
from spark_cdc_udfs.generate.lake import Column, Columns
from spark_cdc_udfs.generate.tables import (
    Evidence,
    Landed,
    Landing,
    Problem,
    Table,
    base_name,
    chosen,
)

# A table before its key is decided, what the landing tells of the key, and notes.
Draft = tuple[Table, Evidence, list[str]]
# The names of a table, first the name of its models, and what makes its draft.
Found = Iterator[tuple[tuple[str, ...], Callable[[], Draft]]]


@dataclass
class Arguments:
    """The arguments of a decoder for one table, and the relations among them."""

    values: dict[str, Any] = field(default_factory=dict)
    own: dict[str, Columns] = field(default_factory=dict)
    shared: dict[str, Columns] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def columns(self, name: str) -> Columns | None:
        """Give the columns of a relation; None if there is no such argument."""
        there = self.values.get(name)
        if not isinstance(there, Landed):
            return None
        return self.own.get(there.table) or self.shared[there.table]


def own_tables(landing: Landing) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give each table of the schema that is chosen, with the names by which settings name it."""
    for table, ending in chosen(landing.source, landing.names).items():
        yield table, (base_name(table, ending), table)


def arguments_of(landing: Landing, names: Sequence[str]) -> Arguments:
    """Give the arguments of a table. Raises Problem if one is missing."""
    source = landing.source
    given = {**source.arguments, **source.of(*names).arguments}
    for needed in source.kind.needs:
        if needed not in given:
            raise Problem(f"{source.decoder} needs the argument {needed}")
    found = Arguments()
    for name, value in given.items():
        if name not in RELATIONS:
            found.values[name] = value
            continue
        is_own = "{table}" in value
        wanted = value.replace("{table}", names[0])
        there = landing.spelled(wanted)
        if there is not None:
            found.values[name] = Landed(source.name, there)
            (found.own if is_own else found.shared)[there] = landing.columns(there)
        elif is_own and name not in source.kind.needs:
            found.notes.append(f"{name} is left out: {source.schema} has no table {wanted}")
        else:
            raise Problem(f"{name}: {source.schema} has no table {wanted}")
    return found


def declared(
    landing: Landing, names: Sequence[str], columns: Columns
) -> tuple[dict[str, Column], bool, list[str]]:
    """Give the columns of a table without those of the landing; say if the call has to name them.

    Columns of `table_settings` win. Notes name the columns that these leave out.
    """
    source = landing.source
    given = source.of(*names).columns
    landed = {name.lower() for name in source.landing_columns}
    if given:
        there = {name.lower(): column for name, column in columns.items()}
        missing = [name for name in given if name.lower() not in there]
        if missing:
            raise Problem(f"table_settings names {', '.join(missing)}, which it does not have")
        kept = landed | {name.lower() for name in given}
        left_out = [name for name in columns if name.lower() not in kept]
        told = f"not in columns of table_settings, so left out: {', '.join(left_out)}"
        own = {n: Column(kind, there[n.lower()].comment) for n, kind in given.items()}
        return own, True, [told] if left_out else []
    own = {name: column for name, column in columns.items() if name.lower() not in landed}
    return own, len(own) < len(columns), []
