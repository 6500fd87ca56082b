"""Thrift servers of the tests, one for each table format, and dbt and SQL against them."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyhive import hive  # type: ignore[import-untyped]  # it ships no types
from spark_cdc_udfs.server import stopping
from spark_cdc_udfs.server.directory import wait_for
from thrift.Thrift import TException  # type: ignore[import-untyped]  # it ships no types

from kit.closing import tolerate_dropped_views
from kit.dbt_process import run_dbt

tolerate_dropped_views()

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
PROFILES = ROOT / "profiles"


@dataclass(frozen=True)
class DbtRun:
    """The result of one dbt command."""

    code: int
    output: str
    target: Path

    def artifact(self, name: str) -> dict[str, Any]:
        """Read one of the JSON files that dbt wrote, `run_results` or `manifest`."""
        found: dict[str, Any] = json.loads((self.target / f"{name}.json").read_text())
        return found

    def results(self) -> dict[str, dict[str, Any]]:
        """Give the result of each node, by its name (the last part of its id)."""
        results = self.artifact("run_results")["results"]
        return {result["unique_id"].split(".")[-1]: result for result in results}


@dataclass(frozen=True)
class Warehouse:
    """A running Thrift server."""

    host: str
    port: int
    home: Path
    table_format: str = "parquet"

    def dbt(
        self,
        project: Path,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        profiles: Path | None = None,
        check: bool = True,
    ) -> DbtRun:
        """Run dbt on `project` and give the result; with `check`, fail if dbt did.

        Profiles are in `profiles`, or else in the project.
        """
        run = self.run_folder(project)
        run.mkdir(parents=True, exist_ok=True)
        target = Path((env or {}).get("DBT_TARGET_PATH", run / "target"))
        settings = {
            "DBT_PROFILES_DIR": str(profiles or project),
            "DBT_TARGET_PATH": str(target),
            "DBT_LOG_PATH": str(run / "logs"),
            "DBT_USE_COLORS": "false",
            "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
            "SPARK_CDC_HOST": self.host,
            "SPARK_CDC_PORT": str(self.port),
        }
        settings |= dict(env or {})
        with tempfile.NamedTemporaryFile(dir=run) as file:
            said = Path(file.name)
            code = run_dbt(arguments, project, os.environ | settings, said)
            output = said.read_text(encoding="utf-8")
        if check and code != 0:
            pytest.fail(f"dbt {' '.join(arguments)} in {project}:\n{output}", pytrace=False)
        return DbtRun(code, output, target)

    def compiled(self, project: Path, text: str, profiles: Path | None = None) -> str:
        """Compile a text that calls macros, and give the SQL."""
        options = ("--quiet", "compile", "--output", "json", "--inline", text)
        output = self.dbt(project, *options, profiles=profiles).output
        sql: str = json.loads(output[output.index("{") :])["compiled"]
        return sql

    def run_folder(self, project: Path) -> Path:
        """Where dbt puts target and logs of a project."""
        return self.home / "dbt" / f"{project.parent.name}-{project.name}"

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements and give the rows of the last one that gives any."""
        given = (self.host, self.port, threading.get_ident())
        try:
            return rows_of(connection(*given), statements)
        except (TException, OSError):  # the server was killed, and is there again
            connection.cache_clear()
            return rows_of(connection(*given), statements)

    def empty(self) -> None:
        """Drop everything that earlier tests left."""
        for (schema,) in self.sql("show schemas"):
            if schema != "default":
                self.sql(f"drop schema `{schema}` cascade")
        for row in self.sql("show tables in default"):
            self.sql(f"drop table if exists default.`{row[1]}`")

    def difference(self, built: str, expected: str) -> str:
        """Say how the rows of two queries differ, with repetitions; '' if they do not.

        Values are compared by their text, which shows NULL, NaN and -0.0.
        """
        rows = [Counter(map(repr, self.sql(query))) for query in (expected, built)]
        missing, extra = rows[0] - rows[1], rows[1] - rows[0]
        if not missing and not extra:
            return ""
        some = "\n".join([*list(missing)[:3], "instead:", *list(extra)[:3]])
        return f"{missing.total()} rows missing, {extra.total()} too many; missing are\n{some}"


def rows_of(connected: Any, statements: Sequence[str]) -> list[tuple[Any, ...]]:
    """Run statements and give the rows of the last one that gives any."""
    rows: list[tuple[Any, ...]] = []
    with contextlib.closing(connected.cursor()) as cursor:
        for statement in statements:
            cursor.execute(statement)
            if cursor.description:
                rows = cursor.fetchall()
    return rows


@functools.cache
def connection(host: str, port: int, thread: int) -> Any:
    """A connection to a server, which a thread keeps: each one has a session of its own."""
    return hive.connect(host, port, username="test")


def free_port() -> int:
    """Find a free port that no system assigns to clients."""
    for port in random.SystemRandom().sample(range(15000, 30000), 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("a hundred ports are taken")


# Most code of a test runs once: C1 alone needs a fifth less CPU than C1 and C2. It needs a larger
# code cache, or Java discards compiled code. A child process is started without a copy of the
# memory map (Hadoop calls chmod for each file).
QUICK = (
    "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m"
    " -Djdk.lang.Process.launchMechanism=VFORK"
)

# The server of parquet tables works for ten minutes or more: C2 for the code that runs most often.
WARM = (
    "-XX:+UseSerialGC -XX:ReservedCodeCacheSize=512m -Djdk.lang.Process.launchMechanism=VFORK"
    " -XX:Tier4InvocationThreshold=30000 -XX:Tier4MinInvocationThreshold=3000"
    " -XX:Tier4CompileThreshold=60000 -XX:Tier4BackEdgeThreshold=200000"
)

# The settings of `make test-all`, which users have as well. In `make test` only the session has
# them all. Without code generation small tables are faster. Without a metastore a statement takes a
# quarter less; Iceberg needs one. Spark writes the text of an adaptive plan again after each stage:
# without such plans large statements take a third less. Tests of Iceberg and Delta look at files,
# and an adaptive plan writes few rows into one.
IS_ALL = bool(os.environ.get("SPARK_CDC_TEST_ALL"))
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
IN_MEMORY = {"spark.sql.catalogImplementation": "in-memory"}
PLANNED_ONCE = {"spark.sql.adaptive.enabled": "false"}
if IS_ALL:
    INTERPRETED, IN_MEMORY, PLANNED_ONCE = {}, {}, {}

# Small tables: each partition is a task, and each column with a range takes time. Here neither
# format keeps ranges of columns by default; otherwise Delta keeps them for 32 columns and Iceberg
# for 100. So even wide tables have only the ranges that a model asks for.
SMALL = {
    "spark.driver.memory": "3g",
    "spark.sql.shuffle.partitions": "2",
    # for the plans on Spark's web pages, which nobody looks at here
    "spark.sql.ui.explainMode": "simple",
    # and which it would keep of the last thousand statements
    "spark.sql.maxPlanStringLength": "2000000",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.hadoop.hive.server2.async.exec.threads": "8",
    "spark.databricks.delta.properties.defaults.dataSkippingNumIndexedCols": "0",
    "spark.sql.catalog.spark_catalog.table-default.write.metadata.metrics"
    ".max-inferred-column-defaults": "0",
}

# The servers of the table formats work in different time zones: no result may depend on them.
ZONES = {"parquet": "UTC", "iceberg": "America/St_Johns", "delta": "Asia/Kolkata"}

SERVER = (sys.executable, "-m", "spark_cdc_udfs.server")


def conf(settings: Mapping[str, str]) -> list[str]:
    """Write settings of Spark as options of the server."""
    return [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]


def start_server(home: Path, port: int, *options: str, java: str = QUICK) -> None:
    """Start a Thrift server in `home` with these options."""
    # Settings that only Delta or Iceberg know are harmless elsewhere.
    # tests of the server itself give its token; others need none
    settings = {"spark.hadoop.hive.server2.authentication": "NONE"} | SMALL
    settings["spark.driver.extraJavaOptions"] = java
    place = ["--dir", str(home / "server"), "--port", str(port)]
    started = subprocess.run(
        [*SERVER, "start", *place, *conf(settings), *options],
        capture_output=True,
        text=True,
        check=False,
    )
    if started.returncode != 0:
        pytest.fail(started.stdout + started.stderr, pytrace=False)


def stop_server(home: Path) -> None:
    """Stop the Thrift server in `home`, if one runs there."""
    subprocess.run(
        [*SERVER, "stop", "--dir", str(home / "server")], check=True, capture_output=True
    )


@contextlib.contextmanager
def running(home: Path, *options: str, table_format: str = "parquet") -> Iterator[Warehouse]:
    """Start a Thrift server of its own for one test, and stop it at the end."""
    port = free_port()
    start_server(home, port, "--format", table_format, *options)
    try:
        yield Warehouse("127.0.0.1", port, home, table_format)
    finally:
        stop_server(home)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that processes of this machine share."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def answers(home: Path, seconds: float = 120) -> bool:
    """Say whether a server runs in `home` and answers.

    On a busy machine its answer may come late. So the server is asked again for some `seconds`.
    """
    status = [*SERVER, "status", "--dir", str(home / "server")]
    code = stopping.NOT_ANSWERING

    def is_known() -> bool:
        nonlocal code
        code = subprocess.run(status, capture_output=True, check=False).returncode
        return code != stopping.NOT_ANSWERING

    wait_for(is_known, seconds, pause=1)
    return code == 0


def shared_server(base: Path, table_format: str) -> Warehouse:
    """The server of a table format in the folder `base`; the first process that asks starts it."""
    base.mkdir(parents=True, exist_ok=True)
    home = base / table_format
    with locked(base / f"{table_format}.lock"):
        if not answers(home):
            home.mkdir(exist_ok=True)
            stop_server(home)  # a server that does not answer
            # tables of one that was killed: a catalog in memory no longer knows them
            for left in ("warehouse", "metastore"):
                shutil.rmtree(home / "server" / left, ignore_errors=True)
            zone = {"spark.sql.session.timeZone": ZONES[table_format]}
            # nobody kills it, so its metastore need not wait for the disk
            java = f"{WARM if table_format == 'parquet' else QUICK} -Xmn1g"
            java += " -Dderby.system.durability=test"
            catalog = {} if table_format == "iceberg" else IN_MEMORY
            # unit tests have their rows in the text of the statement, and Spark plans with them
            own = {"spark.driver.memory": "5g"} | PLANNED_ONCE if table_format == "parquet" else {}
            start_server(
                home,
                port := free_port(),
                *("--format", table_format),
                *conf(INTERPRETED | zone | catalog | own),
                java=java,
            )
            (home / "port").write_text(str(port))
    return Warehouse("127.0.0.1", int((home / "port").read_text()), home, table_format)


def stop_shared_servers(base: Path) -> None:
    """Stop the servers that `shared_server` started in `base`."""
    for port in base.glob("*/port"):
        stop_server(port.parent)


def install_package(project: Path) -> None:
    """Install this package in a dbt project, as `dbt deps` does with a local one: by a link."""
    (project / "packages.yml").write_text(f"packages: [{{local: {ROOT}}}]\n")
    link_package(project)


def link_package(project: Path) -> None:
    """Link this package where `dbt deps` would, in a project that already names it."""
    packages = project / "dbt_packages"
    packages.mkdir(exist_ok=True)
    if not (packages / "spark_cdc").exists():
        (packages / "spark_cdc").symlink_to(ROOT)
