"""The project by itself: built over Thrift (ANSI on) and in a session (ANSI off); its docs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest
from incremental import inside
from kit.formats import decoders_built
from kit.warehouse import INTERPRETED, PROFILES, QUICK, ROOT, DbtRun, Warehouse, conf, running

SCHEMA = "spark_cdc"
# The health of more tables needs more tables.
WITHOUT = ("--exclude", "test_type:data", "demo__health")
# A change table and a stream, without data tests.
SOME = ("--select", "demo_orders__ct+", "demo_accounts__chunks+", *WITHOUT)


@dataclass(frozen=True)
class Session:
    """`dbt build` of the project in a Spark session, which runs while the tests run."""

    home: Path
    build: subprocess.Popen[bytes]
    prefixes: tuple[str, ...]

    def tables(self, schema: str) -> Path:
        """Wait for its end, and give the folder with the tables."""
        code = self.build.wait()
        assert code == 0, (self.home / "output").read_text(encoding="utf-8")
        return self.home / "spark" / "warehouse" / f"{schema}.db"


# The data tests of some tables are enough: the tables are compared with tables that passed all.
TESTED = "demo_orders__ct+"
# One table, and the change events of a table of each other format; in `make test-all` all tables.
FAMILIES = (
    *("demo_orders", "demo_accounts__changes", "demo_users__changes", "demo_articles__changes"),
    *("demo_parts__changes", "demo_invoices__changes"),
)


@pytest.fixture(scope="module", params=[FAMILIES, pytest.param(("demo",), marks=pytest.mark.slow)])
def in_session(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Session]:
    """The project in a session: the nodes with one of these prefixes."""
    home = tmp_path_factory.mktemp("session")
    given = (PROFILES / "profiles.yml").read_text()
    # another time zone than the server's: no result may depend on it
    settings_of_spark = (
        "{spark.sql.shuffle.partitions: '2', spark.sql.session.timeZone: Asia/Kolkata}"
    )
    few = f"method: session\n      server_side_parameters: {settings_of_spark}"
    (home / "profiles.yml").write_text(given.replace("method: session", few))
    settings = {
        "SPARK_CDC_DIR": str(home / "spark"),
        "DBT_PROFILES_DIR": str(home),
        "DBT_TARGET_PATH": str(home / "target"),
        "DBT_LOG_PATH": str(home / "logs"),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "JDK_JAVA_OPTIONS": QUICK,
    }
    command = [sys.executable, "-m", "spark_cdc_udfs.dbt_session", "build", "--target", "session"]
    # with what they read: a table of NetIQ reads the logs of others
    chosen = [
        f"resource_type:{kind},+{name}*" for kind in ("seed", "model") for name in request.param
    ]
    chosen.append(TESTED)
    # it reads the tables of all formats
    without = ["--exclude", "demo__health+"] if request.param == FAMILIES else []
    with (home / "output").open("wb") as output:
        build = subprocess.Popen(
            [*command, "--select", *chosen, *without, "--indirect-selection", "empty"],
            cwd=ROOT,
            env=os.environ | settings,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    yield Session(home, build, request.param)
    build.kill()
    build.wait()


def tables(run: DbtRun) -> Mapping[str, Mapping[str, Any]]:
    return {
        node["name"]: node
        for node in run.artifact("manifest")["nodes"].values()
        if node["resource_type"] in ("seed", "model") and node["config"]["materialized"] != "view"
    }


def test_everything_is_built_and_every_contract_holds(built: DbtRun) -> None:
    results = built.artifact("run_results")["results"]
    # dbt lists the exposure, for which it does nothing
    nodes = [result for result in results if not result["unique_id"].startswith("exposure.")]
    assert {result["status"] for result in nodes} == {"success", "pass"}


# Columns that differ from run to run.
OF_THE_RUN = ("cdc_batch", "checked_at", "last_landed_at", "lag_seconds")


def differences(
    warehouse: Warehouse, built: DbtRun, folder: Path, only: Collection[str] | None = None
) -> list[str]:
    """Say in which rows the tables of `warehouse` differ from those in parquet files."""
    different = []
    for name, node in tables(built).items():
        if only is not None and name not in only:
            continue
        columns = [f"`{column}`" for column in node["columns"] if column not in OF_THE_RUN]
        names = ", ".join(columns)
        here = f"select {names} from {SCHEMA}.{name}"
        there = f"select {names} from parquet.`{inside.folder_of(folder, name)}`"
        if difference := warehouse.difference(here, there):
            different.append(f"{name}: {difference}")
    return different


def test_a_session_gives_the_same_tables(
    warehouse: Warehouse, built: DbtRun, in_session: Session
) -> None:
    chosen = {
        name: node for name, node in tables(built).items() if name.startswith(in_session.prefixes)
    }
    folders = {Path(node["original_file_path"]).parent.name for node in chosen.values()}
    assert folders >= set(decoders_built()) & {path.name for path in (ROOT / "models").iterdir()}
    different = differences(warehouse, built, in_session.tables(SCHEMA), chosen)
    assert not different, "\n".join(different)


@pytest.mark.slow
def test_a_table_format_gives_the_same_tables(
    warehouse: Warehouse, built: DbtRun, lake: Warehouse
) -> None:
    parquet = warehouse.home / "server" / "warehouse" / f"{SCHEMA}.db"
    given = ["--vars", f"{{spark_cdc_file_format: {lake.table_format}}}"]
    # The seed is loaded over an existing table. Second runs of models are in laws/.
    seed = f"{SCHEMA}.demo_orders__ct"
    lake.sql(
        f"create schema if not exists {SCHEMA}",
        f"create table {seed} using {lake.table_format}"
        f" as select * from parquet.`{parquet}/demo_orders__ct`",
    )
    some = lake.dbt(ROOT, "build", *SOME, *given, profiles=PROFILES)
    for table in (seed, f"{SCHEMA}.demo_orders"):
        described = dict(row[:2] for row in lake.sql(f"describe extended {table}"))
        assert described["Provider"] == lake.table_format
    different = differences(lake, built, parquet, some.results())
    assert not different, "\n".join(different)


# Rows of demo__health by hand, from the comments of the seeds and the pages of the formats.
HEALTH: dict[str, dict[str, Any]] = {
    "orders": {
        "cdc_source": "qlik_change_table",
        "raw_rows": 27,
        "used_rows": 21,
        "no_op_rows": 0,
        "quarantined_rows": 6,
        "events": 14,
        "reasons": {
            "bad_change_seq": 1,
            "operation_mismatch": 1,
            "orphan_before_image": 1,
            "sequence_conflict": 2,
            "unknown_operation": 1,
        },
        "last_commit_at": "2026-03-02 09:20:00",
        "lag_seconds": 21600,
        "events_in_future": 0,
        "unread_rows": None,
        "orphaned_before_images": 1,
        "updates_of_unknown_keys": 0,
        "inserts_over_existing_keys": 0,
        "deletes_of_unknown_keys": 0,
        "moves_without_before_image": 0,
        "events_with_unknown_columns": 0,
        "open_transactions": None,
        "waiting_rows": 0,
        "examples": 6,
    },
    "invoices": {
        "cdc_source": "qlik_message",
        "raw_rows": 46,
        "used_rows": 19,
        "no_op_rows": 12,
        "quarantined_rows": 15,
        "events": 18,
        "waiting_rows": 1,
        "examples": 15,
    },
    "accounts": {
        "cdc_source": "gbase_capture",
        "raw_rows": 21,
        "quarantined_rows": 5,
        "reasons": dict.fromkeys(
            (
                *("bad_value", "no_begin", "orphan_before_image"),
                *("truncated_record", "unknown_record_type"),
            ),
            1,
        ),
        "orphaned_before_images": 1,
        # the next session commits the transaction that was open
        "open_transactions": 0,
        # there is an update without a before image
        "moves_without_before_image": None,
    },
    "users": {
        "cdc_source": "netiq_event_log",
        "raw_rows": 29,
        "used_rows": 21,
        "no_op_rows": 8,
        "quarantined_rows": 0,
        "reasons": {},
        "updates_of_unknown_keys": 0,
        "inserts_over_existing_keys": 0,
        # of a row that was never seen
        "deletes_of_unknown_keys": 1,
        "waiting_rows": None,
        "examples": 0,
    },
    "parts": {
        "cdc_source": "db2_capture_table",
        "raw_rows": 12,
        "quarantined_rows": 0,
        "updates_of_unknown_keys": 0,
        "events_with_unknown_columns": 0,
        "lag_seconds": 480,
    },
    "articles": {
        "cdc_source": "db2_log_table",
        "events": 9,
        "no_op_rows": 1,
        "quarantined_rows": 0,
        "lag_seconds": 106800,
        # its entry has no key
        "updates_of_unknown_keys": None,
        "moves_without_before_image": None,
    },
}


def test_health_of_the_demo(warehouse: Warehouse, built: DbtRun) -> None:
    special = {
        "reasons": "to_json(quarantined_by_reason)",
        "last_commit_at": "date_format(last_commit_at, 'yyyy-MM-dd HH:mm:ss')",
        "examples": "size(examples)",
    }
    names = list(HEALTH["orders"])
    columns = ", ".join(special.get(name, name) for name in names)
    rows = warehouse.sql(f"select table_name, {columns} from {SCHEMA}.demo__health")
    found = {table: dict(zip(names, values, strict=True)) for table, *values in rows}
    assert found.keys() == HEALTH.keys() and len(rows) == len(found)
    for row in found.values():
        row["reasons"] = row["reasons"] and json.loads(row["reasons"])
    for table, expected in HEALTH.items():
        assert {name: found[table][name] for name in expected} == expected, table
    (line,) = warehouse.sql(
        "select count(distinct checked_at), min(cast(checked_at as string)),"
        " min(last_landed_at between now() - interval 1 day and now()),"
        f" max(size(filter(examples, one -> one.raw is null))) from {SCHEMA}.demo__health"
    )
    assert line == (1, "2026-03-02 15:20:00", True, 0)


def version_in(folder: Path) -> str:
    """The version of the PySpark that is installed in a folder."""
    (pyspark,) = distributions(name="pyspark", path=[str(folder)])
    return pyspark.version


# The nodes for a Spark without Arrow table functions: all except streams of GBase.
CHANGE_TABLES = ("--select", "demo_orders__ct+", *WITHOUT)


@pytest.mark.slow
@pytest.mark.server
@pytest.mark.parametrize(("age", "chosen"), [("newest", SOME), ("oldest", CHANGE_TABLES)])
def test_another_spark_gives_the_same_tables(
    warehouse: Warehouse,
    built: DbtRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    age: str,
    chosen: tuple[str, ...],
) -> None:
    spark = ROOT / f".spark-{age}"
    assert spark.exists(), f"make {spark.name}/.made fetches it, as make test-all does"
    parquet = warehouse.home / "server" / "warehouse" / f"{SCHEMA}.db"
    others = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", f"{spark}:{others}" if others else str(spark))
    with running(tmp_path, *conf(INTERPRETED)) as lake:
        assert lake.sql("select split(version(), ' ')[0]") == [(version_in(spark),)]
        some = lake.dbt(ROOT, "build", *chosen, profiles=PROFILES)
        different = differences(lake, built, parquet, some.results())
        if age == "oldest":
            check_without_functions(lake, version_in(spark))
    assert not different, "\n".join(different)


def check_without_functions(lake: Warehouse, version: str) -> None:
    """Nodes for a newer Spark are left out, one line says so, and a model that calls them stops."""
    log = (lake.home / "server" / "spark.log").read_text()
    [line] = [line for line in log.splitlines() if "left out" in line]
    assert "need Spark 4.1" in line and "spark_cdc_gbase_changes" in line
    assert lake.sql("select spark_cdc_version()")
    streams = ("--select", "+demo_accounts__changes", "--exclude", "test_type:data")
    done = lake.dbt(ROOT, "build", *streams, profiles=PROFILES, check=False)
    message = done.results()["demo_accounts__changes"]["message"]
    assert "needs Spark 4.1 or newer" in message and f"this Spark {version}" in message


def test_every_column_is_documented_with_its_type(warehouse: Warehouse, built: DbtRun) -> None:
    warehouse.dbt(ROOT, "--warn-error", "docs", "generate", profiles=PROFILES)
    manifest, catalog = built.artifact("manifest"), built.artifact("catalog")
    missing, wrong = [], {}
    for node_id, node in {**manifest["nodes"], **manifest["sources"]}.items():
        if node["resource_type"] not in ("model", "seed", "source"):
            continue
        if not node["description"]:
            missing.append(node["name"])
        described = {name for name, column in node["columns"].items() if column["description"]}
        there = catalog["nodes"][node_id]["columns"]
        missing += [f"{node['name']}.{name}" for name in there.keys() - described]
        declared = [
            (name, spelled(column["data_type"])) for name, column in node["columns"].items()
        ]
        rows = warehouse.sql(f"describe table {SCHEMA}.{node['name']}")
        types = [(name, spelled(kind)) for name, kind, _ in rows if kind]
        if declared != types:
            wrong[node["name"]] = (declared, types)
    for macro in manifest["macros"].values():
        is_public = not macro["name"].startswith("_")
        if macro["package_name"] == "spark_cdc" and is_public and not macro["description"]:
            missing.append(f"macro {macro['name']}")
    assert (missing, wrong) == ([], {})
    assert json.dumps(manifest["docs"]).count("__overview__")


def spelled(data_type: str) -> str:
    """Write a type without what does not count: case, blanks and quotes."""
    return data_type.lower().replace(" ", "").replace("`", "")
