"""A poisoned delivery: ten thousand hostile rows among a thousand good ones stop nothing.

For each format the good rows are a block of its folder, and the hostile ones are rows of other
blocks, each spoilt in a column or two. All is built in full and in two increments. The events of
the good rows are those of the good rows alone. Every row is used, a no-op, or in quarantine with a
reason. A part takes at most SLOWER times the seconds of as many good rows.

The time of this law hardly depends on the number of rows: most of it Spark plans statements.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it ships no types
import pytest
from kit.formats import Blocks, Format, Row, every_format
from kit.lake import arrow_type
from kit.warehouse import DbtRun, Warehouse, install_package

SCHEMA = "poison"
BLOCK = 1000
HOSTILE_BLOCKS = 10
SLOWER = 4
AT_LEAST = 5.0  # seconds that a fast run is taken for: below, planning and chance decide

# ---------------------------------------------------------------------------------- hostile values

# Halves of surrogate pairs stand for bytes that are no UTF-8.
TEXTS = [
    *("", " ", "\x00", "a\x00b", "\x1e", "\x1f\x1e\x1f", "\x01\x08\x0b\x7f\x9f", "\t\r\n"),
    *("'", '"', "\\", "\\'", "'; drop table x; --", "\\u0000", "`", "/*", "--", "%s", "$1", "\\1"),
    *("${env:HOME}", "${env:PATH}~", "${system:user.home}", "{{ 1 // 0 }}", "{% raw %}", "(?i)"),
    *("NaN", "Infinity", "-0", "1e999999999", "-1e-999999999", "1e2147483648", "0x1p3", "null"),
    *("9" * 10_000, "0." + "9" * 9_000, "-" + "0" * 9_000 + "7", str(2**63), str(-(2**63) - 1)),
    *("9999-12-31 23:59:59.999999999", "-290308-12-21", "+294247-01-10T04:00:54Z", "0000-00-00"),
    *("2024-02-30", "24:00:00", "1e5", "٣", "５", "ſ", "İ", "ß", "e\u0301" * 500, "\u0301" * 3_000),
    *("\u202eabc\u202c", "\uffff", "\ufffe", "\ufdd0", "\U0010ffff", "\U000e0041", "\ufeff"),
    *("\udcff\udcfe", "\udcc0\udc80", "\udced\udca0\udc80", "a\udce2\udc82", "\udcf5" * 2_000),
    *('{"a":1}', "[]", "[" * 5_000, '{"a":' * 1_500, "\\" * 3_001, '"' * 3_001, "=" * 3_000),
    *("true", "=", "+", "~", ".", ",", ":", "-1", "0", "A==", "xyz", "0" * 35, "9" * 35, "x'", "["),
    "\u00a0",
]
# Each of these is used twice.
LONG = [
    *("1" * 300_000, "1e" + "1" * 200_000, "0." + "0" * 200_000 + "1", "1" + " " * 200_000 + "x"),
    *("A" * 99_999, "F" * 100_000, "0x" + "0" * 99_999, "QUJD" * 50_000, "'" * 100_000),
    *("[" * 100_000, '{"a":' * 50_000, "\\" * 100_001, '"' * 100_000, "a.b." * 50_000),
    *("e\u0301" * 100_000, "İ" * 100_000, "\udcff" * 100_000, "\x1f" * 100_000),
    *("${env:HOME}" * 9_000, "2024-01-01 " * 20_000, "2024-01-01 00:00:00." + "0" * 200_000),
    *("a=b+" * 50_000, "T" * 200_000),
]
LONGEST = 10_000  # of what is used often
UTC = timezone.utc
TIMES = [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)]
TIMES += [datetime(1582, 10, 10, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC)]
FLOATS = [float("nan"), float("inf"), -float("inf"), -0.0, 5e-324]
BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


def raw_bytes(text: str) -> bytes:
    """A text in UTF-8, but for the bytes that are none."""
    return text.encode("utf-8", "surrogateescape")


def as_bytes(value: Any) -> Any:
    """A text as bytes; other values as they are."""
    return raw_bytes(value) if isinstance(value, str) else value


def extremes(sql_type: str) -> list[Any]:
    """Values at the ends of a type that is neither text nor bytes."""
    if sql_type in BITS:
        most = 2 ** (BITS[sql_type] - 1)
        return [most - 1, -most, 0, -1, None]
    if sql_type.startswith("decimal"):
        precision, scale = map(int, sql_type[len("decimal(") : -1].split(","))
        most_digits = Decimal(10**precision - 1).scaleb(-scale)
        return [most_digits, -most_digits, Decimal(0), None]
    others: dict[str, list[Any]] = {
        "date": [date(1, 1, 1), date(9999, 12, 31), None],
        "timestamp": [*TIMES, None],
        "timestamp_ntz": [*(one.replace(tzinfo=None) for one in TIMES), None],
        "boolean": [True, False, None],
        "float": [*FLOATS, None],
        "double": [*FLOATS, None],
    }
    return others[sql_type]


def changed(value: Any, token: Any, rng: random.Random) -> Any:
    """A text, or bytes, with a token in it, cut, doubled, or with another character."""
    at = rng.randrange(len(value) + 1)
    end = min(len(value), at + rng.choice((1, 2, 5, 40)))
    return rng.choice(
        (
            value[:at] + token + value[at:],
            value[:at] + token + value[end:],
            value[:at],
            value[at:],
            value[:at] + value[end:],
            value + value[at:],
            token + value,
            value + token,
        )
    )


@dataclass
class Spoiler:
    """Spoils rows of one format, always in the same way."""

    blocks: Blocks
    rng: random.Random

    def __post_init__(self) -> None:
        columns, odd = self.blocks.columns, self.blocks.odd
        free = [name for name in columns if columns[name] in ("string", "binary")]
        pairs = [(self.rng.choice(free), raw_bytes(one)) for one in LONG for _ in range(2)]
        owns = {name: list(map(as_bytes, values)) for name, values in odd.items()}
        pairs += [(name, one) for name in owns for one in owns[name] if len(one) > LONGEST]
        self.rng.shuffle(pairs)
        self.long: list[tuple[str, bytes]] = pairs
        self.own = {
            name: [one for one in values if len(one) <= LONGEST] for name, values in owns.items()
        }

    def spoilt(self, row: Row, is_long: bool) -> Row:
        """A row with other values in one or two of its columns."""
        found = dict(row)
        names = list(self.blocks.columns)
        if is_long:
            name, value = self.long.pop()
            return found | {name: value}
        for name in self.rng.sample(names, self.rng.choice((1, 1, 1, 2))):
            found[name] = self.value(name, as_bytes(found[name]))
        return found

    def value(self, name: str, old: Any) -> Any:
        """A hostile value of a column; texts are bytes."""
        rng, sql_type = self.rng, self.blocks.columns[name]
        if sql_type not in ("string", "binary"):
            spared = self.blocks.spared.get(name, [])
            return rng.choice([one for one in extremes(sql_type) if one not in spared])
        token = raw_bytes(rng.choice(TEXTS))
        odd = token if old is None else changed(old, token, rng)
        own = self.own.get(name)
        return rng.choice((None, token, token, odd, odd, rng.choice(own) if own else odd))

    def hostile(self, rows: Sequence[Row]) -> list[Row]:
        """Rows, each of them spoilt; some have a long value."""
        chosen = set(self.rng.sample(range(len(rows)), len(self.long)))
        return [self.spoilt(row, place in chosen) for place, row in enumerate(rows)]


def write(path: Path, columns: Mapping[str, Any], rows: Sequence[Row]) -> None:
    """Rows as a parquet file. Texts may be bytes of any kind, which Spark reads as they are."""
    arrays = []
    for name, sql_type in columns.items():
        values = [row[name] for row in rows]
        if sql_type == "string":
            arrays.append(pa.array(map(as_bytes, values), pa.binary()).view(pa.string()))
        else:
            arrays.append(pa.array(values, arrow_type(sql_type)))
    path.mkdir(parents=True, exist_ok=True)
    number = len(list(path.glob("*.parquet")))
    pq.write_table(pa.table(dict(zip(columns, arrays, strict=True))), path / f"{number}.parquet")


# ----------------------------------------------------------------------------------------- the runs

# Each relation, and what is built of it. `grown` lands in two parts.
MODELS = {
    "good": ("changes",),
    "sound": ("changes",),
    "poisoned": ("changes", "quarantine", "counts"),
    "grown": ("changes", "quarantine"),
}
CALLS = {
    "changes": "spark_cdc.{decoder}({call})",
    "quarantine": "spark_cdc.quarantine('{decoder}', {call})",
    "counts": "spark_cdc.raw_counts('{decoder}', {call})",
}
EACH = [pytest.param(one, id=one.decoder) for one in every_format()]


@dataclass
class Delivered:
    """What was built: rows of each format, and how long each model took."""

    warehouse: Warehouse
    home: Path
    blocks: dict[str, Blocks]
    seconds: dict[str, float]
    failed: dict[str, str]

    def count(self, query: str) -> int:
        found: int = self.warehouse.sql(f"select count(*) from ({query})")[0][0]
        return found

    def rows(self, model: str) -> str:
        """A query of a model, without the run of each row."""
        names = [row[0] for row in self.warehouse.sql(f"describe {SCHEMA}.{model}")]
        kept = ", ".join(f"`{name}`" for name in names if name != "cdc_batch")
        return f"select {kept} from {SCHEMA}.{model}"

    def missing(self, expected: str, found: str) -> list[str]:
        """Some rows of a model that are not in another one, with repetitions, as ASCII."""
        rows = f"{self.rows(expected)} except all {self.rows(found)}"
        text = "substr(regexp_replace(to_json(struct(*)), '[^ -~]', '?'), 1, 1000)"
        return [row[0] for row in self.warehouse.sql(f"select {text} from ({rows}) limit 5")]

    def note(self, run: DbtRun) -> None:
        """Keep the seconds and the error of each model."""
        for name, result in run.results().items():
            self.seconds[name] = self.seconds.get(name, 0.0) + result["execution_time"]
            if result["status"] != "success":
                self.failed[name] = str(result["message"])[:3000]


def project(home: Path, warehouse: Warehouse) -> None:
    """The files of a dbt project."""
    (home / "models").mkdir()
    (home / "dbt_project.yml").write_text(
        "name: poison\nversion: 0.1.0\nprofile: poison\nmodels: {+file_format: parquet}\n"
    )
    install_package(home)
    (home / "profiles.yml").write_text(
        "poison: {target: thrift, outputs: {thrift: {type: spark, method: thrift, "
        f"host: {warehouse.host}, port: {warehouse.port}, schema: {SCHEMA}, threads: 2, "
        "query_retries: 0, poll_interval: 0}}}\n"
    )
    warehouse.sql(f"drop schema if exists {SCHEMA} cascade", f"create schema {SCHEMA}")


def deliver(home: Path, decoder: str, blocks: Blocks, is_timed: bool) -> Callable[[], None]:
    """Write the raw relations of a format, and its models; give what lands the second part."""
    rng = random.Random(f"poison {decoder}")
    good, *others = ([*blocks.rows(number)][:BLOCK] for number in range(HOSTILE_BLOCKS + 1))
    sound = list(chain.from_iterable(others))
    hostile = Spoiler(blocks, rng).hostile(sound)
    poisoned = [*good, *hostile]
    rng.shuffle(poisoned)
    half = len(poisoned) // 2
    landed = {"good": good, "sound": [*good, *sound], "poisoned": poisoned}
    for name, rows in (landed | {"grown": poisoned[:half]}).items():
        write(home / "raw" / f"{decoder}__{name}", blocks.columns, rows)
    for name, relation in blocks.lookups.items():
        write(home / "raw" / f"{decoder}__{name}", relation.columns, relation.rows)
    arguments = blocks.arguments
    for name in blocks.lookups:
        arguments = arguments.replace(f"{{{name}}}", f"source('raw', '{decoder}__{name}')")
    before = ""
    for relation_name, kinds in MODELS.items():
        for kind in kinds if is_timed or relation_name != "sound" else ():
            call = f"source('raw', '{decoder}__{relation_name}'), {arguments}"
            is_grown = relation_name == "grown"
            how = "cdc_incremental" if is_grown else "table"
            name = f"{decoder}__{relation_name}_{kind}"
            body = CALLS[kind].format(decoder=decoder, call=call)
            if is_grown and kind == "quarantine":
                how, body = "view", f"spark_cdc.quarantine(of=ref('{decoder}__grown_changes'))"
            (home / "models" / f"{name}.sql").write_text(
                f"{{{{ config(materialized='{how}') }}}}\n{before}{{{{ {body} }}}}\n"
            )
            # the good rows first: then nothing is slow only because it is the first of its kind
            before = f"-- depends_on: {{{{ ref('{name}') }}}}\n" if not is_grown else before
    return lambda: write(home / "raw" / f"{decoder}__grown", blocks.columns, poisoned[half:])


@pytest.fixture(scope="module")
def delivered(
    warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Delivered]:
    """Build everything of the formats that this session asks for."""
    home = tmp_path_factory.mktemp("poison")
    project(home, warehouse)
    asked = {
        one.callspec.id
        for one in request.session.items
        if isinstance(one, pytest.Function) and one.path == request.path
    }
    blocks_of = {one.decoder: one.blocks() for one in every_format() if one.decoder in asked}
    done = Delivered(warehouse, home, blocks_of, {}, {})
    is_timed = any("test_time_is_bounded" in one.nodeid for one in request.session.items)
    land = [deliver(home, decoder, blocks, is_timed) for decoder, blocks in done.blocks.items()]
    names = sorted(path.name for path in (home / "raw").iterdir())
    (home / "models" / "sources.yml").write_text(
        f"sources:\n  - name: raw\n    schema: {SCHEMA}_raw\n    tables:\n"
        + "".join(f"      - name: {name}\n" for name in names)
    )
    warehouse.sql(
        f"drop schema if exists {SCHEMA}_raw cascade",
        f"create schema {SCHEMA}_raw",
        *(
            f"create table {SCHEMA}_raw.{name} using parquet location '{home}/raw/{name}'"
            for name in names
        ),
    )
    done.note(warehouse.dbt(home, "run", check=False))
    for more in land:
        more()
    grown = [name for name in names if name.endswith("__grown")]
    warehouse.sql(*(f"refresh table {SCHEMA}_raw.{name}" for name in grown))
    done.note(warehouse.dbt(home, "run", "--select", *(f"{one}_*" for one in grown), check=False))
    yield done
    warehouse.sql(f"drop schema {SCHEMA} cascade", f"drop schema {SCHEMA}_raw cascade")


@pytest.mark.parametrize("format_", EACH)
def test_no_run_stops(format_: Format, delivered: Delivered) -> None:
    failed = {k: v for k, v in delivered.failed.items() if k.startswith(format_.decoder)}
    assert not failed


@pytest.mark.parametrize("format_", EACH)
def test_events_of_good_rows_are_exact(format_: Format, delivered: Delivered) -> None:
    decoder = format_.decoder
    good = f"{decoder}__good_changes"
    assert delivered.count(delivered.rows(good)) > 30
    for built in ("poisoned", "grown"):
        assert not delivered.missing(good, f"{decoder}__{built}_changes"), built


@pytest.mark.parametrize("format_", EACH)
def test_every_row_is_accounted_for(format_: Format, delivered: Delivered) -> None:
    decoder = format_.decoder
    columns = "raw_rows, used_rows, no_op_rows, quarantined_rows"
    ((raw, *parts),) = delivered.warehouse.sql(
        f"select {columns} from {SCHEMA}.{decoder}__poisoned_counts"
    )
    assert raw == sum(parts) == BLOCK * (HOSTILE_BLOCKS + 1)
    entries = f"{SCHEMA}.{decoder}__poisoned_quarantine"
    assert delivered.count(f"select * from {entries} where reason is null or raw is null") == 0
    assert delivered.count(f"select distinct reason from {entries}") > 3
    assert parts[-1] > BLOCK
    if not delivered.blocks[decoder].is_stream:
        assert delivered.count(f"select * from {entries}") == parts[-1]


@pytest.mark.parametrize("format_", EACH)
def test_increments_equal_a_full_run(format_: Format, delivered: Delivered) -> None:
    decoder = format_.decoder
    if delivered.blocks[decoder].is_stream:
        pytest.skip("what is bad in a stream depends on the order of its pieces")
    for kind in ("changes", "quarantine"):
        full, grown = f"{decoder}__poisoned_{kind}", f"{decoder}__grown_{kind}"
        assert not delivered.missing(full, grown), delivered.missing(grown, full)
        assert not delivered.missing(grown, full)


@pytest.mark.slow
@pytest.mark.parametrize("format_", EACH)
def test_time_is_bounded(format_: Format, delivered: Delivered) -> None:
    """Each part took at most so many times the seconds of sound rows."""
    slow = {}
    for kind in ("changes", "quarantine"):
        poisoned, sound = (
            delivered.seconds[f"{format_.decoder}__{name}"]
            for name in (f"poisoned_{kind}", "sound_changes")
        )
        print(format_.decoder, kind, sound, poisoned)
        if poisoned > SLOWER * max(sound, AT_LEAST):
            slow[kind] = f"{poisoned:.1f} s instead of {sound:.1f} s"
    assert not slow
