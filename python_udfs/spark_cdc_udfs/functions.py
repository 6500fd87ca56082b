"""The functions that this package adds to Spark SQL.

**To add one**: write it in a module of its own and put one line in `FUNCTIONS`: its name in SQL and
a function that makes it. The result is a scalar function (`udf`, `pandas_udf`) or a table function
(`udtf`), or None if this Spark cannot have it. `register` tells them apart. Nothing else has to be
changed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from spark_cdc_udfs.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = logging.getLogger(__name__)


def spark_cdc_version() -> str:
    """Return the version of this package that the server runs, for example `0.1.0`."""
    return __version__


def _version_function() -> Any:
    from pyspark.sql.functions import udf
    from pyspark.sql.types import StringType

    return udf(spark_cdc_version, StringType())


def _table_function(module: str, name: str) -> Callable[[], Any]:
    """Give what makes a table function over Arrow batches, of a class with its `TYPE`."""

    def make() -> Any:
        try:
            from pyspark.sql.functions import arrow_udtf
        except ImportError:  # came with Spark 4.1
            return None

        handler = getattr(import_module(f"{__package__}.{module}.functions"), name)
        return arrow_udtf(handler, returnType=handler.TYPE)

    return make


def _message_function() -> Any:
    from pyspark.sql import types

    of = import_module(f"{__package__}.qlik.functions")
    text, number = types.StringType(), types.IntegerType()
    known: dict[str, types.DataType] = {"string": text, "boolean": types.BooleanType()}
    known |= {"array<string>": types.ArrayType(text), "array<int>": types.ArrayType(number)}
    fields = [types.StructField(name, known[type_]) for name, type_ in of.COLUMNS.items()]
    functions: Any = import_module("pyspark.sql.functions")
    if hasattr(functions, "arrow_udf"):
        return functions.arrow_udf(of.spark_cdc_qlik_message, types.StructType(fields))
    return functions.pandas_udf(of.message_frames, types.StructType(fields))  # before Spark 4.1


# Name in SQL -> what makes the function. Made late, because PySpark looks at the running session
# when a function is made. Also the command line should not have to load PySpark.
FUNCTIONS: Mapping[str, Callable[[], Any]] = {
    "spark_cdc_version": _version_function,
    "spark_cdc_gbase_stretches": _table_function("gbase", "Stretches"),
    "spark_cdc_gbase_records": _table_function("gbase", "FramedRecords"),
    "spark_cdc_gbase_changes": _table_function("gbase", "ChangeEvents"),
    "spark_cdc_qlik_message": _message_function,
}


def register(spark: SparkSession) -> None:
    """Register every function of this package on `spark`, and on each session made later.

    So each client of a Thrift server that is started on `spark` sees them, and permanent views may
    call them. The package itself is sent to the executors; their Python must have pandas and
    pyarrow. Functions that this Spark cannot have are left out, and one line of the log names them.
    """
    from pyspark.sql.udtf import UserDefinedTableFunction

    from spark_cdc_udfs.server.executors import ship

    ship(spark)
    made = {name: make() for name, make in FUNCTIONS.items()}
    if left_out := [name for name, function in made.items() if function is None]:
        LOG.warning("left out, for they need Spark 4.1 or newer: %s", ", ".join(left_out))
    for name, function in made.items():
        if function is None:
            continue
        if isinstance(function, UserDefinedTableFunction):
            spark.udtf.register(name, function)
        else:
            spark.udf.register(name, function)
        _make_builtin(spark, name)


def _make_builtin(spark: SparkSession, name: str) -> None:
    """Copy a function of a session to the functions with which each new session begins."""
    jvm: Any = spark._jvm
    catalyst = jvm.org.apache.spark.sql.catalyst
    state = spark._jsparkSession.sessionState()
    identifier = catalyst.FunctionIdentifier(name)
    for there, builtin in (
        (state.functionRegistry(), catalyst.analysis.FunctionRegistry.builtin()),
        (state.tableFunctionRegistry(), catalyst.analysis.TableFunctionRegistry.builtin()),
    ):
        found = there.lookupFunction(identifier)
        if found.isDefined():
            builder = there.lookupFunctionBuilder(identifier).get()
            builtin.registerFunction(identifier, found.get(), builder)
