"""Hostile messages: always the same ones, with every outcome, and none that changes another."""

from __future__ import annotations

from functools import cache

from formats.qlik_messages import avro, hostile
from formats.qlik_messages.reference import decode
from formats.qlik_messages.writer import BAD


@cache
def some_hostile() -> hostile.Hostile:
    return hostile.hostile(2500)


def test_hostile_messages_are_always_the_same() -> None:
    again = hostile.hostile(300)
    assert list(again.rows) == list(some_hostile().rows[:300])
    assert len({row["value"] for row in again.rows}) > 290


def test_hostile_messages_have_every_outcome() -> None:
    decoded = some_hostile().decoded
    counts = dict(decoded.raw_counts)
    assert counts.pop("raw_rows") == sum(counts.values()) == 2500
    assert counts["used_rows"] > 500 and counts["no_op_rows"] > 100
    reasons = set(some_hostile().reasons.values())
    assert reasons >= set(BAD) - {"sequence_conflict", "bad_avro", "avro_unsupported"}


def test_hostile_messages_do_not_change_others() -> None:
    """Without those in quarantine for what they are, all other messages say the same."""
    one = some_hostile()
    bad = {place for place, reason in one.decoded.quarantine if reason != "sequence_conflict"}
    rest = [row for place, row in enumerate(one.rows) if place not in bad]
    assert decode(rest, one.metadata, hostile.OPTIONS, avro.opened).events == one.decoded.events


def test_messages_beyond_limits_do_not_stop() -> None:
    rows = hostile.beyond_limits()
    decoded = decode(rows, None, hostile.OPTIONS, avro.opened)
    assert {reason for _, reason in decoded.quarantine} <= {"bad_message"}
    assert len(decoded.events) + len(decoded.quarantine) == len(rows)
