"""The needs of the executors for the functions of this package, on any machine."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

from spark_cdc_udfs.errors import Failure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGE = Path(__file__).parents[1]

# Modules that their Python must be able to import: the package, which `ship` sends them, and the
# modules that the functions use, which must be installed there.
MODULES = (PACKAGE.name, "pandas", "pyarrow")


@functools.cache
def archive() -> Path:
    """Pack this package into a zip file, once in the life of this process, and return its path."""
    directory = Path(tempfile.mkdtemp(prefix=f"{PACKAGE.name}-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    path = directory / f"{PACKAGE.name}.zip"
    with ZipFile(path, "w") as file:
        for source in PACKAGE.rglob("*"):
            if source.is_file() and "__pycache__" not in source.parts:
                file.write(source, source.relative_to(PACKAGE.parent))
    return path


def ship(spark: SparkSession) -> None:
    """Give this package to the executors of `spark`, for all functions that are made from now on.

    PySpark sends a function of a module by its name, so the process that runs it must be able to
    import it.
    """
    spark.addArtifacts(str(archive()), pyfile=True)


def check(spark: SparkSession) -> None:
    """Raise Failure if the Python of an executor cannot import MODULES.

    Waits for an executor. If there is no such Python, or it has another version, Spark itself
    reports the error.
    """
    modules = MODULES

    # Inside of another function: PySpark sends it as code, not by its name.
    def faults(_: int) -> Iterator[str]:
        for module in modules:
            try:
                import_module(module)
            except ImportError as error:
                yield str(error)

    found = spark.sparkContext.parallelize([0], 1).flatMap(faults).collect()
    if found:
        raise Failure(
            f"the Python of the executors does not do ({'; '.join(found)}): install what is "
            "missing there, or name another Python with --conf spark.pyspark.python=..."
        )
