"""Raw tables that grow, and a dbt project over them: incremental models, and full rebuilds."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from simulation import database

from kit.lake import write_parquet
from kit.warehouse import Warehouse, install_package

Row = Mapping[str, Any]
AnyRow = TypeVar("AnyRow", bound=Mapping[str, Any])

MODELS = {
    "changes": "spark_cdc.{decoder}({raw}, {arguments})",
    "quarantine": "spark_cdc.quarantine(of={changes})",
    "current": "spark_cdc.current_state({changes}, key={key})",
    "with_deleted": "spark_cdc.current_state({changes}, key={key}, keep_deleted=true)",
    "history": "spark_cdc.history({changes}, key={key})",
    "events": "spark_cdc.history({changes}, key={key}, granularity='event')",
}


@dataclass
class Landing:
    """A dbt project over raw tables that grow, in a schema of its own."""

    warehouse: Warehouse
    home: Path
    schema: str
    tables: dict[str, Mapping[str, str]] = field(default_factory=dict)
    kinds: dict[str, Sequence[str]] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)  # raw tables whose rows also land where they stay
    batches: int = 0
    have_left: set[str] = field(default_factory=set)
    now: dict[str, Sequence[str]] = field(default_factory=dict)  # columns of the table
    own_logs: set[str] = field(default_factory=set)

    def add(
        self,
        name: str,
        table: database.Table,
        columns: Mapping[str, str],
        decoder: str,
        arguments: str | None = None,
        kinds: Sequence[str] = tuple(MODELS),
        watermarks: Mapping[str, str] | None = None,
        more: Mapping[str, Mapping[str, str]] | None = None,
        logs: Mapping[str, str] | None = None,
        inputs: Collection[str] = (),
        now: bool = False,
        own_log: Mapping[str, str] | None = None,
        on_log: str = "",
    ) -> None:
        """The models of one raw table: incremental, and the same built from every row each time.

        `arguments` are the decoder's, in which `{other}` means the relation `other` of `more`: the
        columns of each. `watermarks` names the column that is `raw_watermark` for a kind of model.
        `logs` says which kind of model reads a raw log: `stored`, or `view` over a landing that
        keeps its rows. So do its `inputs`, relations in `more` that are raw rows too. With `now`
        there is also a view of the history as of the time of a query. `own_log`, `on_log`: those
        of :class:`kit.formats.Deliveries`.
        """
        (self.home / "models").mkdir(exist_ok=True)
        # dbt's own tables are slow to make on Delta. On Iceberg a parquet table cannot be replaced,
        # because its files are left.
        whole = "iceberg" if self.warehouse.table_format == "iceberg" else "parquet"
        more = more or {}
        self.tables[name], self.kinds[name] = columns, kinds
        for other, its_columns in more.items():
            self.tables[f"{name}__{other}"], self.kinds[f"{name}__{other}"] = its_columns, ()
        for kind in set((logs or {}).values()):
            for raw in [name, *(f"{name}__{other}" for other in inputs)]:
                self._add_log(raw, kind)
        sources = {other: f"source('landing', '{name}__{other}')" for other in more}
        sources["raw"] = f"source('landing', '{name}')"
        if own_log:
            self.own_logs.add(name)
        for ending, body in (own_log or {}).items():
            settings = "materialized='table'"
            if ending == "log":
                watermark = (watermarks or {}).get("log")
                settings = f"materialized='cdc_incremental', raw_watermark={watermark!r}"
            (self.home / "models" / f"{name}_{ending}.sql").write_text(
                f"{{{{ config({settings}) }}}}\n{{{{ {body.format(**sources)} }}}}\n"
            )
            sources[ending] = f"ref('{name}_{ending}')"
        for kind in kinds:
            watermark = (watermarks or {}).get(kind)
            for suffix, settings in (
                ("", f"materialized='cdc_incremental', raw_watermark={watermark!r}"),
                ("_whole", f"materialized='table', file_format='{whole}'"),
            ):
                given = arguments or f"key={list(table.key)}"
                log = (logs or {}).get(kind) if not suffix else None
                for other in more:
                    source = f"source('landing', '{name}__{other}{suffix}')"
                    if log and other in inputs:
                        source = f"ref('{name}__{other}_{log}')"
                    given = given.replace(f"{{{other}}}", source)
                raw = f"ref('{name}_{log}')" if log else f"source('landing', '{name}{suffix}')"
                if own_log and not suffix:
                    given, raw = on_log, sources["log"]
                text = MODELS[kind].format(
                    raw=raw,
                    changes=f"ref('{name}_changes{suffix}')",
                    key=list(table.key),
                    decoder=decoder,
                    arguments=given,
                )
                if kind == "quarantine" and not suffix:
                    settings = "materialized='view'"
                (self.home / "models" / f"{name}_{kind}{suffix}.sql").write_text(
                    f"{{{{ config({settings}) }}}}\n{{{{ {text} }}}}\n"
                )

        if now:
            self.now[name] = [*table.columns]
            call = f"spark_cdc.as_of(ref('{name}_history'), at='(current_timestamp())')"
            (self.home / "models" / f"{name}_now.sql").write_text(
                f"{{{{ config(materialized='view') }}}}\n{{{{ {call} }}}}\n"
            )

    def _add_log(self, table: str, kind: str) -> None:
        """Write the models of a raw log of a table; of a view, a landing that keeps the rows."""
        models = {f"{table}_stored": f"spark_cdc.raw_log(source('landing', '{table}'))"}
        if kind == "view":
            self.kept.add(table)
            self.tables[f"{table}__kept"] = {**self.tables[table], "landed_in": "int"}
            self.kinds[f"{table}__kept"] = ()
            kept = f"source('landing', '{table}__kept')"
            models = {f"{table}_batches": f"spark_cdc.raw_log({kept}, batch='landed_in')"}
            (self.home / "models" / f"{table}_view.sql").write_text(
                "{{ config(materialized='view') }}\n"
                f"select * except (landed_in) from {{{{ ref('{table}_batches') }}}}\n"
            )
        for name, body in models.items():
            materialized = "view" if kind == "view" else "cdc_incremental"
            (self.home / "models" / f"{name}.sql").write_text(
                f"{{{{ config(materialized='{materialized}') }}}}\n{{{{ {body} }}}}\n"
            )

    def begin(self, file_format: str) -> None:
        (self.home / "dbt_project.yml").write_text(
            "name: landing\nversion: 0.1.0\nprofile: landing\n"
            f"models: {{+file_format: {file_format}}}\n"
        )
        install_package(self.home)
        (self.home / "profiles.yml").write_text(
            "landing: {target: thrift, outputs: {thrift: {type: spark, method: thrift, "
            f"host: {self.warehouse.host}, port: {self.warehouse.port}, schema: {self.schema}, "
            "threads: 4, query_retries: 0, poll_interval: 0}}}\n"
        )
        names = [name + suffix for name in self.tables for suffix in ("", "_whole")]
        (self.home / "models" / "landing.yml").write_text(
            f"sources:\n  - name: landing\n    schema: {self.schema}\n    tables:\n"
            + "".join(f"      - name: {name}\n" for name in names)
        )
        self.warehouse.sql(
            f"drop schema if exists {self.schema} cascade", f"create schema {self.schema}"
        )
        for name in names:
            types = self.tables[name.removesuffix("_whole")]
            columns = ", ".join(f"`{c.replace('`', '``')}` {t}" for c, t in types.items())
            self.warehouse.sql(
                f"create table {self.schema}.`{name}` ({columns}) using parquet"
                f" location '{self.home}/landing/{name}'"
            )

    def deliver(self, rows: Mapping[str, Sequence[Row]], leaving: Collection[str] = ()) -> None:
        """Land a batch of rows in the raw tables; earlier rows of `leaving` tables leave."""
        self.batches += 1
        self.have_left |= set(leaving)
        landed = {"landed_in": self.batches}
        kept = {f"{name}__kept": [{**row, **landed} for row in rows[name]] for name in self.kept}
        rows = {**rows, **kept}
        for name, columns in self.tables.items():
            for suffix in ("", "_whole"):
                folder = self.home / "landing" / (name + suffix)
                if name in leaving and not suffix:
                    for part in folder.glob("*.parquet"):
                        part.unlink()
                batch = self.home / "batches" / f"{self.batches}{suffix}" / name
                write_parquet(batch, columns, rows[name], files=1)
                folder.mkdir(parents=True, exist_ok=True)
                (batch / "part-0.parquet").rename(folder / f"{self.batches}.parquet")
                self.warehouse.sql(f"refresh table {self.schema}.`{name}{suffix}`")

    def differences(self) -> list[str]:
        """Say which incremental models differ from the models that are built from every row."""
        wrong = []
        for name in self.tables:
            for kind in self.kinds[name]:
                columns = [
                    row[0]
                    for row in self.warehouse.sql(f"describe {self.schema}.`{name}_{kind}_whole`")
                    if row[0] != "cdc_batch"
                ]
                names = ", ".join("`" + column.replace("`", "``") + "`" for column in columns)
                if kind == "quarantine" and name in self.have_left:
                    # a row that arrives while an equal row leaves cannot be told from that row
                    names = f"distinct {names}"
                built = f"select {names} from {self.schema}.`{name}_{kind}`"
                whole = f"select {names} from {self.schema}.`{name}_{kind}_whole`"
                if difference := self.warehouse.difference(built, whole):
                    wrong.append(f"{name}_{kind}: {difference}")
        for name in self.own_logs - self.have_left:
            log = f"{self.schema}.{name}_log where cdc_resolved_id is null"
            ((kept, landed),) = self.warehouse.sql(
                f"select count(*), (select count(*) from {self.schema}.{name}_whole) from {log}"
            )
            if kept != landed:
                wrong.append(f"{name}_log: {kept} rows of {landed} that landed")
        for name, of_table in self.now.items():
            names = ", ".join("`" + column.replace("`", "``") + "`" for column in of_table)
            built = f"select {names} from {self.schema}.`{name}_now`"
            whole = f"select {names} from {self.schema}.`{name}_current_whole`"
            if difference := self.warehouse.difference(built, whole):
                wrong.append(f"{name}_now: {difference}")
        return wrong


def batches(rows: Sequence[AnyRow], rng: random.Random, number: int) -> list[list[AnyRow]]:
    """Cut rows into batches: most are near their position, some are early, late or repeated."""
    cut: list[list[AnyRow]] = [[] for _ in range(number)]
    for place, row in enumerate(rows):
        at = place * number // len(rows)
        if rng.random() < 0.15:
            at = rng.randrange(number)
        cut[at].append(row)
        if rng.random() < 0.05:
            cut[rng.randrange(number)].append(row)
    return cut
