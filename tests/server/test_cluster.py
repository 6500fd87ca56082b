"""A cluster: a standalone master and its workers, which have a Python of their own.

All of it runs on this machine and listens only on the loopback address. `make test` has one worker
and the metastore of the server. `make test-all` also has two workers and a metastore in PostgreSQL.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
import pytest
from kit.warehouse import (
    INTERPRETED,
    PROFILES,
    QUICK,
    ROOT,
    DbtRun,
    Warehouse,
    conf,
    free_port,
    running,
)
from package.test_demo import differences
from spark_cdc_udfs import __version__
from spark_cdc_udfs.server.directory import wait_for
from spark_cdc_udfs.server.java import find_java

pytestmark = pytest.mark.server

USER = "metastore"

# Debian and Homebrew do not put them on PATH.
POSTGRESQL = max(
    (
        folder
        for place in (
            "usr/lib/postgresql/*",
            "opt/homebrew/opt/postgresql@*",
            "usr/local/opt/postgresql@*",
        )
        for folder in Path("/").glob(f"{place}/bin")
    ),
    key=lambda folder: int(folder.parent.name.removeprefix("postgresql@")),
    default=Path(shutil.which("pg_ctl") or "").parent,
)


@dataclass(frozen=True)
class Cluster:
    """A master and its workers. Their files, and the files of the executors, are in `folder`."""

    url: str
    folder: Path
    environment: dict[str, str]
    workers: Sequence[str]

    @property
    def options(self) -> list[str]:
        """The settings with which the server runs on the cluster."""
        options = ["--master", self.url, "--conf", "spark.driver.host=127.0.0.1"]
        # An executor on each worker uses half of the worker: so two servers have room.
        cores = 2 // len(self.workers)
        options += ["--conf", f"spark.executor.cores={cores}", "--conf", "spark.cores.max=2"]
        for process in ("driver", "executor"):
            options += ["--conf", f"spark.{process}.extraJavaOptions={QUICK}"]
        return [*options, *conf(INTERPRETED)]

    def python(self, code: str) -> subprocess.CompletedProcess[str]:
        """Run code with the Python of the workers, outside of Spark."""
        return subprocess.run(
            ["python3", "-c", code],
            cwd=self.folder / self.workers[0],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def python_starts(self) -> list[str]:
        """Give the time zone with which the Python of the workers was started, each time."""
        return (self.folder / "starts").read_text().splitlines()


@dataclass(frozen=True)
class Postgres:
    """A running PostgreSQL with one user, USER."""

    port: int
    password: str

    @property
    def url(self) -> str:
        """The database, for Java."""
        return f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"

    def sql(self, query: str) -> list[str]:
        """Give the rows of a query with one column."""
        done = subprocess.run(
            [str(POSTGRESQL / "psql"), "-A", "-t", "-c", query, self.url.removeprefix("jdbc:")],
            env=os.environ | {"PGUSER": USER, "PGPASSWORD": self.password},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()


def executable(path: Path, *lines: str) -> None:
    """Write a program for the shell."""
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)


def alive_workers(port: int) -> int | None:
    """Ask the web page of a master how many workers it has; None if it does not answer."""
    with (
        contextlib.suppress(OSError),
        urllib.request.urlopen(f"http://127.0.0.1:{port}/json/", timeout=5) as page,
    ):
        return int(json.load(page)["aliveworkers"])
    return None


@contextlib.contextmanager
def daemon(cluster: Cluster, name: str, arguments: Sequence[str]) -> Iterator[None]:
    """Run one of Spark's daemons in a folder of its name."""
    folder = cluster.folder / name
    folder.mkdir()
    spark = Path(cluster.environment["SPARK_HOME"], "bin", "spark-class")
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [spark, *arguments], cwd=folder, env=cluster.environment, stdout=log, stderr=log
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(
    scope="module",
    params=[("worker-1",), pytest.param(("worker-1", "worker-2"), marks=pytest.mark.slow)],
    ids=["one worker", "two workers"],
)
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    port, page = free_port(), free_port()
    # With -S a package that is only a link to its source, as `make env` installs it, is not found.
    # Packages in site-packages are, by PYTHONPATH.
    (folder / "bin").mkdir()
    executable(
        folder / "bin" / "python3",
        f"echo $TZ >> '{folder}/starts'",
        f"exec '{sys.executable}' -S \"$@\"",
    )
    environment = {
        "JAVA_HOME": str(find_java(os.environ).home),
        "PATH": f"{folder}/bin:/usr/bin:/bin",
        "PYTHONPATH": sysconfig.get_path("platlib"),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK,
        "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
        # not on the server
        "TZ": "Asia/Kolkata",
    }
    made = Cluster(f"spark://127.0.0.1:{port}", folder, environment, request.param)
    deploy = "org.apache.spark.deploy"
    address = ["--host", "127.0.0.1", "--webui-port"]
    with contextlib.ExitStack() as daemons:
        master = [f"{deploy}.master.Master", *address, str(page), "--port", str(port)]
        daemons.enter_context(daemon(made, "master", master))
        assert wait_for(lambda: alive_workers(page) == 0, 60)
        for name in made.workers:
            work = ["--cores", "4", "--memory", "2g", "--work-dir", str(folder / name)]
            worker = [f"{deploy}.worker.Worker", *address, "0", *work, made.url]
            daemons.enter_context(daemon(made, name, worker))
        # Before that all executors would be on the first worker.
        assert wait_for(lambda: alive_workers(page) == len(made.workers), 60)
        yield made


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    if not (POSTGRESQL / "initdb").exists():
        missing = "there is no PostgreSQL (Debian, Ubuntu: sudo apt-get install postgresql)"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
    # PostgreSQL refuses to run as root, and its user cannot read the folders of root's tests.
    user: dict[str, Any] = {}
    if os.geteuid() == 0:
        user = {"user": "postgres", "group": "postgres", "extra_groups": []}
    made = Postgres(free_port(), secrets.token_hex())
    with tempfile.TemporaryDirectory(prefix="spark-cdc-postgres-") as folder:
        (password := Path(folder, "password")).write_text(made.password)
        if user:
            shutil.chown(folder, "postgres")
            shutil.chown(password, "postgres")

        def run(program: str, *arguments: str) -> None:
            with Path(folder, "log").open("a") as log:
                done = subprocess.run(
                    [POSTGRESQL / program, "-D", f"{folder}/data", *arguments],
                    cwd=folder,
                    stdout=log,
                    stderr=log,
                    check=False,
                    **user,
                )
            assert done.returncode == 0, Path(folder, "log").read_text()

        run(
            "initdb",
            *("--username", USER, "--pwfile", str(password), "--auth", "scram-sha-256"),
            *("--encoding", "UTF8", "--locale", "C", "--no-sync"),
        )
        options = f"-h 127.0.0.1 -p {made.port} -c unix_socket_directories= -c fsync=off"
        run("pg_ctl", "start", "-w", "-o", options)
        try:
            yield made
        finally:
            run("pg_ctl", "stop", "-w", "-m", "immediate")


@pytest.fixture(scope="module")
def on_cluster(
    cluster: Cluster, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Warehouse]:
    """A server on the cluster; on one with two workers, with the metastore in PostgreSQL."""
    home = tmp_path_factory.mktemp("on_cluster")
    if len(cluster.workers) == 1:
        with running(home, *cluster.options) as started:
            yield started
        return
    postgres: Postgres = request.getfixturevalue("postgres")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CDC_METASTORE_USER", USER)
        patch.setenv("SPARK_CDC_METASTORE_PASSWORD", postgres.password)
        with running(home, *cluster.options, "--metastore-url", postgres.url) as started:
            yield started


def test_functions_run_in_the_python_of_the_workers(
    cluster: Cluster, on_cluster: Warehouse
) -> None:
    assert "No module named 'spark_cdc_udfs'" in cluster.python("import spark_cdc_udfs").stderr
    assert cluster.python("import pandas, pyarrow").returncode == 0
    query = "select spark_cdc_version(), count(*) from range(0, 1000, 1, 8) group by 1"
    assert on_cluster.sql(query) == [(__version__, 1000)]
    # The time zones of the executors; the two above have the zone of the workers.
    assert "UTC" in cluster.python_starts()


def test_the_demo_has_the_same_result(
    cluster: Cluster, on_cluster: Warehouse, warehouse: Warehouse, built: DbtRun
) -> None:
    chosen = ["--select", "demo_orders__ct+", "--exclude", "test_type:data", "demo__health"]
    made = on_cluster.dbt(ROOT, "build", *chosen, profiles=PROFILES).results()
    parquet = warehouse.home / "server" / "warehouse" / "spark_cdc.db"
    assert on_cluster.sql("set spark.master") == [("spark.master", cluster.url)]
    different = differences(on_cluster, built, parquet, made)
    assert not different, "\n".join(different)
    for name in cluster.workers:
        # Whoever runs a task fetches the package first.
        assert list((cluster.folder / name).glob("app-*/*/spark_cdc_udfs.zip"))


# The number of workers says which cluster has the metastore in PostgreSQL.
IN_POSTGRESQL = pytest.mark.parametrize(
    "cluster",
    [pytest.param(("worker-1", "worker-2"), marks=pytest.mark.slow, id="two workers")],
    indirect=True,
)


@IN_POSTGRESQL
def test_metastore_is_in_postgresql(
    cluster: Cluster, on_cluster: Warehouse, postgres: Postgres
) -> None:
    on_cluster.sql("create table kept_in_postgresql (id int) using parquet")
    assert "kept_in_postgresql" in postgres.sql('select "TBL_NAME" from "TBLS"')


@IN_POSTGRESQL
def test_password_is_nowhere(cluster: Cluster, on_cluster: Warehouse, postgres: Postgres) -> None:
    assert postgres.password not in str(on_cluster.sql("set"))
    for folder in (cluster.folder, on_cluster.home):
        files = [path for path in folder.rglob("*") if path.is_file()]
        assert files
        for path in files:
            assert postgres.password.encode() not in path.read_bytes(), path


@IN_POSTGRESQL
def test_executors_without_pandas_get_one_line(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "pandas.py").write_text("raise ImportError('there is no pandas')")
    python = tmp_path / "python"
    executable(python, f'PYTHONPATH="{tmp_path}:$PYTHONPATH" exec python3 "$@"')
    with (
        pytest.raises(pytest.fail.Exception) as failed,
        running(tmp_path, *cluster.options, "--conf", f"spark.pyspark.python={python}"),
    ):
        pass
    assert "the Python of the executors does not do (there is no pandas)" in str(failed.value)
