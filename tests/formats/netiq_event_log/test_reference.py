"""The reference in plain Python: rules that are laws, and cases that the vectors do not have."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.values import Malformed

from formats.netiq_event_log import reference
from formats.netiq_event_log.reference import Increments, Options, Row, decode, parse_key

OPTIONS = Options("usr", ["idu"], {"idu": "int", "fname": "string", "lname": "string"})
SNAPSHOT = [{"idu": 1, "fname": "John", "lname": "Doe"}]
TIMES = [f"2024-03-01 1{hour}:00:00" for hour in range(4)]


def row(record_id: int, event_type: int, column: str | None = None, **more: Any) -> Row:
    """A log row of the user with idu 1."""
    return {
        "record_id": record_id,
        "status": "N",
        "event_type": event_type,
        "event_time": TIMES[0],
        "perpetrator": None,
        "table_name": "usr",
        "table_key": "idu=1",
        "column_name": column,
        "old_value": None,
        "new_value": "x" if event_type in reference.LOGGED else None,
        **more,
    }


# --------------------------------------------------------------------------------------------- keys


def write_key(parts: list[tuple[str, str]], quoted: list[bool]) -> str:
    """A key by its grammar; a value is quoted where it must be, and sometimes where it may be."""
    written = []
    for (name, value), is_quoted in zip(parts, quoted, strict=True):
        if is_quoted or set(value) & set(reference.SPECIAL):
            value = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        written.append(f"{name}={value}")
    return "+".join(written)


texts = st.text(st.sampled_from("ab \n',;+\"=\\<>ä漢{}"), max_size=12)
names = st.text(st.sampled_from("abc _'.\n"), min_size=1, max_size=4)


@given(data=st.data(), parts=st.lists(st.tuples(names, texts), min_size=1, max_size=4))
@settings(max_examples=300, deadline=None)
def test_a_written_key_is_read_back(data: st.DataObject, parts: list[tuple[str, str]]) -> None:
    quoted = data.draw(st.lists(st.booleans(), min_size=len(parts), max_size=len(parts)))
    text = write_key(parts, quoted)
    if len({name.lower() for name, _ in parts}) == len(parts):
        assert parse_key(text) == parts
    else:
        with pytest.raises(Malformed):
            parse_key(text)


@given(text=st.text(st.sampled_from("ab=+\"\\,;' "), max_size=12))
@settings(max_examples=500, deadline=None)
def test_a_key_that_is_read_can_be_written(text: str) -> None:
    """A parsed key has the same meaning when it is written again; everything else is malformed."""
    try:
        parts = parse_key(text)
    except Malformed as error:
        assert error.args == ("malformed_table_key",)
        return
    assert parse_key(write_key(parts, [True] * len(parts))) == parts


def test_a_view_prefix_is_removed() -> None:
    for name in ("EMPNO", " empno ", "pk_empno", "pk_sv_empno", "pk_12_empno", "PK_sv_3_empno"):
        assert reference.match_key([(name, "1")], ["empno"], {"empno": "int"}) == (1,)


def test_a_view_prefix_with_a_referenced_column() -> None:
    for name in ("pk__id__empno", "pk_sv_4__dept_id__empno", "PK_7__a__EMPNO"):
        assert reference.match_key([(name, "1")], ["empno"], {"empno": "int"}) == (1,)
    for name in ("pk_x_empno", "sv_empno", "pk_sv_sv_empno", "pk_pk_empno"):
        with pytest.raises(Malformed, match="key_mismatch"):
            reference.match_key([(name, "1")], ["empno"], {"empno": "int"})


def test_one_key_column_in_two_forms() -> None:
    with pytest.raises(Malformed, match="key_mismatch"):
        reference.match_key([("a", "1"), ("pk_a", "1")], ["a"], {"a": "int"})


# --------------------------------------------------------------------------------------------- rows


def logs(rng: random.Random, number: int = 14) -> list[Row]:
    """Log rows of two keys, each written in two ways, of every type and some of the times."""
    rows = []
    for record_id in range(1, number + 1):
        event_type = rng.choice((1, 2, 3, 4, 5, 6, 7, 8, 2, 8))
        has_column = event_type in reference.FIELDS
        rows.append(
            row(
                record_id,
                event_type,
                rng.choice(("fname", "LNAME ", "salary")) if has_column else None,
                event_time=rng.choice(TIMES[:2]),
                table_key=rng.choice(("idu=1", "idu=1", "idu= 1", "idu=2", "idu=x")),
                status=rng.choice("NNSWEFx"),
                new_value=rng.choice("abc") if event_type in reference.LOGGED else None,
            )
        )
    return rows


@given(seed=st.integers(0, 10**6), as_of=st.sampled_from([None, TIMES[0], TIMES[1]]))
@settings(max_examples=200, deadline=None)
def test_order_and_repeats_of_deliveries_do_not_matter(seed: int, as_of: str | None) -> None:
    rng = random.Random(seed)
    rows = logs(rng)
    options = Options("usr", OPTIONS.key, OPTIONS.columns, as_of)
    snapshot = SNAPSHOT if rng.random() < 0.8 else None
    once = decode(rows, snapshot, options)
    again = [dict(one) for one in rng.sample(rows, 5)]
    for one in again:
        if one["status"] != "x":
            one["record_id"] = f" {one['record_id']}.0"
    shuffled = rows + again
    rng.shuffle(shuffled)
    twice = decode(shuffled, snapshot, options)
    assert twice.events == once.events
    assert twice.raw_counts["raw_rows"] == 19 == sum(twice.raw_counts.values()) / 2
    assert {reason for _, reason in twice.quarantine} == {reason for _, reason in once.quarantine}


@given(seed=st.integers(0, 10**6), as_of=st.sampled_from([None, TIMES[0]]))
@settings(max_examples=200, deadline=None)
def test_a_row_is_in_one_event_at_most(seed: int, as_of: str | None) -> None:
    """Events have different sequences and carry their present columns, and the counts add up."""
    rng = random.Random(seed)
    options = Options("usr", OPTIONS.key, OPTIONS.columns, as_of)
    decoded = decode(logs(rng), SNAPSHOT, options)
    sequences = [event["cdc_sequence"] for event in decoded.events]
    assert sequences == sorted(set(sequences))
    for event in decoded.events:
        present = event["cdc_present_columns"]
        assert present != list(options.columns)
        if present is not None:
            assert all(event[name] is None for name in options.columns if name not in present)


def in_runs(rows: list[Row], rng: random.Random) -> list[list[Row]]:
    """Rows in three runs, at random; some statuses change, and some rows are repeated."""
    runs: list[list[Row]] = [[], [], []]
    for one in rows:
        runs[rng.randrange(3)].append(one)
        if rng.random() < 0.3:
            runs[rng.randrange(3)].append({**one, "status": rng.choice("NSE")})
    return runs


@given(seed=st.integers(0, 10**6))
@settings(max_examples=300, deadline=None)
def test_runs_without_query_back_equal_a_full_refresh(seed: int) -> None:
    rng = random.Random(seed)
    rows = [one for one in logs(rng) if one["event_type"] not in reference.QUERY_BACK]
    increments = Increments(OPTIONS)
    for run in in_runs(rows, rng):
        decoded = increments.run(run, SNAPSHOT)
        whole = decode(increments.rows, SNAPSHOT, OPTIONS)
        assert (decoded.events, decoded.quarantine) == (whole.events, whole.quarantine)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=300, deadline=None)
def test_runs_with_query_back_and_no_delete_equal_a_full_refresh(seed: int) -> None:
    """With an unchanged snapshot only a delete makes an answer older than a full refresh."""
    rng = random.Random(seed)
    rows = [one for one in logs(rng) if one["event_type"] != 4]
    increments = Increments(OPTIONS)
    for run in in_runs(rows, rng):
        decoded = increments.run(run, SNAPSHOT)
        whole = decode(increments.rows, SNAPSHOT, OPTIONS)
        assert (decoded.events, decoded.quarantine) == (whole.events, whole.quarantine)


# --------------------------------------------------------------------------- increments, by example


def events(decoded: reference.Decoded) -> list[tuple[Any, ...]]:
    return [
        (int(event["cdc_sequence"][-38:]), event["cdc_operation"], event["fname"], event["lname"])
        for event in decoded.events
    ]


def test_a_row_that_is_bad_in_the_snapshot_joins_when_it_is_good() -> None:
    columns = {"idu": "int", "fname": "string", "lname": "int"}
    increments = Increments(Options("usr", ["idu"], columns))
    rows = [row(1, 8, "fname"), row(2, 8, "lname")]
    first = increments.run(rows, [{"idu": "1", "fname": "John", "lname": "x"}])
    assert events(first) == [(1, "update", "John", None)]
    assert first.quarantine == [(1, "bad_value")]
    same = increments.run([], [{"idu": "1", "fname": "Jim", "lname": "y"}])
    assert events(same) == [(1, "update", "John", None)]
    joined = increments.run([], [{"idu": "1", "fname": "Jim", "lname": "7"}])
    assert events(joined) == [(1, "update", "Jim", 7)]
    kept = increments.run([], [{"idu": "1", "fname": "Joe", "lname": "z"}])
    assert events(kept) == [(1, "update", "Jim", 7)] and kept.quarantine == []


def test_a_window_without_a_value_of_the_snapshot_is_not_answered() -> None:
    increments = Increments(OPTIONS)
    asked = [row(1, 2, "fname", new_value="Jim"), row(2, 6)]
    assert events(increments.run(asked, [])) == [(1, "update", "Jim", None)]
    assert events(increments.run([], SNAPSHOT)) == [(2, "update", "John", "Doe")]


def test_a_conflict_takes_a_delete_away() -> None:
    increments = Increments(OPTIONS)
    increments.run([row(1, 6), row(2, 4), row(3, 5)], SNAPSHOT)
    decoded = increments.run([row(2, 4, perpetrator="app")], SNAPSHOT)
    assert events(decoded) == [(1, "insert", "John", "Doe")]
    assert [reason for _, reason in decoded.quarantine] == ["sequence_conflict"] * 2


def test_a_row_of_another_time_divides_an_answered_event() -> None:
    """The answered values stay; the order of rows decides about events."""
    increments = Increments(OPTIONS)
    increments.run([row(1, 8, "fname"), row(3, 8, "lname")], SNAPSHOT)
    late = row(2, 2, "lname", event_time=TIMES[1], new_value="Foe")
    decoded = increments.run([late], [{"idu": 1, "fname": "Jim", "lname": "Frost"}])
    assert events(decoded) == [
        (1, "update", "John", None),
        (2, "update", None, "Foe"),
        (3, "update", None, "Doe"),
    ]


def test_now_is_the_local_time_of_the_log() -> None:
    rows = [row(1, 2, "fname"), row(2, 2, "fname", event_time="2100-01-01 00:30:00")]
    for zone, number in (("UTC", 1), ("Europe/Berlin", 2)):
        options = Options("usr", OPTIONS.key, OPTIONS.columns, "now", zone)
        assert len(decode(rows, None, options).events) == number


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"table_name": None, "record_id": None}, "missing_table_name"),
        ({"table_name": "", "record_id": None}, "missing_table_name"),
        ({"table_name": "hr. ", "record_id": None}, "missing_table_name"),
        ({"record_id": "7x", "status": "Q"}, "bad_record_id"),
        ({"status": "n", "event_type": 9}, "bad_status"),
        ({"status": None}, "bad_status"),
        ({"status": " N"}, "bad_status"),
        ({"event_type": 9, "event_time": None}, "unknown_operation"),
        ({"event_time": None, "table_key": ""}, "null_event_time"),
        ({"event_time": "soon", "table_key": ""}, "bad_event_time"),
        ({"table_key": "idu", "column_name": None}, "malformed_table_key"),
        ({"table_key": "nr=1", "column_name": None}, "key_mismatch"),
        ({"column_name": None, "table_key": "idu=x"}, "missing_column_name"),
        ({"column_name": ""}, "missing_column_name"),
        ({"table_key": "idu=x"}, "bad_value"),
        ({"column_name": "IDU", "new_value": "x"}, "bad_value"),
    ],
)
def test_the_first_reason_counts(changed: Row, reason: str) -> None:
    decoded = decode([row(1, 2, "fname") | changed], None, OPTIONS)
    assert decoded.quarantine == [(0, reason)]
