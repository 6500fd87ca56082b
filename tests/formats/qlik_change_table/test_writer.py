"""The writer of change tables is right: a plain reading gives the same."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from datetime import datetime, timezone
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws.test_simulation import seeds, workloads
from simulation import apply_events, oracle
from simulation.database import (
    ORDERS,
    SAMPLE_TABLES,
    Table,
    Workload,
    generate,
    wide_table,
)

from formats.qlik_change_table.writer import (
    BAD_ROWS,
    HEADER_TYPES,
    METADATA,
    ChangeTable,
    Delivery,
    Layout,
    encode_mask,
    possible_bad_rows,
    write,
)

Row = dict[str, Any]


# --------------------------------------------------------------------------- Qlik change tables


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    optional = [name for name in HEADER_TYPES if name not in ("change_seq", "operation")]
    chosen = draw(st.just(optional) | st.lists(st.sampled_from(optional), unique=True))
    return Layout(
        header=("change_seq", "operation", *chosen),
        prefix=draw(st.sampled_from(("header__", "h_", "Qlik-"))),
        mask_form=draw(st.sampled_from(("text", "binary"))),
        mask_byte_order=draw(st.sampled_from(("big", "little"))),
        mask_trimmed=draw(st.booleans()),
        mask_varied=draw(st.booleans()),
        mask_null_rate=draw(st.sampled_from((0.0, 0.3))),
        before_images=draw(st.sampled_from((True, True, False))),
        key_only_deletes=draw(st.sampled_from((0.0, 0.5, 1.0))),
        anonymous_rate=draw(st.sampled_from((0.0, 0.3))),
    )


@st.composite
def deliveries(draw: st.DrawFn, layout: Layout) -> Delivery:
    bad = st.dictionaries(st.sampled_from(sorted(possible_bad_rows(layout))), st.integers(1, 3))
    return Delivery(
        interleave=draw(st.sampled_from(("none", "disjoint", "any"))),
        duplicates=draw(st.sampled_from((0.0, 0.3))),
        shuffle=draw(st.booleans()),
        bad_rows=draw(bad),
    )


@given(data=st.data(), workload=workloads(), seed=seeds, layout=layouts())
@settings(max_examples=300, deadline=None)
def test_change_table_reads_back(
    data: st.DataObject, workload: Workload, seed: int, layout: Layout
) -> None:
    delivery = data.draw(deliveries(layout))
    table = write(workload, random.Random(seed), layout, delivery)
    assert all(list(row) == list(table.columns) for row in table.rows)
    events, quarantine = read_back(table, workload.table, layout)
    assert events == table.events
    assert _sorted(quarantine) == _sorted(table.quarantine)
    assert sum(table.raw_counts.values()) == 2 * len(table.rows)


@given(data=st.data(), workload=workloads(), seed=seeds)
@settings(max_examples=150, deadline=None)
def test_change_table_agrees_with_the_states(
    data: st.DataObject, workload: Workload, seed: int
) -> None:
    layout = Layout(anonymous_rate=0.3)
    delivery = data.draw(deliveries(layout))
    table = write(workload, random.Random(seed), layout, delivery)
    assert table.is_faithful
    key, positions = workload.table.key, table.positions
    for keep_deleted in (False, True):
        assert oracle.current_state(
            workload, keep_deleted, positions=positions
        ) == apply_events.current_state(table.events, key, keep_deleted=keep_deleted)
    for granularity in ("commit", "event"):
        assert oracle.history(workload, granularity, positions=positions) == apply_events.history(
            table.events, key, granularity=granularity
        )


def test_change_sequences() -> None:
    workload = generate(ORDERS, random.Random(5), 300)
    table = write(workload, random.Random(6))
    rows = [row for row in table.rows if row["header__change_oper"] != "B"]
    sequences = [row["header__change_seq"] for row in rows]
    assert sequences == sorted(set(sequences))
    assert all(re.fullmatch(r"[0-9]{35}", sequence) for sequence in sequences)
    numbers = [int(sequence[16:]) for sequence in sequences]
    assert min(b - a for a, b in pairwise(numbers)) > 1
    groups = defaultdict(set)
    for transaction in workload.transactions:
        for change in transaction.changes:
            if change.number in table.positions:
                groups[transaction.position].add(table.positions[change.number].sequence[:16])
    assert all(len(times) == 1 for times in groups.values())
    stamps = [row["header__timestamp"] for row in rows]
    assert stamps != sorted(stamps)
    assert min(stamps).year == 1970


@pytest.mark.parametrize("interleave", ["disjoint", "any"])
def test_interleaved_transactions_stay_whole(interleave: str) -> None:
    workload = generate(ORDERS, random.Random(5), 300)
    table = write(workload, random.Random(6), delivery=Delivery(interleave=interleave))
    commits = [event["cdc_commit_sequence"] for event in sorted(table.events, key=_sequence)]
    assert commits != sorted(commits)
    assert [event["cdc_commit_sequence"] for event in table.events] == sorted(commits)
    backwards = [
        row
        for row in oracle.history(workload, "event", positions=table.positions)
        if (row["cdc_valid_to_sequence"] or "9") < row["cdc_valid_from_sequence"]
    ]
    assert bool(backwards) == (interleave == "any")


def test_each_bad_row_has_its_reason() -> None:
    workload = generate(ORDERS, random.Random(5), 50)
    reasons = {}
    for kind in BAD_ROWS:
        table = write(workload, random.Random(6), delivery=Delivery(bad_rows={kind: 4}))
        reasons[kind] = {reason for reason, _ in table.quarantine}
    assert reasons == {
        "unknown_operation": {"unknown_operation"},
        "operation_mismatch": {"operation_mismatch"},
        "bad_change_seq": {"bad_change_seq"},
        "bad_mask": {"bad_mask"},
        "bad_mask_with_before_image": {"bad_mask", "orphan_before_image"},
        "orphan_before_image": {"orphan_before_image"},
        "null_key": {"null_key"},
        "sequence_conflict": {"sequence_conflict"},
        "before_image_conflict": {"sequence_conflict"},
    }
    twice = write(
        workload, random.Random(6), delivery=Delivery(duplicates=1, bad_rows={"null_key": 4})
    )
    assert len(twice.quarantine) == 8


def test_facts_that_a_layout_loses() -> None:
    workload = generate(ORDERS, random.Random(5), 100)
    rng = random.Random(6)
    assert not write(workload, rng, Layout(before_images=False)).is_faithful
    without_ids = write(workload, rng, Layout(header=("change_seq", "operation")))
    assert not without_ids.is_faithful
    with pytest.raises(ValueError, match="splits transaction"):
        oracle.current_state(workload, positions=without_ids.positions)
    with pytest.raises(ValueError, match="no truncate"):
        write(workload, rng, Layout(header=("change_seq", "change_oper")))
    with pytest.raises(ValueError, match="no such bad rows"):
        write(workload, rng, Layout(before_images=False), Delivery(bad_rows={"bad_sequence": 1}))


@pytest.mark.parametrize(
    ("bits", "byte_order", "trimmed", "mask"),
    [
        ([0, 1, 3], "big", True, "0b"),
        ([0, 1, 3], "little", True, "0b"),
        ([7], "big", True, "80"),
        ([8], "big", True, "0100"),
        ([8], "little", True, "0001"),
        ([0], "little", False, "010000"),
        ([0], "big", False, "000001"),
        ([], "big", True, ""),
        ([1100], "big", True, "10" + "00" * 137),
    ],
)
def test_masks(bits: list[int], byte_order: str, trimmed: bool, mask: str) -> None:
    assert encode_mask(bits, 20, byte_order, trimmed).hex() == mask


def test_wide_tables() -> None:
    workload = generate(wide_table(400), random.Random(5), 20)
    table = write(workload, random.Random(6))
    assert any(len(row["header__change_mask"] or "") > 64 for row in table.rows)


# A second reading of the format's reference, from the raw rows: the numbers are its rules.


def read_back(
    table: ChangeTable, source: Table, layout: Layout
) -> tuple[list[Row], list[tuple[str, Row]]]:
    """Change events and quarantine of a change table, read by the rules of the format."""
    quarantine: list[tuple[str, Row]] = []
    by_place: dict[tuple[str, bool], list[Row]] = defaultdict(list)
    for row in table.rows:
        operation = _operation(row, layout)
        sequence = row[layout.prefix + "change_seq"]
        if not _is_change_seq(sequence):  # rule 1
            quarantine.append(("bad_change_seq", row))
        elif operation in ("unknown_operation", "operation_mismatch"):  # rule 9
            quarantine.append((operation, row))
        else:
            by_place[sequence, operation == "B"].append(row)
    usable: dict[tuple[str, bool], tuple[Row, list[Row]]] = {}
    informing = [layout.prefix + name for name in METADATA if name in layout.header]
    for place, rows in by_place.items():  # rule 12
        changes = [{n: v for n, v in row.items() if n not in informing} for row in rows]
        if any(change != changes[0] for change in changes):
            quarantine += [("sequence_conflict", row) for row in rows]
        else:
            least = min(rows, key=lambda row: [row[name] for name in informing])
            usable[place] = least, rows
    for (sequence, is_before), (row, rows) in list(usable.items()):
        reason = None if is_before else _bad_row(row, source, layout)
        if reason:
            quarantine += [(reason, row) for row in rows]
            del usable[sequence, is_before]
    for (sequence, is_before), (_, rows) in usable.items():  # rule 11
        partner = usable.get((sequence, False))
        if is_before and (partner is None or _operation(partner[0], layout) != "U"):
            quarantine += [("orphan_before_image", row) for row in rows]
    good = {sequence: row for (sequence, is_before), (row, _) in usable.items() if not is_before}
    commits: dict[tuple[str, str], str] = {}
    for sequence in sorted(good, reverse=True):
        commits[good[sequence].get(layout.prefix + "transaction_id") or "", sequence[:16]] = (
            sequence
        )
    events = []
    for sequence, row in good.items():
        paired = usable.get((sequence, True)) if _operation(row, layout) == "U" else None
        before = paired[0] if paired else None
        event = _event(row, before, source, layout)
        name = event["cdc_transaction_id"]
        event["cdc_commit_sequence"] = commits[name, sequence[:16]] if name else sequence
        events.append(event)
    return sorted(events, key=lambda one: (one["cdc_commit_sequence"], _sequence(one))), quarantine


def _sequence(event: Row) -> Any:
    return event["cdc_sequence"]


def _sorted(quarantine: list[tuple[str, Row]]) -> list[str]:
    return sorted(map(repr, quarantine))


def _is_change_seq(text: str | None) -> bool:
    if text is None or not re.fullmatch(r"[0-9]{35}", text, re.ASCII):
        return False
    try:
        datetime.strptime(text[:14], "%Y%m%d%H%M%S")
    except ValueError:
        return False
    return True


def _operation(row: Row, layout: Layout) -> str:
    words = {"INSERT": "I", "UPDATE": "U", "DELETE": "D", "BEFOREIMAGE": "B", "TRUNCATE": "T"}
    letter = row.get(layout.prefix + "change_oper") or ""
    word = words.get(row.get(layout.prefix + "operation") or "", "")
    if word == "T":
        return "T"
    if not letter:
        return word or "unknown_operation"
    if letter not in ("I", "U", "D", "B"):
        return "unknown_operation"
    return letter if word in ("", letter) else "operation_mismatch"


def _mask_bits(row: Row, layout: Layout) -> set[int] | None:
    mask = row.get(layout.prefix + "change_mask")
    if mask is None:
        return None
    if isinstance(mask, str):
        digits = re.sub(r"^(0x(?=.)|x'(?=.*'$)|X'(?=.*'$))", "", mask.strip()).rstrip("'")
        digits = "" if mask.strip().lower() in ("0x", "x''") else digits
        if not re.fullmatch(r"[0-9a-fA-F]*", digits) or mask.count("'") == 1:
            raise ValueError(mask)
        mask = bytes.fromhex(digits if len(digits) % 2 == 0 else "0" + digits)
    octets = mask if layout.mask_byte_order == "little" else mask[::-1]
    return {8 * n + b for n, octet in enumerate(octets) for b in range(8) if octet >> b & 1}


def _bad_row(row: Row, source: Table, layout: Layout) -> str | None:
    operation, headers = _operation(row, layout), len(layout.header)
    if operation in ("I", "U"):  # rules 4 and 8
        try:
            bits = _mask_bits(row, layout) or set()
        except ValueError:
            return "bad_mask"
        if bits - set(range(headers, headers + len(source.columns))):
            return "bad_mask"
    if operation != "T" and any(row[name] is None for name in source.key):
        return "null_key"
    return None


def _event(row: Row, before: Row | None, source: Table, layout: Layout) -> Row:
    operation, prefix = _operation(row, layout), layout.prefix
    names, headers = list(source.columns), len(layout.header)
    sequence = row[prefix + "change_seq"]
    at = datetime.strptime(sequence[:14], "%Y%m%d%H%M%S").replace(tzinfo=timezone.utc)
    changed = None
    if operation == "U":
        bits = _mask_bits(row, layout)
        changed = None if bits is None else [names[bit - headers] for bit in sorted(bits)]
    present = None
    if operation == "D":
        present = [name for name in names if row[name] is not None]
    words = {"I": "insert", "U": "update", "D": "delete", "T": "truncate"}
    return {
        "cdc_source": "qlik_change_table",
        "cdc_operation": words[operation],
        "cdc_sequence": sequence,
        "cdc_commit_at": at.replace(microsecond=int(sequence[14:16]) * 10_000),
        "cdc_transaction_id": row.get(prefix + "transaction_id") or None,
        "cdc_changed_columns": changed,
        "cdc_present_columns": None if present == names else present,
        "cdc_before": None if before is None else {name: before[name] for name in names},
        "cdc_metadata": {
            name: row[prefix + name]
            for name in ("stream_position", "timestamp", "partition_name")
            if prefix + name in row
        },
        **{name: row[name] for name in names},
    }


@pytest.mark.parametrize("table", SAMPLE_TABLES, ids=lambda table: table.name)
def test_seeds_repeat(table: Table) -> None:
    workload = generate(table, random.Random(7), 20)
    written = [
        write(workload, random.Random(8), Layout(mask_varied=True), Delivery(shuffle=True))
        for _ in range(2)
    ]
    assert written[0] == written[1]
