"""Avro messages with one change of their bytes, and what is certain of them."""

from __future__ import annotations

import random
from collections.abc import Sequence

from kit.values import Malformed

from formats.qlik_messages import avro
from formats.qlik_messages.versions import Version, is_avro, is_frame


def changed(value: bytes, at: int, end: int, rng: random.Random) -> list[bytes]:
    """The bytes with one change at a place: another byte, a cut, bytes that lack or come twice."""
    return [
        value[:at] + bytes([value[at] ^ 1 << rng.randrange(8)]) + value[at + 1 :],
        value[:at] + bytes([rng.randrange(256)]) + value[at + 1 :],
        value[:at],
        value[:at] + value[end:],
        value[:at] + value[at:end] + value[at:],
    ]


def mutated(value: bytes, rng: random.Random) -> bytes:
    """One change of the bytes of a message."""
    at = rng.randrange(len(value))
    end = min(len(value), at + rng.choice((1, 2, 5, 40)))
    return rng.choice([*changed(value, at, end, rng), value + value[at:end]])


def fate_of(value: bytes, known: Sequence[Version]) -> str | None:
    """What fastavro makes of a message, `read` or a reason; None where this is not certain.

    It is lenient in some things (lengths below 0, numbers of more than 64 bits): then it does not
    write what it has read as it was. And it has no dates after the year 9999.
    """
    if not is_avro(value):
        return "bad_message"
    try:
        found = avro.read(value, known, None)
    except Malformed as error:
        return None if isinstance(error.__context__, OverflowError) else str(error)
    message = avro.written(found.schema, found.record)
    if is_frame(value):
        return "read" if message == found.head["message"] else None
    envelope = avro.written_with(avro.ENVELOPE, {**found.head, "message": message})
    return "read" if envelope == value else None


def hostile(sound: bytes, known: Sequence[Version], rng: random.Random) -> bytes:
    """A message with one change. Of those that do not fit their schema, most are passed over."""
    while True:
        value = mutated(sound, rng)
        fate = fate_of(value, known)
        if fate is not None and (fate != "bad_avro" or rng.random() < 0.2):
            return value
