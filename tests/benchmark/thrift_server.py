"""The benchmark's Thrift server, SQL on it, and dbt against it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyhive import hive  # type: ignore[import-untyped]  # it ships no types

HERE = Path(__file__).parent
SCHEMA = "benchmark"


def free_port() -> int:
    """Find a port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def say(text: str) -> None:
    """Tell what is going on."""
    print(time.strftime("%H:%M:%S"), text, flush=True)


@contextlib.contextmanager
def server(home: Path, port: int, table_format: str = "parquet") -> Iterator[None]:
    """A Thrift server that logs its events, in an empty directory."""
    logs = home / "events"
    logs.mkdir(parents=True)
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file:{logs}",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }
    command = [sys.executable, "-m", "spark_cdc_udfs.server"]
    place = ["--dir", str(home / "server")]
    chosen = ["--format", table_format]
    options = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    subprocess.run([*command, "start", *place, "--port", str(port), *chosen, *options], check=True)
    try:
        yield
    finally:
        subprocess.run([*command, "stop", *place], check=True)


class Spark:
    """The Thrift server as the benchmark uses it."""

    def __init__(self, port: int) -> None:
        connection = hive.connect("127.0.0.1", port, username="benchmark")
        self.cursor = connection.cursor()
        self.sql(f"create schema {SCHEMA}")

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        """Run one statement and give its rows."""
        self.cursor.execute(statement)
        return list(self.cursor.fetchall()) if self.cursor.description else []

    def create(self, name: str, select: str) -> None:
        """Make a table anew, as dbt's materialization `table` does."""
        # purge: else Iceberg's catalog leaves the files of tables of other formats
        self.sql(f"drop table if exists {SCHEMA}.{name} purge")
        self.sql(f"create table {SCHEMA}.{name} using parquet as {select}")

    def differences(self, one: str, other: str) -> int:
        """How many rows are in one of two relations only, repetitions counted."""
        ((count,),) = self.sql(
            f"select count(*) from ((({one}) except all ({other}))"
            f" union all (({other}) except all ({one})))"
        )
        return int(count)


def dbt(port: int, target: Path, *arguments: str) -> dict[str, float]:
    """Run dbt in the benchmark's project, and give the seconds that each model took."""
    env = os.environ | {
        "SPARK_CDC_PORT": str(port),
        "DBT_TARGET_PATH": str(target),
        "DBT_LOG_PATH": str(target / "logs"),
        "DBT_PROFILES_DIR": str(HERE),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    }
    subprocess.run(["dbt", "--quiet", *arguments], cwd=HERE, env=env, check=True)
    if arguments[0] != "run":
        return {}
    results = json.loads((target / "run_results.json").read_text(encoding="utf-8"))["results"]
    return {
        result["unique_id"].split(".")[-1]: float(result["execution_time"]) for result in results
    }
