"""One Thrift server for the whole test session, and dbt and SQL against it."""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from dbt_process import run_dbt
from pyhive import hive  # type: ignore[import-untyped]  # it ships no types
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # it ships no types

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
PROFILES = ROOT / "profiles"


@dataclass(frozen=True)
class DbtRun:
    """What one dbt command did."""

    code: int
    output: str
    target: Path

    def artifact(self, name: str) -> dict[str, Any]:
        """Read one of the JSON files that dbt wrote, `run_results` or `manifest`."""
        found: dict[str, Any] = json.loads((self.target / f"{name}.json").read_text())
        return found

    def results(self) -> dict[str, dict[str, Any]]:
        """Give what became of each node, by its name (the last part of its id)."""
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
        """Run dbt on `project` and give what it did; with `check`, fail where dbt did.

        Profiles are those in `profiles`, else those beside the project.
        """
        run = self.home / "dbt" / project.name
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

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements and give the rows of the last one that has any."""
        rows: list[tuple[Any, ...]] = []
        with (
            contextlib.closing(hive.connect(self.host, self.port, username="test")) as connection,
            contextlib.closing(connection.cursor()) as cursor,
        ):
            for statement in statements:
                cursor.execute(statement)
                if cursor.description:
                    rows = cursor.fetchall()
        return rows

    def difference(self, built: str, expected: str) -> str:
        """Say how the rows of two queries differ, repetitions counted; '' if they do not.

        Values are compared by their text, in which NULL, NaN and -0.0 are what they are.
        """
        rows = [Counter(map(repr, self.sql(query))) for query in (expected, built)]
        missing, extra = rows[0] - rows[1], rows[1] - rows[0]
        if not missing and not extra:
            return ""
        some = "\n".join([*list(missing)[:3], "instead:", *list(extra)[:3]])
        return f"{missing.total()} rows missing, {extra.total()} too many; missing are\n{some}"


@dataclass(frozen=True)
class Session:
    """`dbt build` of the project in a Spark session, which goes on beside the tests."""

    home: Path
    build: subprocess.Popen[bytes]

    def tables(self, schema: str) -> Path:
        """Wait for its end, and give the folder that has the tables."""
        code = self.build.wait()
        assert code == 0, (self.home / "output").read_text(encoding="utf-8")
        return self.home / "spark" / "warehouse" / f"{schema}.db"


def free_port() -> int:
    """Find a port on which nobody listens, and which no system gives to whoever asks for any."""
    for port in random.SystemRandom().sample(range(15000, 30000), 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("a hundred ports are taken")


# Without Python's search for cycles, of which sqlfluff leaves few: that takes half of its time.
# Its own `--processes` would bring it back.
SQLFLUFF = (
    *(sys.executable, "-c"),
    "import gc; gc.disable(); from sqlfluff.cli.commands import cli; cli()",
    *("lint", "--config", ".sqlfluff"),
)


def lint(compiled: Path) -> list[str]:
    """Say what is wrong with the layout of the SQL that dbt has compiled, line by line."""
    paths = sorted(compiled.rglob("*.sql"), key=lambda path: path.stat().st_size)
    # sqlfluff is not asked for the end of a file, where dbt leaves no newline
    findings = [
        f"{path}: ends with blank space"
        for path in paths
        if path.read_text(encoding="utf-8") != path.read_text(encoding="utf-8").rstrip()
    ]

    def run(some: Sequence[Path]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*SQLFLUFF, *map(str, some)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    with ThreadPoolExecutor() as pool:
        for done in pool.map(run, filter(None, [paths[0::2], paths[1::2]])):
            if done.returncode:
                findings += done.stdout.splitlines()
    return findings


# Little is done often: Java compiles it once, not a second time for speed, which is a third of all
# work. What is compiled so needs more room, or Java throws it away and begins anew.
QUICK = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m"

# The one server for most tests lives long enough to compile what it does most often for speed.
WARM = (
    "-XX:Tier4InvocationThreshold=30000 -XX:Tier4MinInvocationThreshold=3000"
    " -XX:Tier4CompileThreshold=60000 -XX:Tier4BackEdgeThreshold=200000"
    " -XX:+UseSerialGC -XX:ReservedCodeCacheSize=512m"
)

SERVER = (sys.executable, "-m", "spark_cdc_udfs.server")


def start_server(home: Path, port: int, *options: str) -> None:
    """Start a Thrift server in `home` with these options."""
    # The tables of tests are small: more partitions are more to wait for. Nor do more than a few
    # statements run at a time.
    settings = {
        "spark.driver.memory": "3g",
        "spark.driver.extraJavaOptions": QUICK,
        "spark.sql.shuffle.partitions": "2",
        "spark.hadoop.hive.server2.async.exec.threads": "4",
    }
    small = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    place = ["--dir", str(home / "server"), "--port", str(port)]
    started = subprocess.run(
        [*SERVER, "start", *place, *small, *options], capture_output=True, text=True, check=False
    )
    if started.returncode != 0:
        pytest.fail(started.stdout + started.stderr, pytrace=False)


# Without code that Spark generates and Java compiles: sooner done with small tables. Nothing may
# come out otherwise; the demo in a session, generated workloads and increments on parquet have it.
INTERPRETED = (
    *("--conf", "spark.sql.codegen.wholeStage=false"),
    *("--conf", "spark.sql.codegen.factoryMode=NO_CODEGEN"),
)


def unsynced(java: str) -> tuple[str, str]:
    """Options of a server that nobody kills: its metastore does not wait for the disk."""
    return ("--conf", f"spark.driver.extraJavaOptions={java} -Dderby.system.durability=test")


# Neither format keeps the range of any column unasked. By default Delta does for the first 32 and
# Iceberg for 100: tables of more have nothing but what the models ask for.
UNASKED = (
    *("--conf", "spark.databricks.delta.properties.defaults.dataSkippingNumIndexedCols=0"),
    "--conf",
    "spark.sql.catalog.spark_catalog.table-default.write.metadata.metrics"
    ".max-inferred-column-defaults=0",
)


@contextlib.contextmanager
def running(home: Path, *options: str, table_format: str = "parquet") -> Iterator[Warehouse]:
    """Start a Thrift server with these options, and stop it at the end."""
    port = free_port()
    start_server(home, port, "--format", table_format, *options)
    try:
        yield Warehouse("127.0.0.1", port, home, table_format)
    finally:
        stop = [*SERVER, "stop", "--dir", str(home / "server")]
        subprocess.run(stop, check=True, capture_output=True)


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    """Give one server to all tests."""
    home = tmp_path_factory.mktemp("warehouse")
    with running(home, *unsynced(WARM)) as started:
        yield started


@contextlib.contextmanager
def interpreting(warehouse: Warehouse) -> Iterator[None]:
    """Do without generated code; a setting holds for all clients."""
    settings = [word for word in INTERPRETED if word != "--conf"]
    warehouse.sql(*(f"set {setting}" for setting in settings))
    yield
    warehouse.sql(*(f"reset {setting.split('=')[0]}" for setting in settings))


@pytest.fixture(scope="module")
def interpreted(warehouse: Warehouse) -> Iterator[None]:
    """Do without generated code in the tests of a module."""
    with interpreting(warehouse):
        yield


@pytest.fixture(scope="session", params=["iceberg", "delta"])
def lake(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Warehouse]:
    """Give a server for each table format, to all tests that want one."""
    table_format: str = request.param
    home = tmp_path_factory.mktemp(table_format)
    options = (*INTERPRETED, *unsynced(QUICK), *UNASKED)
    with running(home, *options, table_format=table_format) as started:
        yield started


# All tables, and the data tests of some: the tables are compared with those that have passed all.
FEWER_TESTS = (
    *("--select", "resource_type:seed", "resource_type:model", "demo_orders__ct+"),
    *("--indirect-selection", "empty"),
)


@pytest.fixture(scope="session")
def in_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """The whole project in a session."""
    home = tmp_path_factory.mktemp("session")
    given = (PROFILES / "profiles.yml").read_text()
    few = "method: session\n      server_side_parameters: {spark.sql.shuffle.partitions: '2'}"
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
    with (home / "output").open("wb") as output:
        build = subprocess.Popen(
            [*command, *FEWER_TESTS],
            cwd=ROOT,
            env=os.environ | settings,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    yield Session(home, build)
    build.kill()
    build.wait()


class TogetherByServer(LoadScopeScheduling):  # type: ignore[misc]  # a class without types: see its import
    """Where tests run in several processes: those that need one server run in one of them."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::")[0].rsplit("/")[-1].removesuffix(".py")
        if file in ("test_cluster", "test_demo") or nodeid.endswith(("[iceberg]", "[delta]")):
            return "the demo, and table formats"
        if file.startswith(
            ("test_gbase_", "test_simulation", "test_make", "test_server", "test_crashes")
        ):
            return file
        return "one server"


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> TogetherByServer:
    return TogetherByServer(config, log)


@pytest.fixture(scope="session")
def built(warehouse: Warehouse, in_session: Session) -> DbtRun:
    """`dbt build` of the whole project over Thrift, while it is built in a session, too."""
    with interpreting(warehouse):
        return warehouse.dbt(ROOT, "build", profiles=PROFILES)
