"""Collect the settings of a Spark of this package; build a session in this process."""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import TYPE_CHECKING

from spark_cdc_udfs.errors import Failure
from spark_cdc_udfs.server import packages, settings
from spark_cdc_udfs.server.directory import Home, open_log, own
from spark_cdc_udfs.server.java import find_java
from spark_cdc_udfs.server.jvm import Launch, start_session
from spark_cdc_udfs.server.logs import telling_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Options:
    """The user's choices: the options of `spark-cdc-server start`, without the address."""

    master: str = "local[*]"
    table_format: str = "parquet"
    metastore_url: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)


def assemble(
    home: Home, options: Options, ansi: bool, more: Mapping[str, str] | None = None
) -> Launch:
    """Return how to start Spark; `options.conf` has precedence over everything except lists.

    Packages (of the table format, of the metastore, `spark.jars.packages`) are still to be fetched.
    Raises Failure if there is no Java, or something does not exist for this Spark.
    """
    java = find_java(os.environ)
    merged = settings.merge(
        settings.defaults(home, options.master, ansi, java.version),
        settings.metastore(home, options.metastore_url, os.environ),
        settings.FORMATS[options.table_format],
        more or {},
        options.conf,
    )
    wanted = (
        packages.package(options.table_format, version("pyspark")),
        packages.metastore_driver(options.metastore_url, options.conf),
        merged.pop("spark.jars.packages", None),
    )
    if any(wanted):
        merged["spark.jars.packages"] = ",".join(name for name in wanted if name)
    return Launch(home, merged, java.home)


def with_jars(launch: Launch, output: int) -> Launch:
    """Fetch the packages of `launch` and put their jars on the class path instead.

    `output` is the descriptor of the log. Raises Failure if a package cannot be fetched.
    """
    merged = dict(launch.settings)
    wanted = merged.pop("spark.jars.packages", None)
    if wanted is None:
        return launch
    jars = tuple(packages.fetch(wanted, launch, output))
    if not settings.is_local(merged["spark.master"]):
        # For the executors, which have no class path of ours.
        merged = settings.merge(merged, {"spark.jars": ",".join(map(str, jars))})
    return replace(launch, settings=merged, jars=jars)


def session(
    directory: str | os.PathLike[str] = ".spark-cdc-session",
    *,
    master: str = "local[*]",
    table_format: str = "parquet",
    metastore_url: str | None = None,
    conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """Build a session in this process, with the settings and functions of the server.

    There is one difference: ANSI mode is off, as dbt's `session` method needs it. Warehouse,
    metastore and log are in `directory`, which this process then owns until it ends. Only this user
    can read the files created there. Sets environment variables of this process (the time zone is
    UTC from then on).

    Raises Failure if there is no such format, or no Java is found, or Spark does not start, or this
    process has a Spark already. It also does if the directory is in use, or is not writable, or is
    writable for others.
    """
    if table_format not in settings.FORMATS:
        raise Failure(f"{table_format!r} is not a table format: give {', '.join(settings.FORMATS)}")
    home = Home.at(directory)
    options = Options(master, table_format, metastore_url, conf or {})
    umask = os.umask(0o077)  # the JVM inherits and keeps it
    try:
        return _started(home, options)
    finally:
        os.umask(umask)


def _started(home: Home, options: Options) -> SparkSession:
    """Take the directory and start the session in it."""
    home.create()
    owned = own(home)
    try:
        with open(open_log(home), "a", encoding="utf-8") as log:
            try:
                launch = with_jars(assemble(home, options, ansi=False), log.fileno())
                return start_session(launch, log.fileno())
            except Failure:
                raise
            except Exception as error:
                # To the output of Java, which may tell more.
                traceback.print_exception(error, file=log)
                log.flush()
                why = f"Spark did not start: {telling_line(home.log)}; log: {home.log}"
                raise Failure(why) from error
    except BaseException:
        os.close(owned)
        raise
