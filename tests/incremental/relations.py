"""Raw relations with columns of their own, and the rows that land in them from run to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kit.lake import write_parquet

from incremental.scenario import Place

Row = dict[str, Any]


@dataclass(frozen=True)
class Relations:
    """``columns``: the columns of each relation, with types. ``look_up``: the one that is replaced
    whenever rows land."""

    columns: Mapping[str, Mapping[str, str]]
    look_up: str

    @property
    def setup(self) -> tuple[str, ...]:
        """Statements that create the relations."""
        statements = []
        for name, types in self.columns.items():
            listed = ", ".join(f"`{column}` {sql_type}" for column, sql_type in types.items())
            statements += [
                f"drop table {{schema}}.{name}",
                f"create table {{schema}}.{name} ({listed}) using parquet",
            ]
        return tuple(statements)

    def landing(self, number: int, rows: Mapping[str, Sequence[Row]]) -> Callable[[Place], None]:
        """Add rows to the raw relations, and replace the look-up."""

        def land(place: Place) -> None:
            home = place.home / "landed" / place.schema
            for name, types in self.columns.items():
                folder = home / f"{name}_{number}"
                write_parquet(folder, types, rows[name], files=1)
                how = "overwrite" if name == self.look_up else "into"
                place.sql(f"insert {how} {{schema}}.{name} select * from parquet.`{folder}`")

        return land
