"""The reference in plain Python: rules that are laws, and cases that the vectors do not have."""

from __future__ import annotations

import base64
import random
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.values import Malformed

from formats.db2_capture_table.reference import (
    Decoded,
    Increments,
    Missing,
    Row,
    canonical,
    decode,
    options_of,
)

CD = dict.fromkeys(("IBMSNAP_COMMITSEQ", "IBMSNAP_INTENTSEQ", "IBMSNAP_OPERATION"), "string")
ITEMS = CD | {"ID": "int", "NAME": "string"}
OPTIONS = options_of(ITEMS, ["ID"])
BASED = options_of(CD | {"PK01": "int"}, ["ID"], base={"ID": "int", "QTY": "int"})


def row(commit: int, intent: int, operation: str, key: int, name: str | None = None) -> Row:
    """A row of the CD table, or of a table with the key alone."""
    sequences = {"IBMSNAP_COMMITSEQ": f"{commit:020X}", "IBMSNAP_INTENTSEQ": f"{intent:020X}"}
    of_key: Row = {"PK01": key} if name is None else {"ID": key, "NAME": name}
    return {**sequences, "IBMSNAP_OPERATION": operation, **of_key}


def events(decoded: Decoded) -> list[tuple[Any, ...]]:
    names = ("cdc_operation", "ID", "NAME", "QTY")
    return [tuple(event[name] for name in names if name in event) for event in decoded.events]


# ---------------------------------------------------------------------------------------- sequences

numbers = st.integers(0, 2**80 - 1)


@given(number=numbers, width=st.sampled_from((10, 16)))
@settings(max_examples=100, deadline=None)
def test_every_form_of_a_sequence_means_the_same(number: int, width: int) -> None:
    value = number.to_bytes(width, "big")
    digits = value.hex()
    forms = [
        value,
        digits,
        digits.upper(),
        f" x'{digits}'",
        f"0X{digits}",
        f"{digits[:8]}:{digits[8:]}",
    ]
    forms += [base64.b64encode(value).decode()]  # 10 and 16 bytes both end in =
    assert {canonical(one) for one in forms} == {f"{number:032X}"}


@given(one=numbers, other=numbers)
@settings(max_examples=100, deadline=None)
def test_canonical_forms_are_in_the_order_of_numbers(one: int, other: int) -> None:
    forms = canonical(one.to_bytes(10, "big")), canonical(other.to_bytes(16, "big"))
    assert (forms[0] < forms[1]) == (one < other)
    of_numbers = canonical(Decimal(one)), canonical(other)
    assert (of_numbers[0] < of_numbers[1]) == (one < other)


@pytest.mark.parametrize("value", [Decimal("1.5"), 10**32, -1, "0A\n", "=", "A===", "::", "0x", ""])
def test_malformed_sequences(value: Any) -> None:
    with pytest.raises(Malformed, match="bad_sequence"):
        canonical(value)


# ------------------------------------------------------------------------------------------ columns


def test_key_columns_are_as_many_as_the_key() -> None:
    with pytest.raises(Missing):
        options_of(CD | {"PK1": "int", "PK02": "int"}, ["ID"])
    numbered = options_of(CD | {"pk10": "int", "PK9": "string"}, ["A", "B"])
    assert numbered.sources == {"B": "pk10", "A": "PK9"}


def test_a_column_that_only_looks_like_a_before_column_belongs_to_the_table() -> None:
    options = options_of(ITEMS | {"XNR": "int", "XNAME": "string"}, ["ID"])
    assert list(options.columns) == ["ID", "NAME", "XNR"]
    assert options.before == {"NAME": "XNAME"}
    columns = {"ID": "int", "NAME": "string", "XNAME": "string"}
    options = options_of(ITEMS | {"XID": "int", "XNAME": "string"}, ["ID"], columns)
    assert options.before == {"ID": "XID"}


# -------------------------------------------------------------------------------------------- pairs


def test_the_order_of_rows_does_not_matter() -> None:
    rows = [row(11, place, "DI"[place % 2], place // 2, "a") for place in range(12)]
    rows += [row(commit, 1, "U", 1, "b") for commit in range(12, 20)] + rows[:3]
    whole = decode(rows, OPTIONS)
    assert [one[0] for one in events(whole)] == ["update"] * 14
    for seed in range(5):
        shuffled = random.Random(seed).sample(rows, len(rows))
        assert decode(shuffled, OPTIONS).events == whole.events


def test_a_row_in_quarantine_does_not_split_a_pair() -> None:
    rows = [row(11, 1, "D", 1, "a"), row(11, 2, "Z", 2, "x"), row(11, 3, "I", 1, "b")]
    assert events(decode(rows, OPTIONS)) == [("update", 1, "b")]
    other = [rows[0], row(11, 2, "I", 2, "x"), rows[2]]
    assert events(decode(other, OPTIONS)) == [
        ("delete", 1, "a"),
        ("insert", 2, "x"),
        ("insert", 1, "b"),
    ]


def test_a_delete_and_an_insert_at_one_position_are_one_update() -> None:
    """Whatever their keys, in any order, however often they are delivered."""
    same = [row(11, 1, "D", 1, "a"), row(11, 1, "I", 1, "b")]
    moved = [row(11, 2, "I", 3, "c"), row(11, 2, "D", 2, "c")]
    (first, second) = decode(same[::-1] + moved + same, OPTIONS).events
    assert (first["cdc_operation"], first["cdc_before"]["NAME"], first["NAME"]) == (
        ("update", "a", "b")
    )
    assert (second["cdc_operation"], second["cdc_before"]["ID"], second["ID"]) == ("update", 2, 3)
    assert second["cdc_changed_columns"] == ["ID"]
    assert [one["cdc_sequence"][-1] for one in (first, second)] == ["1", "2"]
    # a delete before them is no half of their update
    before = decode([row(11, 0, "D", 1, "x"), *same], OPTIONS)
    assert events(before) == [("delete", 1, "x"), ("update", 1, "b")]


@pytest.mark.parametrize(
    "more",
    [[("D", 2, "a")], [("I", 1, "c")], [("U", 1, "b")], [("D", 1, "z"), ("I", 1, "z")]],
)
def test_more_rows_at_their_position_are_a_conflict(more: list[tuple[str, int, str]]) -> None:
    rows = [row(11, 1, "D", 1, "a"), row(11, 1, "I", 1, "b")]
    rows += [row(11, 1, *one) for one in more]
    assert decode(rows, OPTIONS).quarantine == [
        (place, "sequence_conflict") for place in range(len(rows))
    ]


# --------------------------------------------------------------------------------------------- base


def test_a_conflict_of_two_keys_leaves_the_rows_before() -> None:
    increments = Increments(BASED)
    base = [{"ID": 1, "QTY": 5}, {"ID": 2, "QTY": 6}]
    first = increments.run([row(11, 1, "I", 1), row(12, 1, "U", 1), row(11, 2, "I", 2)], base=base)
    assert events(first) == [("insert", 2, 6), ("update", 1, 5)]
    second = increments.run([row(12, 1, "U", 2)], base=[])
    assert events(second) == [("delete", 1, None), ("insert", 2, 6)]
    assert [reason for _, reason in second.quarantine] == ["sequence_conflict"] * 2


def test_a_key_that_is_bad_in_the_base_is_asked_again() -> None:
    increments = Increments(BASED)
    rows = [row(11, 1, "I", 1)]
    assert increments.run(rows, base=[{"ID": "1", "QTY": "n/a"}]).quarantine == [(0, "bad_value")]
    assert events(increments.run([], base=[{"ID": "1", "QTY": "7"}])) == [("insert", 1, 7)]
    assert events(increments.run([], base=[{"ID": "1", "QTY": "n/a"}])) == [("insert", 1, 7)]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"IBMSNAP_INTENTSEQ": "1", "IBMSNAP_OPERATION": "Z"}, "bad_sequence"),
        ({"IBMSNAP_OPERATION": "u", "ID": None}, "unknown_operation"),
        ({"ID": None, "IBMSNAP_LOGMARKER": "soon"}, "null_key"),
        ({"ID": "x"}, "bad_value"),
        ({"IBMSNAP_LOGMARKER": "soon"}, "bad_value"),
    ],
)
def test_the_first_reason_counts(changed: Row, reason: str) -> None:
    options = options_of(ITEMS | {"IBMSNAP_LOGMARKER": "string"}, ["ID"])
    assert decode([row(11, 1, "U", 1, "a") | changed], options).quarantine == [(0, reason)]
