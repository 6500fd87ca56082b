"""Scenarios of incremental models as tables of steps, and how their SQL is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kit.warehouse import Warehouse

RAW_COLUMNS = {
    "header__change_seq": "string",
    "header__change_oper": "string",
    "header__operation": "string",
    "header__transaction_id": "string",
    "id": "bigint",
    "note": "string",
    "part": "varchar(9)",
    "landed": "int",
}
Row = tuple[int, str, int | str, str | None, str | None, int | None]  # the id "null" is NULL


@dataclass(frozen=True)
class Place:
    """The place of a scenario: its schema, and the log of the last run."""

    warehouse: Warehouse
    home: Path
    schema: str
    log: str = ""

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements in which `{schema}` is the schema, and give the rows of the last one."""
        return self.warehouse.sql(*(one.replace("{schema}", self.schema) for one in statements))

    def rows(self, of: str) -> list[tuple[Any, ...]]:
        """Give the rows of a query, or the ids and notes of a table."""
        is_query = " " in of
        return self.sql(
            of if is_query else f"select id, note from {{schema}}.{of} order by id, note"
        )

    @property
    def folder(self) -> Path:
        """The folder of the schema's tables."""
        return self.warehouse.home / "server" / "warehouse" / f"{self.schema}.db"


# The plan for the middle of a model's run, or a function that gives it when the step begins.
Plan = Mapping[str, Any] | Callable[[Place], Mapping[str, Any]]


@dataclass(frozen=True)
class Step:
    """The rows that land, the models that run, and the expected result.

    Scenarios share a run of dbt, and with it `vars`; runs with other `options` are processes of
    their own. `{schema}` in SQL is the schema of the scenario.
    """

    land: Sequence[str | Callable[[Place], object]] = ()
    models: Mapping[str, str] = field(default_factory=dict)  # bodies that are new or changed
    properties: Mapping[str, Any] = field(default_factory=dict)  # the same, from a YAML file
    run: Sequence[str] | None = None  # models; None: all models of the scenario
    full_refresh: bool = False  # by the config of that name, so that scenarios share the run
    options: Sequence[str] = ()
    vars: Mapping[str, Any] = field(default_factory=dict)
    session: Mapping[str, str] = field(default_factory=dict)  # Spark settings during the run
    meanwhile: Mapping[str, Plan] = field(default_factory=dict)  # see macros/
    fails: Mapping[str, str] = field(default_factory=dict)  # model -> part of its message
    rows: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # see Place.rows
    look: Callable[[Place], Any] | None = None  # its result is kept for the test


@dataclass(frozen=True)
class Scenario:
    """Raw tables, models over them, and the steps.

    In a body `source('landing', …)` and `ref(…)` name tables and models of the scenario.
    """

    name: str
    models: Mapping[str, str]
    steps: Sequence[Step]
    raw: Sequence[str] = ("raw",)
    setup: Sequence[str] = ()
    properties: Mapping[str, Any] = field(default_factory=dict)


def decoded(raw: str = "raw", columns: str = "{'id': 'bigint', 'note': 'string'}") -> str:
    """The body of a model of change events."""
    call = f"spark_cdc.qlik_change_table(source('landing', '{raw}'), key=['id'], columns={columns})"
    return f"{{{{ {call} }}}}"


def applied(macro: str, changes: str = "changes", key: str = "id") -> str:
    """The body of a model of current state or history."""
    return f"{{{{ spark_cdc.{macro}(ref('{changes}'), key=['{key}']) }}}}"


CURRENT = applied("current_state")
HISTORY = applied("history")


def config(**settings: Any) -> str:
    """The config before the body of a model."""
    return f"{{{{ config({', '.join(f'{k}={v!r}' for k, v in settings.items())}) }}}}\n"


VIEW = config(materialized="view")


def quarantined(changes: str = "changes") -> str:
    """The body of a view of what a model of change events has in quarantine."""
    return f"{VIEW}{{{{ spark_cdc.quarantine(of=ref('{changes}')) }}}}"


def _sql(value: str | int | None) -> str:
    return "null" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def land(raw: str, *rows: Row, transaction: str | None = None) -> str:
    """Insert raw rows: position, operation, id, note, part and the number of the delivery.

    Ten positions have the same time part, as the rows of a transaction must. Operation T is a
    truncate.
    """
    values = ", ".join(
        f"('{sequence(place)}', '{oper.replace('T', '')}',"
        f" {'null' if oper != 'T' else _sql('TRUNCATE')}, {_sql(transaction)},"
        f" {key}, {_sql(note)}, {_sql(part)}, {_sql(landed)})"
        for place, oper, key, note, part, landed in rows
    )
    return f"insert into {{schema}}.{raw} ({', '.join(RAW_COLUMNS)}) values {values}"


def sequence(place: int) -> str:
    """The change sequence at a position."""
    return f"20260101000000{place // 10:02d}{place:019d}"


def columns_of(**types: str) -> str:
    """The columns of a raw table as DDL; `types` are additional columns or other types."""
    return ", ".join(f"{name} {kind}" for name, kind in (RAW_COLUMNS | types).items())
