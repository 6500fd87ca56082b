"""The writer: its topics have every phenomenon, and say what the simulated database knows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone

import pytest
from kit.formats import Case, Vector
from simulation import apply_events, database, oracle

from formats import qlik_messages
from formats.qlik_messages import avro, reference, vector_checks, writer
from formats.qlik_messages.avro_vectors import AVRO_VECTORS
from formats.qlik_messages.json_vectors import JSON_VECTORS, VERSION_VECTORS
from formats.qlik_messages.reference import Row, decode
from formats.qlik_messages.vector_checks import is_json
from formats.qlik_messages.versions import is_avro
from formats.qlik_messages.weaving import apart
from formats.qlik_messages.writer import BAD, Style, possible_bad, write

TABLES = (database.ORDERS, database.ODD_NAMES, database.POSITIONS, database.ALL_TYPES)
STYLES = {
    "by id": Style(),
    "by id in a header": Style(ids="external", bare=0.3, value="string"),
    "by time": Style(ids=None, metadata="same", names=True, bare=0.3),
    "no metadata": Style(ids=None, metadata=None, ddl=False, has_table=False, bare=0.5),
    "both encodings by id": Style(avro="id", in_avro=0.5),
    "both encodings with schemas": Style(
        ids=None, metadata=None, ddl=False, has_table=False, bare=0.5, avro="schema", in_avro=0.5
    ),
    "both encodings in frames": Style(avro="frame", in_avro=0.5, ids=None, names=True),
}


def workload(table: database.Table, seed: int, transactions: int = 40) -> database.Workload:
    return database.generate(table, random.Random(seed), transactions, without=writer.NOT_SENT)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_a_topic_says_all(table: database.Table, style: Style) -> None:
    """Versions, masks, absent columns, reloads and redeliveries: what comes out is the database."""
    for seed in range(3):
        style = qlik_messages.with_bad(style)
        log = write(workload(table, seed), random.Random(seed), style)
        assert log.workload is not None
        key, positions = list(table.key), log.positions
        assert apply_events.current_state(log.events, key) == (
            oracle.current_state(log.workload, positions=positions)
        )
        assert apply_events.history(log.events, key) == (
            oracle.history(log.workload, positions=positions)
        )


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_a_bad_record_has_its_reason(style: Style) -> None:
    for kind in possible_bad(style):
        bad = replace(style, twice=0, bad={kind: 4})
        log = write(workload(database.ORDERS, 1, 16), random.Random(kind), bad)
        assert log.quarantine == [kind] * (8 if kind == "sequence_conflict" else 4)


def test_bad_records_change_nothing_else() -> None:
    """The events are those of the rest."""
    style = qlik_messages.with_bad(Style(), number=4)
    log = write(workload(database.ORDERS, 2), random.Random(2), style)
    bad = {place for place, _ in log.decoded.quarantine}
    good = [record for place, record in enumerate(log.read) if place not in bad]
    assert len(good) < len(log.read)
    assert decode(good, log.metadata, log.options, avro.opened).events == log.decoded.events


def text_of(case: Case) -> str:
    return "\n".join(
        row["value"] if isinstance(row["value"], str) else row["value"].decode("latin-1")
        for row in case.relations["raw"].rows
        if row["value"] is not None
    )


def test_cases_have_every_phenomenon() -> None:
    cases = {case.name: case for case in qlik_messages.cases(0)}
    assert set().union(*(case.quarantine for case in cases.values())) == set(BAD)
    loads: list[Row] = []
    for case in cases.values():
        operations = {event["cdc_operation"] for event in case.events}
        assert operations == {"load", "insert", "update", "delete"}
        assert all(case.raw_counts[name] > 0 for name in ("used_rows", "no_op_rows"))
        assert any(event["cdc_present_columns"] is not None for event in case.events)
        assert any(event["cdc_changed_columns"] == [] for event in case.events)
        loads += [event for event in case.events if event["cdc_operation"] == "load"]
        assert '"changeMask":null' in text_of(case) and '"data":null' in text_of(case)
    anchored = [not load["cdc_sequence"].startswith(reference.ZEROS) for load in loads]
    assert any(anchored) and not all(anchored)
    lacking = [load["cdc_present_columns"] is not None for load in loads]
    # (whether a column is missing, whether changes came before)
    shapes = {(True, True), (True, False), (False, True)}
    assert set(zip(lacking, anchored, strict=True)) >= shapes
    assert [case.name for case in cases.values() if case.workload is not None] == [
        *("messages", "messages_of_all_types")
    ]
    assert '"type":"MD"' in text_of(cases["messages_by_time"])
    assert '"table":"positions"' in text_of(cases["messages_values_alone"])
    assert {event["cdc_commit_at"] for event in loads} > {None}


def test_cases_have_both_encodings() -> None:
    """All but those that landed as text: each has many messages in JSON, and many in Avro."""
    in_both = []
    cases = list(qlik_messages.cases(0))
    for case in cases:
        values = [row["value"] for row in case.relations["raw"].rows if row["value"] is not None]
        if isinstance(values[0], bytes):
            numbers = Counter(is_avro(value) for value in values)
            assert min(numbers[True], numbers[False]) > 30, numbers
            in_both.append(case.name)
    assert in_both == ["messages", "messages_of_all_types", "messages_values_alone"]
    (told,) = (case.relations["metadata"] for case in cases if case.name == "messages")
    assert {is_avro(row["value"]) for row in told.rows} == {True, False}


def test_hostile_avro_has_every_outcome() -> None:
    """Messages with one change of their bytes: events, no-ops, and what can be bad in Avro."""
    style = replace(STYLES["by id in a header"], value="binary", bare=0.0, names=True)
    plain = replace(style, avro="id", in_avro=0.5, twice=0.0, again=0.0)
    logs = [
        write(workload(database.POSITIONS, 1), random.Random(1), replace(plain, hostile=number))
        for number in (0, 300)
    ]
    counts = [log.decoded.raw_counts for log in logs]
    more = {name: counts[1][name] - counts[0][name] for name in counts[0]}
    assert more.pop("raw_rows") == sum(more.values()) == 300
    assert min(more.values()) > 0 and counts[0]["quarantined_rows"] == 0
    reasons = Counter(logs[1].quarantine)
    assert 50 < reasons["bad_avro"] < 200, reasons
    assert {"bad_message", "unknown_schema", "bad_change_seq", "unknown_message_type"} < set(
        reasons
    )
    events = [{event["cdc_sequence"]: event for event in log.events} for log in logs]
    assert len(events[1]) > len(events[0]), "no changed message is read"


@pytest.mark.parametrize("name", ["by id", "by time"])
def test_changes_come_again_across_a_change_of_the_table(name: str) -> None:
    """Some record has a first delivery before a version was told, and another one after it."""
    style = replace(STYLES[name], again=0.3, shuffle=False, twice=0.0)
    log = write(workload(database.ORDERS, 0), random.Random(0), style)
    told = [
        record["timestamp"] for record in log.metadata or [] if b'"MD"' in (record["value"] or b"")
    ]
    times: dict[bytes, list[datetime]] = {}
    for record in log.read:
        if record["value"] is not None and b'"REFRESH"' not in record["value"]:
            times.setdefault(record["value"], []).append(record["timestamp"])
    assert len(told) == 4
    assert any(min(one) < at <= max(one) for one in times.values() for at in told)
    versions = {event["cdc_metadata"]["table_version"] for event in log.decoded.events}
    assert versions - {None} == {1, 2, 3, 4}


def test_a_table_is_written_in_other_words_by_each_style() -> None:
    """What identifies a table and a version: the same database in each."""
    logs = [write(workload(database.ORDERS, 3), random.Random(3), one) for one in STYLES.values()]
    states = [apply_events.current_state(log.events, ["order_id"]) for log in logs]
    keys = [sorted(row["order_id"] for row in state) for state in states]
    assert keys[0] and all(one == keys[0] for one in keys)


def test_versions_of_a_topic() -> None:
    """Those of two tables, each once with its first time; data messages are no-ops."""
    relation, found, counts = qlik_messages.versions_case(0)
    assert sorted((row.source_table, row.table_version) for row in found.rows) == [
        (table.name, number)
        for table in (database.ALL_TYPES, database.ODD_NAMES)
        for number in (1, 2, 3, 4)
    ]
    assert counts["raw_rows"] == len(relation.rows) == sum(counts.values()) / 2
    assert counts["used_rows"] > 8 and counts["no_op_rows"] > 20
    reasons = {reason for _, reason in found.quarantine}
    assert {"bad_message", "unknown_message_type", "bad_metadata", "bad_avro"} <= reasons
    assert reasons <= set(BAD)
    begin = datetime(2024, 3, 1, tzinfo=timezone.utc)
    assert any(row.written_at < begin for row in found.rows if row.written_at)


# --------------------------------------------------------------------------------------- deliveries


def in_two(parts: Sequence[list[Row]]) -> list[list[Row]]:
    """All batches but the first in one, as on Iceberg and Delta."""
    first, *others = parts
    return [first, [row for part in others for row in part]]


def sequences(decoded: reference.Decoded) -> set[str]:
    return {event["cdc_sequence"] for event in decoded.events}


@pytest.mark.parametrize("seed", range(6))
def test_deliveries_have_what_increments_are_about(seed: int) -> None:
    """Changes come again, messages wait, and anchors move when they are read."""
    log, parts, told = qlik_messages.log_in_batches(random.Random(seed))
    assert all(parts)
    decoded = [
        decode(
            [row for part in parts[: number + 1] for row in part],
            [row for part in told[: number + 1] for row in part],
            log.options,
            avro.opened,
        )
        for number in range(3)
    ]
    assert sequences(decoded[2]) == sequences(log.decoded)
    assert sequences(decoded[0]) < sequences(decoded[1]) | sequences(decoded[2])
    loads = [{one for one in sequences(read) if len(one) > 35} for read in decoded]
    assert not loads[0], "loads land in the second batch"
    assert loads[1] & loads[2] and loads[1] - loads[2], "some loads are placed anew"
    values = [{row["value"] for row in part} for part in parts]
    again = (values[0] & (values[1] | values[2])) | (values[1] & values[2])
    assert len(again - {None}) > 3, "no change comes again after a batch"


def test_messages_wait_for_their_version() -> None:
    """In both encodings; the metadata message that comes late is sometimes in Avro, too."""
    waiting: Counter[bool] = Counter()
    late: set[bool] = set()
    for seed in range(6):
        log, parts, told = qlik_messages.log_in_batches(random.Random(seed))
        rows = [row for part in in_two(parts)[0:1] + parts[1:2] for row in part]
        before = decode(rows, told[0], log.options, avro.opened)
        after = decode(rows, told[2], log.options, avro.opened)
        left = set(before.quarantine) - set(after.quarantine)
        assert {reason for _, reason in left} <= {"unknown_schema"}
        waiting += Counter(is_avro(rows[place]["value"]) for place, _ in left)
        late |= {is_avro(row["value"]) for row in told[2] if row not in told[0]}
    assert min(waiting[True], waiting[False]) > 5, waiting
    assert late == {True, False}


# ------------------------------------------------------------------------------------------ vectors


def test_most_vectors_have_no_avro() -> None:
    vectors = qlik_messages.FORMAT.vectors_of("qlik_messages")
    assert sum(map(is_json, vectors)) == 95


def test_vectors_share_relations() -> None:
    """Few of them have bytes, with JSON among the Avro messages; all others have text."""
    vectors = qlik_messages.FORMAT.vectors_of("qlik_messages")
    groups = apart(vectors)
    in_bytes = [one for one in groups if not one.is_text]
    assert len(in_bytes) == 3
    assert {one["id"] for group in in_bytes for one in group.vectors} == {
        *(one["id"] for one in vectors if not is_json(one)),
        *("msg_not_utf8", "msg_names_exact_first", "msg_names_ambiguous"),
    }
    assert sorted(one["id"] for group in groups for one in group.vectors) == sorted(
        one["id"] for one in vectors
    )


@pytest.mark.parametrize("vector", (*AVRO_VECTORS, *JSON_VECTORS), ids=lambda one: one["id"])
def test_vector_in_python(vector: Vector) -> None:
    vector_checks.check_messages(vector)


@pytest.mark.parametrize("vector", VERSION_VECTORS, ids=lambda one: one["id"])
def test_version_vector_in_python(vector: Vector) -> None:
    vector_checks.check_versions(vector)


def test_masks_in_avro_are_big_endian_by_default() -> None:
    (given,) = (one["given"] for one in AVRO_VECTORS if "avro_mask_byte_order" in one["given"])
    options = replace(vector_checks.options_of(given), avro_mask_byte_order="big")
    records = vector_checks.records_of(given["messages"])
    assert decode(records, None, options, avro.opened).quarantine == [(0, "bad_mask")]
