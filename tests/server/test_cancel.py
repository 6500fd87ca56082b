"""A statement that a client cancels ends within seconds, whatever row it is at."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from formats.gbase_capture import reference as gbase
from formats.qlik_messages import avro
from kit.lake import write_parquet
from kit.warehouse import Warehouse, conf, running
from pyhive import hive  # type: ignore[import-untyped]  # it ships no types
from TCLIService.ttypes import TOperationState  # type: ignore[import-untyped]  # it ships no types

pytestmark = pytest.mark.server

BUSY = 4.0  # seconds after which each statement still runs
SECONDS = 15.0  # within which its task has ended; on an idle machine it takes two

# One message of 16 MB, of which a function writes an array of nothing: a row of a minute.
SCHEMA = {"type": "record", "name": "R", "fields": [
    {"name": "a", "type": {"type": "array", "items": "null"}}
]}  # fmt: skip
MESSAGE = avro.envelope(b"\x80" * 6 + b"\x01" + bytes(2**24), schema=json.dumps(SCHEMA))
ONE_AVRO_ROW = """
select count(parsed.detail)
from (
    select
        spark_cdc_qlik_message(
            value, cast(null as binary), cast(null as binary), 0L, '{{}}', cast(null as string)
        ) as parsed
    from parquet.`{messages}`
)
"""
# Nearly a gigabyte of small records in one capture.
RECORD = gbase.begin(1, 7).hex()
LONG_STREAM = f"""
select count(content) from spark_cdc_gbase_records(
    7,
    table(
        select
            's' as capture_id,
            0L as stretch,
            true as is_last,
            4 as buckets,
            'chunk' as role,
            cast(null as int) as from_byte,
            id as chunk_number,
            unhex(repeat('{RECORD}', 25000)) as payload
        from range(700)
    )
    partition by struct(capture_id, stretch)
    order by chunk_number
)
"""
# A long text in each row, read by an expression of the package. Spark looks whether it shall stop
# once in a thousand rows.
LONG_SQL = r"""
select count(*) from range(0, 100000000, 1, 1)
where concat(repeat('1', 100000), id) rlike '(?i)^ *+[+-]?([\\d.]++(e[+-]?\\d++)?) *+x\\z'
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    """A server that does one task at a time: another one runs only if the first has ended."""
    home = tmp_path_factory.mktemp("cancel")
    write_parquet(home / "messages", {"value": "binary"}, [{"value": MESSAGE}], files=1)
    none = {"spark.hadoop.hive.server2.authentication": "NONE"}
    with running(home, "--master", "local[1]", *conf(none)) as found:
        yield found


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param(ONE_AVRO_ROW, id="one Avro row"),
        pytest.param(LONG_STREAM, id="a stream of GBase"),
        pytest.param(LONG_SQL, id="SQL"),
    ],
)
def test_a_cancelled_statement_ends(statement: str, server: Warehouse) -> None:
    connected: Any = hive.connect(server.host, server.port, username="test")
    with contextlib.closing(connected), contextlib.closing(connected.cursor()) as cursor:
        cursor.execute(statement.format(messages=server.home / "messages"), async_=True)
        time.sleep(BUSY)
        assert cursor.poll().operationState == TOperationState.RUNNING_STATE
        begin = time.monotonic()
        cursor.cancel()
        assert server.sql("select sum(id) from range(1000)") == [(499500,)]
        assert time.monotonic() - begin < SECONDS
        assert cursor.poll().operationState == TOperationState.CANCELED_STATE
