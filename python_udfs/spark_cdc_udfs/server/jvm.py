"""Start the JVM of Spark from Python, with exactly the settings given."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.functions import register
from spark_cdc_udfs.server import executors
from spark_cdc_udfs.server import settings as spark_settings
from spark_cdc_udfs.server.directory import Home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Variables that would lead PySpark to another Spark, another JVM or other settings.
FOREIGN = (
    "PYSPARK_GATEWAY_PORT",
    "PYSPARK_GATEWAY_SECRET",
    "SPARK_CONNECT_MODE_ENABLED",
    "SPARK_ENV_LOADED",
    "SPARK_HOME",
    "SPARK_LOCAL_DIRS",
    "SPARK_REMOTE",
)


@dataclass(frozen=True)
class Launch:
    """The start of a JVM. `settings` hold no secret: see METASTORE_SECRETS."""

    home: Home
    settings: Mapping[str, str]
    java_home: Path
    jars: tuple[Path, ...] = ()

    def to_json(self) -> str:
        """Write it for another process of this package."""
        return json.dumps(dataclasses.asdict(self), default=str)

    @classmethod
    def from_json(cls, text: str) -> Launch:
        """Read the result of `to_json`."""
        fields = json.loads(text)
        return cls(
            home=Home(Path(fields["home"]["root"])),
            settings=fields["settings"],
            java_home=Path(fields["java_home"]),
            jars=tuple(Path(jar) for jar in fields["jars"]),
        )


def environment(launch: Launch) -> dict[str, str]:
    """Return the environment variables that the JVM and Python's workers need."""
    variables = {
        "JAVA_HOME": str(launch.java_home),
        # The settings are in a file. The way of PySpark shows them to everybody in `ps`. And the
        # driver's memory and class path must be known before there is a JVM.
        "PYSPARK_SUBMIT_ARGS": f"--properties-file {shlex.quote(str(_file(launch.home)))} "
        "pyspark-shell",
        "PYSPARK_PYTHON": launch.settings.get("spark.pyspark.python", sys.executable),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_CONF_DIR": str(launch.home.conf),
        "TMPDIR": str(launch.home.tmp),
        # On the JVM's own class path: jars that Spark adds later (`spark.jars`) are gone for the
        # statements after the first client's session. And at its end: of a library that both
        # bring, Spark's version must win (with Delta comes a Jackson that Spark cannot use).
        "SPARK_DIST_CLASSPATH": os.pathsep.join(str(jar) for jar in launch.jars),
        # So that Python sees the same times of day as SQL.
        "TZ": "UTC",
    }
    if spark_settings.is_local(launch.settings["spark.master"]):
        variables["SPARK_LOCAL_IP"] = "127.0.0.1"
    return variables


def start_jvm(launch: Launch, output: int | None = None) -> Any:
    """Start a JVM without a session and return PySpark's gateway to it.

    `output` is the descriptor of its standard output and error; without it they are this process's
    own.
    """
    from pyspark.java_gateway import launch_gateway

    _prepare(launch)
    # PySpark has not typed it
    return launch_gateway(popen_kwargs={"stdout": output, "stderr": output})  # type: ignore[no-untyped-call]


def end_jvm(gateway: Any) -> None:
    """End a JVM that has no session, and return when it has ended."""
    gateway.shutdown()
    # PySpark's JVM ends with its standard input.
    gateway.proc.stdin.close()
    gateway.proc.wait()


def start_session(launch: Launch, output: int | None = None) -> SparkSession:
    """Start a JVM with a session that has this package's functions.

    Sets the environment of this process as the JVM needs it; `output` as in `start_jvm`. Raises
    Failure if this process has a JVM already, or if Spark SQL does not accept the value of a
    setting. It also does if the executors of a cluster cannot run the functions. Spark's own errors
    pass through.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._gateway is not None:
        raise Failure("this process has a Spark already: use register(spark) on its session")
    gateway = start_jvm(launch, output)
    try:
        check_sql(gateway, launch.settings)
    except BaseException:
        end_jvm(gateway)
        raise
    SparkContext._ensure_initialized(gateway=gateway)
    spark = SparkSession.builder.getOrCreate()
    register(spark)
    if not spark_settings.is_local(launch.settings["spark.master"]):
        executors.check(spark)
    # Opens the metastore: its errors appear here, not at the first client.
    spark.catalog.databaseExists("default")
    return spark


def check_sql(gateway: Any, settings: Mapping[str, str]) -> None:
    """Raise Failure if a setting of Spark SQL has a value that is not accepted.

    This is found before there is a session, because PySpark hangs otherwise. To report any error it
    reads the session's settings. With a wrong setting this fails, and it tries to report that.
    """
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # ships no types

    sql = gateway.jvm.org.apache.spark.sql.internal.SQLConf()
    for key, value in settings.items():
        if key.startswith("spark.sql."):
            try:
                sql.setConfString(key, value)
            except Py4JJavaError as error:
                why = error.java_exception.getMessage()
                raise Failure(f"{key}={value} is not a valid Spark setting: {why}") from error


def _file(home: Home) -> Path:
    return home.conf / "spark.properties"


def _prepare(launch: Launch) -> None:
    for directory in (launch.home.conf, launch.home.tmp):
        directory.mkdir(mode=0o700, exist_ok=True)
    file = _file(launch.home)
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as text:
        text.write(spark_settings.properties(launch.settings))
    for name in FOREIGN:
        os.environ.pop(name, None)
    os.environ.update(environment(launch))
    time.tzset()
