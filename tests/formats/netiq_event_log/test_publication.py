"""Publication, documents and backlog of generated logs: views and tables against the reference."""

from __future__ import annotations

import os
import random
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timezone
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.lake import write_parquet
from kit.warehouse import Warehouse, install_package
from simulation import database

from formats.netiq_event_log import FORMAT, SORTED, TEXT, every_bad_row, writer
from formats.netiq_event_log.publication import (
    Documents,
    Driver,
    Publication,
    backlog,
    is_illegal,
)
from formats.netiq_event_log.reference import Options, Row, decode
from formats.netiq_event_log.writer import ACCOUNTS, Layout, Log, Style

SEED = int(os.environ.get("SPARK_CDC_SEED", "0"))
SCHEMA = "publication"

PUBLISHED = {
    "record_id": "string",
    "is_published": "boolean",
    "reason": "string",
    "suppressed_by": "string",
    "cdc_sequence": "string",
}
DOCUMENTS = dict.fromkeys(("cdc_sequence", "xds", "reason"), "string")
BACKLOG = {
    "table_name": "string",
    "status": "string",
    "reason": "string",
    "log_rows": "bigint",
    "oldest_event_time": "timestamp",
    "newest_event_time": "timestamp",
}


@dataclass(frozen=True)
class Case:
    """A log, and the settings of the driver.

    ``models``: each macro's materialization. ``statements``: later changes of the log.
    """

    name: str
    log: Log
    driver: Driver
    type5: str
    models: Mapping[str, str]
    schema: str = "a&b"
    statements: Sequence[str] = ()

    @cached_property
    def publication(self) -> Publication:
        return Publication(self.log.read, self.log.snapshot, self.log.options, self.driver)

    def documents(self) -> list[tuple[str, str | None, str | None]]:
        return Documents(self.publication, self.schema, self.type5).all()

    @property
    def settings(self) -> str:
        """The arguments that the decoder does not have."""
        driver, told = self.driver, ""
        if driver.user is not None:
            told += f", driver_user={driver.user!r}"
        return told + ", allow_loopback=true" * driver.allow_loopback

    def calls(self) -> dict[str, str]:
        """Each macro with the arguments of this case."""
        log = f"source('logs', '{self.name}__log')"
        table = self.log.arguments.replace("{snapshot}", f"source('logs', '{self.name}__snapshot')")
        publication = (
            f"{table}{self.settings}, pending_only={str(self.driver.pending_only).lower()}"
        )
        given = writer.arguments_of_log(self.log.options, self.log.layout)
        of_log = "".join(f", {name}={value}" for name, value in given.items())
        return {
            "publication": f"netiq_publication({log}, {publication})",
            "xds": f"netiq_xds({log}, {publication}, schema='{self.schema}', type5='{self.type5}')",
            "backlog": f"netiq_backlog({log}{of_log}{self.settings})",
        }

    def expected(self) -> dict[str, tuple[dict[str, str], list[Row]]]:
        """The expected result of each macro: columns and rows."""
        documents = self.documents()
        driver = Driver(self.driver.user, self.driver.allow_loopback)
        rows = []
        found = backlog(self.log.read, self.log.options.as_of_time, driver)
        for key, times in found.items():
            there = [at.replace(tzinfo=timezone.utc) for at in times if at is not None]
            ends = (min(there, default=None), max(there, default=None))
            rows.append(dict(zip(BACKLOG, (*key, len(times), *ends), strict=True)))
        return {
            "publication": (PUBLISHED, [asdict(row) for row in self.publication.published()]),
            "xds": (DOCUMENTS, [dict(zip(DOCUMENTS, one, strict=True)) for one in documents]),
            "backlog": (BACKLOG, rows),
        }


def case(
    name: str,
    table: database.Table,
    layout: Layout,
    style: Style,
    driver: Driver,
    models: Mapping[str, str],
    type5: str = "modify",
) -> Case:
    rng = random.Random(f"{SEED} {name}")
    workload = database.generate(table, rng, 60, without=writer.NOT_LOGGED)
    return Case(name, writer.write(workload, rng, layout, style), driver, type5, models)


def cases() -> list[Case]:
    """A poll of a typed log; a published log by time; all types; a log without values."""
    mixed: dict[str, Any] = {"query_back": 0.7, "both": 0.5, "odd_keys": 0.2}
    return [
        case(
            "poll",
            ACCOUNTS,
            Layout(),
            Style(snapshot="typed", pending=0.7, bad_rows=every_bad_row(Layout()), **mixed),
            Driver("idm"),
            {"publication": "view", "xds": "table", "backlog": "view"},
        ),
        case(
            "by_time",
            ACCOUNTS,
            TEXT,
            Style(
                snapshot="text",
                as_of=0.7,
                zone="Europe/Berlin",
                bad_rows=every_bad_row(TEXT),
                **mixed,
            ),
            Driver("O'Brien", pending_only=False),
            {"publication": "table", "xds": "view", "backlog": "table"},
            "add",
        ),
        case(
            "all_types",
            database.ALL_TYPES,
            SORTED,
            Style(snapshot="typed", duplicates=0.3, pending=0.7, **mixed),
            Driver("idm", allow_loopback=True),
            {"xds": "table"},
        ),
        case(
            "without_snapshot",
            database.ODD_NAMES,
            Layout(),
            Style(pending=0.7, **mixed),
            Driver("idm"),
            {"publication": "view", "xds": "view"},
        ),
    ]


# Texts that XML forbids, gives another meaning, or changes, and texts that it must keep.
HOSTILE = [
    *(
        "",
        " ",
        " a ",
        "\t",
        "\n",
        "\r",
        "\r\n\r",
        "]]>",
        "]]]>>",
        "<![CDATA[x]]>",
        "<!-- -->",
        "<?x?>",
    ),
    *(
        "&amp;",
        "&#x0;",
        "&",
        "<",
        ">",
        '"',
        "'",
        "\\",
        "\\n",
        "${x}",
        "$1",
        "{{ x }}",
        "%s",
        "'; --",
    ),
    *(
        "\0",
        "a\x01",
        "\x08",
        "\x0b",
        "\x0c",
        "\x0e",
        "\x1f",
        "\x7f",
        "\x85\u2028",
        "\ufffe",
        "a\uffff",
    ),
    *(
        "\ud7ff\ue000\ufffd",
        "\U00010000\U0010ffff",
        "\U0001fffe",
        "e\u0301",
        "漢字 🔥",
        "x" * 100_000,
    ),
    '<&>"\r\n' * 20_000,
]
# Invalid in a text: UTF-16 in UTF-8, an overlong form, and half of a character.
NO_TEXT = (
    ("\ud800", "EDA080"),
    ("a\udfff", "61EDBFBF"),
    ("\udc80", "C080"),
    ("\udcc3", "C3"),
)
NO_TEXTS = [text for text, _ in NO_TEXT]


def quoted(text: str) -> str:
    return "code=" + writer.quoted(text, always=True)


def log_of(name: str, rows: list[Row], snapshot: list[Row], columns: dict[str, str]) -> Log:
    """A log of texts, with a snapshot of texts."""
    layout = Layout(record_id="string", event_type="string", event_time="string")
    options = Options(name, list(columns)[:1], columns)
    rows = [{"perpetrator": None, "status": "N", "table_name": name} | row for row in rows]
    for number, row in enumerate(rows, start=1):
        row.setdefault("event_time", "2024-03-01 10:00:00")
        row |= {"record_id": str(number), "event_type": str(row["event_type"])}
    arguments = writer.arguments_of(options, layout, has_snapshot=True)
    types = dict.fromkeys(columns, "string")
    decoded = decode(rows, snapshot, options)
    return Log(layout, rows, rows, snapshot, types, options, arguments, decoded, None, {})


def hostile() -> Case:
    """Each of the texts as a key, as an old and a new value, in the snapshot, and as a name."""
    rows: list[Row] = []
    for text in [*HOSTILE, *NO_TEXTS]:
        row = {"table_key": quoted(text), "old_value": None, "new_value": None}
        update = {"event_type": 2, "old_value": text, "new_value": text}
        rows.append(row | update | {"column_name": "note"})
        rows.append(row | {"event_type": 8, "column_name": "found"})
        if text.strip(" "):
            rows.append(row | update | {"column_name": text})
    snapshot = [dict.fromkeys(("code", "found"), text) for text in [*HOSTILE, *NO_TEXTS]]
    log = log_of("hostile", rows, snapshot, {"code": "string", "found": "string"})
    statements = []
    for text, digits in NO_TEXT:
        bad = f"cast(X'{digits}' as string)"
        key = f"concat('code=\"', {bad}, '\"')"
        statements.append(f"insert into {{schema}}.hostile__snapshot values ({bad}, {bad})")
        statements += [
            "insert into {schema}.hostile__log values ("
            f"'{row['record_id']}', 'N', '{row['event_type']}', '{row['event_time']}', null,"
            f" 'hostile', {key}, {bad if row['column_name'] == text else repr(row['column_name'])},"
            f" {bad if row['old_value'] else 'null'}, {bad if row['new_value'] else 'null'})"
            for row in log.rows
            if row["table_key"] == quoted(text)
        ]
    return Case("hostile", log, Driver(), "modify", {"xds": "table"}, "]]>", statements)


EXAMPLES = [vector for vector in FORMAT.vectors_of("netiq_xds") if "vendor" in vector["origin"]]


def printed() -> Case:
    """The vendor's printed examples, one hour apart."""
    rows = [
        row | {"event_time": f"2024-03-01 1{hour}:00:00", "record_id": None}
        for hour, vector in enumerate(EXAMPLES)
        for row in vector["given"]["rows"]
    ]
    example = EXAMPLES[0]["given"]
    log = log_of("usr", rows, example["snapshot"], example["columns"])
    driver = Driver(pending_only=False)
    return Case("printed", log, driver, "modify", {"xds": "table"}, example["schema"])


CASES = [*cases(), hostile(), printed()]


def is_no_text(value: Any) -> bool:
    return isinstance(value, str) and any(0xD800 <= ord(letter) <= 0xDFFF for letter in value)


@pytest.fixture(scope="module")
def expected(warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Build every case as a dbt project; give the folder of the expected results."""
    home = tmp_path_factory.mktemp("publication")
    (home / "models").mkdir()
    inputs = []
    for one in CASES:
        relations = {"log": (one.log.columns, one.log.rows)}
        if one.log.snapshot is not None:
            relations["snapshot"] = (dict(one.log.snapshot_columns), one.log.snapshot)
        for name, (columns, rows) in relations.items():
            # a statement inserts bytes that are not text
            rows = [row for row in rows if not any(map(is_no_text, row.values()))]
            write_parquet(home / "inputs" / f"{one.name}__{name}", columns, rows)
            inputs.append(f"{one.name}__{name}")
        for macro, materialized in one.models.items():
            (home / "models" / f"{one.name}_{macro}.sql").write_text(
                f"{{{{ config(materialized='{materialized}') }}}}\n"
                f"{{{{ spark_cdc.{one.calls()[macro]} }}}}\n"
            )
            columns, rows = one.expected()[macro]
            write_parquet(home / "expected" / f"{one.name}_{macro}", columns, rows, files=1)
    (home / "dbt_project.yml").write_text(
        "name: publication\nversion: 0.1.0\nprofile: publication\nmodels: {+file_format: parquet}\n"
    )
    install_package(home)
    (home / "profiles.yml").write_text(
        "publication: {target: thrift, outputs: {thrift: {type: spark, method: thrift, "
        f"host: {warehouse.host}, port: {warehouse.port}, schema: {SCHEMA}, threads: 4, "
        "query_retries: 0, poll_interval: 0}}}\n"
    )
    (home / "models" / "logs.yml").write_text(
        f"sources:\n  - name: logs\n    schema: {SCHEMA}\n    tables:\n"
        + "".join(f"      - name: {name}\n" for name in inputs)
    )
    warehouse.sql(
        f"drop schema if exists {SCHEMA} cascade",
        f"create schema {SCHEMA}",
        *(
            f"create table {SCHEMA}.`{name}` using parquet location '{home}/inputs/{name}'"
            for name in inputs
        ),
        *(text.format(schema=SCHEMA) for one in CASES for text in one.statements),
    )
    warehouse.dbt(home, "run")
    yield home / "expected"


@pytest.mark.parametrize(
    ("one", "macro"),
    [
        pytest.param(one, macro, id=f"{one.name}-{macro}-{materialized}")
        for one in CASES
        for macro, materialized in one.models.items()
    ],
)
def test_result_is_the_result_of_the_reference(
    warehouse: Warehouse, expected: Path, one: Case, macro: str
) -> None:
    columns, _ = one.expected()[macro]
    names = ", ".join(columns)
    built = f"select {names} from {SCHEMA}.{one.name}_{macro}"
    there = f"select {names} from parquet.`{expected}/{one.name}_{macro}`"
    assert not warehouse.difference(built, there)
    described = {row[0]: row[1] for row in warehouse.sql(f"describe {SCHEMA}.{one.name}_{macro}")}
    assert described == columns


def test_hostile_values_are_read_back(warehouse: Warehouse, expected: Path) -> None:
    """A parser finds the values of the log and the snapshot, or there is no document."""
    found = dict(warehouse.sql(f"select cdc_sequence, xds from {SCHEMA}.hostile_xds"))
    (case,) = (one for one in CASES if one.name == "hostile")
    texts = {case.publication.sequence(event): event for event in case.publication.events}
    assert found.keys() == texts.keys() and len(found) == len(HOSTILE) + len(NO_TEXT)
    for sequence, event in texts.items():
        text = event[0].new_value or ""
        if any(map(is_illegal, text)):
            assert found[sequence] is None
            continue
        document = ET.fromstring(found[sequence])
        assert document.findtext("association") == f"{quoted(text)},table=hostile,schema=]]>"
        assert {value.text or "" for value in document.iter("value")} == {text}
        names = ["note", "found", *([text.strip(" ")] if text.strip(" ") else [])]
        assert [one.get("attr-name") for one in document.iter("modify-attr")] == names


def test_the_examples_of_the_vendor(warehouse: Warehouse, expected: Path) -> None:
    """Each document equals the printed one in Canonical XML."""
    found = warehouse.sql(f"select xds from {SCHEMA}.printed_xds order by cdc_sequence")
    assert len(found) == len(EXAMPLES) == 5
    for (xds,), vector in zip(found, EXAMPLES, strict=True):
        [there] = vector["expect"]["xds"]
        assert ET.canonicalize(xds) == ET.canonicalize(there["xds"])


@pytest.mark.parametrize("one", CASES, ids=lambda one: one.name)
def test_documents_are_xml(one: Case) -> None:
    """A parser reads each. As Canonical XML it is the same text, except for empty elements."""
    for _, xds, reason in one.documents():
        assert (xds is None) == (reason is not None)
        if xds is not None:
            empty = "<remove-all-values></remove-all-values>"
            assert ET.canonicalize(xds) == xds.replace("<remove-all-values/>", empty)


# Any text of Python, also with half surrogate pairs, and often with special characters of XML.
texts = st.text(st.characters(exclude_categories=()) | st.sampled_from("<>&\"'\t\n\r]\x01\ufffe "))


@given(old=texts, new=texts, name=texts, key=texts)
@settings(max_examples=300, deadline=None)
def test_a_document_is_read_back(old: str, new: str, name: str, key: str) -> None:
    """A parser finds the original values, or there is a reason instead of a document."""
    row = {"table_key": quoted(key), "event_type": 2, "column_name": name}
    log = log_of("t", [row | {"old_value": old, "new_value": new}], [], {"code": "string"})
    documents = Case("t", log, Driver(), "modify", {}).documents()
    if not name.strip(" "):
        assert documents == []
        return
    [(_, xds, reason)] = documents
    assert reason == ("illegal_character" if any(map(is_illegal, old + new + name + key)) else None)
    if xds is not None:
        document = ET.fromstring(xds)
        assert [value.text or "" for value in document.iter("value")] == [old, new]
        assert [one.get("attr-name") for one in document.iter("modify-attr")] == [name.strip(" ")]
        assert document.findtext("association") == f"{quoted(key)},table=t,schema=a&b"


def test_cases_have_every_phenomenon() -> None:
    """Every reason and each element occurs in a case."""
    reasons = {
        one.name: Counter(row.reason for row in one.publication.published()) for one in CASES
    }
    assert set(reasons["poll"]) >= {None, "loopback", "processed", "P1", "P2", "P3"}
    assert set(reasons["by_time"]) >= {None, "loopback", "waiting", "P1", "P2", "P3"}
    assert set(reasons["all_types"]) >= {None, "processed", "P1", "P2", "P3"}
    assert set(reasons["without_snapshot"]) >= {None, "loopback", "processed", "P1", "P2", "P3"}
    documents = [one for case in CASES for one in Documents(case.publication, "x", "add").all()]
    names = {xds[1:4] for _, xds, _ in documents if xds is not None}
    assert names == {"add", "mod", "del"}
    assert {"no_snapshot", "no_attributes"} <= {reason for _, _, reason in documents}
    (without,) = (one for one in CASES if one.name == "without_snapshot")
    by = [row.suppressed_by for row in without.publication.published() if row.reason == "P3"]
    assert by and all(by)
