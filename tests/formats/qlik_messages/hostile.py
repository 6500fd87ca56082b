"""Messages that were good and are not: one change each, at random, and always the same ones.

:func:`hostile` gives the records of one relation, and what the reference makes of them: events, and
for each offset in quarantine the reason. A decoder must not stop at any of them, and have no event
that the reference has not. :func:`beyond_limits` are sound messages that a JSON reader with limits
cannot read (depth, digits of a number): each may be an event or `bad_message`, but never stops.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from formats.qlik_messages import avro, message, reference
from formats.qlik_messages.message import Members, Pairs, dump
from formats.qlik_messages.reference import Decoded, Options, Row
from formats.qlik_messages.strict_json import Number

COLUMNS = {
    "ID": "int",
    "NAME": "string",
    "AMOUNT": "decimal(10,2)",
    "SEEN": "timestamp",
    "OK": "boolean",
    "NOTE": "string",
}
OPTIONS = Options(["ID"], COLUMNS, "CUST", "APP")
BEGIN = datetime(2024, 3, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Hostile:
    """The records, those of `metadata`, and the reference's answer."""

    rows: Sequence[Row]
    metadata: Sequence[Row]
    decoded: Decoded

    @property
    def reasons(self) -> dict[int, str]:
        """The reason of each offset that is in quarantine."""
        return {self.rows[place]["offset"]: reason for place, reason in self.decoded.quarantine}


# ----------------------------------------------------------------------------------------- messages


def sound_message(number: int, rng: random.Random) -> tuple[Members, str | None]:
    """A message that is well formed, with a sequence and a key of its own; its Kafka key."""
    operation = rng.choice(("INSERT", "UPDATE", "UPDATE", "DELETE", "REFRESH", "METADATA"))
    if operation == "METADATA":
        return metadata_message(f"S{number}", number), None
    row: Members = {
        "ID": Number(number),
        "NAME": rng.choice(("Ada", "", "Zoë", 'O\'Neil "q"\n\\')),
        "AMOUNT": rng.choice((Number("10.50"), "-3.07", None, Number("12345678"))),
        "SEEN": rng.choice(("2024-02-29 08:15:02.000000", None)),
        "OK": rng.choice((True, False, None)),
        "NOTE": rng.choice((None, "x", Number("12345678901234567890"))),
    }
    old: Members = row | {"NAME": "before", "NOTE": None}
    sequence = f"2024022908150200{number:019d}"
    masks = rng.choice(({}, {"changeMask": "22", "columnMask": "3F"}, {"columnMask": "1f"}))
    transaction = f"{number // 3:032X}"
    if operation == "REFRESH":
        headers = message.headers(operation)
    else:
        headers = message.headers(operation, sequence, transactionId=transaction, **masks)
        headers |= {"transactionEventCounter": 1, "transactionLastEvent": True}
    content: Members = {"data": row, "beforeData": None, "headers": headers}
    key = None
    if operation == "UPDATE":
        content["beforeData"] = rng.choice((None, old))
    if operation == "DELETE":
        key = dump({"ID": Number(number)})
        image, before = rng.choice(((row, None), ({"ID": number}, old), (None, old), (None, None)))
        content |= {"data": image, "beforeData": before}
    schema_id = rng.choice(("S1", "S2", None))
    if schema_id is None or rng.random() < 0.3:
        content |= {"schema": "APP", "table": "CUST"}
    if rng.random() < 0.25:
        return content, key
    return message.envelope(content, schema_id=schema_id), key


def metadata_message(schema_id: str, number: int) -> Members:
    """A metadata message; the second version has its columns in another order."""
    columns = list(COLUMNS) if number % 2 else ["ID", "OK", "NOTE", "NAME", "AMOUNT", "SEEN"]
    told = message.metadata(schema_id, ("APP", "CUST"), number, columns, COLUMNS, ["ID"], BEGIN)
    return message.envelope(told, "MD", schema_id)


# ------------------------------------------------------------------------------------------ changes

TOKENS = (
    *(b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"/", b"null", b"NaN", b"Infinity"),
    *(
        b"-",
        b"+1",
        b"01",
        b".5",
        b"1.",
        b"1e",
        b"0x1",
        b"'a'",
        b"/* c */",
        b"// c\n",
        b"#",
        b"True",
    ),
    *(b"\x00", b"\x01", b"\t", b"\n", b"\r", b"\x7f", b"\x0b", b"\xc2\x85", b"\xe2\x80\xa8"),
    *(b"\x80", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xc3"),
    *(
        b"\xef\xbb\xbf",
        b"\xfe\xff",
        b"\\u0000",
        b"\\ud800",
        b"\\udc00",
        b"\\ud83d\\ude00",
        b"\\u12",
    ),
    *(b"\\x41", b"\\/", b"\\b", b"\\'", b"\\u00e9", b"\xf0\x9f\x98\x80", b"\xc2\xa0", b" "),
)


def changed_bytes(text: bytes, rng: random.Random) -> bytes:
    """One change of the bytes of a message."""
    at = rng.randrange(len(text))
    end = min(len(text), at + rng.choice((1, 1, 2, 5, 40)))
    token = rng.choice(TOKENS)
    return rng.choice(
        (
            text[:at] + bytes([text[at] ^ 1 << rng.randrange(8)]) + text[at + 1 :],
            text[:at] + bytes([rng.randrange(256)]) + text[at + 1 :],
            text[:at],
            text[at:],
            text[:at] + text[end:],
            text[:at] + text[at:end] + text[at:],
            text[:at] + token + text[at:],
            text[:at] + token + text[at:],
            text[:at] + token + text[end:],
            in_a_text(text, token, rng),
            in_a_text(text, token, rng),
            token + text,
            text + token,
            text + text,
            text.decode().encode(rng.choice(("utf-16", "utf-16-be", "utf-8-sig", "utf-32"))),
        )
    )


def in_a_text(text: bytes, token: bytes, rng: random.Random) -> bytes:
    """A token within some text or name of the message."""
    quotes = [place for place, letter in enumerate(text) if letter == ord('"')]
    at = rng.choice(quotes) + rng.choice((0, 1))
    return text[:at] + token + text[at:]


NUMBERS = ("0", "-0", "1", "-1", "1.5", "7" * 40, "9" * 300, "99999999999", "2147483648", "1e400")


def other_value(value: Any, rng: random.Random) -> Any:
    """A value of another type, or another one of its type."""
    deep: Any = rng.choice(({}, [], 1))
    for _ in range(rng.choice((1, 2, 60, 200))):
        deep = rng.choice(([deep], {"a": deep}))
    return rng.choice(
        (
            *(None, True, False, "", " ", "x", "0", "12", "1.5", "\x00", "a\x00b", "null", "{}"),
            *("\ud800", "a\udc00", "\U0001f600", [], {}, [value], {"a": value}, [[1], 2], deep),
            *map(Number, NUMBERS),
            *(" 7 ", "1e2", "0x1F", "x'1F'", "F" * 40, "01", "2024-02-30", "2024-02-29T10:00:00Z"),
        )
    )


def paths(value: Any) -> Iterator[tuple[str, ...]]:
    """The path of each member of an object, and of those in it."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield (name,)
            yield from ((name, *path) for path in paths(one))


def with_change(value: Any, path: Sequence[str], change: Callable[[Pairs, int], None]) -> Any:
    """An object with a change of the member at a path, which is told by its place."""
    members = Pairs(value.items())
    place = list(value).index(path[0])
    if len(path) == 1:
        change(members, place)
    else:
        members[place] = (path[0], with_change(value[path[0]], path[1:], change))
    return members


def encoded(written: str) -> bytes:
    """A text in UTF-8; what that cannot write is escaped, as JSON can."""
    return re.sub("[\ud800-\udfff]", lambda one: f"\\u{ord(one[0]):04x}", written).encode()


def changed_structure(value: Members, rng: random.Random) -> bytes:
    """One change of one member, at any depth."""
    path = rng.choice(list(paths(value)))
    name = path[-1]
    names = [one[-1] for one in paths(value)]

    def change(members: Pairs, place: int) -> None:
        old = members[place][1]
        other = other_value(old, rng)
        new_name = rng.choice(
            (
                *(
                    name.lower(),
                    name.upper(),
                    name.swapcase(),
                    name.title(),
                    f"{name} ",
                    f"{name}\x00",
                ),
                *(
                    "",
                    "op",
                    "operation",
                    "message",
                    "headers",
                    "x",
                    rng.choice(names),
                    f"\ufeff{name}",
                ),
            )
        )
        kind = rng.choice(("value",) * 6 + ("rename", "rename", "remove", "double", "other case"))
        if kind == "value":
            members[place] = (name, other)
        elif kind == "rename":
            members[place] = (new_name, old)
        elif kind == "remove":
            del members[place]
        elif kind == "double":
            members.insert(rng.randrange(len(members) + 1), (name, rng.choice((old, other))))
        else:
            members.insert(rng.randrange(len(members) + 1), (new_name, rng.choice((old, other))))

    return encoded(dump(with_change(value, path, change)))


# ---------------------------------------------------------------------------------------- all of it


def hostile(number: int = 10_000) -> Hostile:
    """So many records of changed messages, always the same."""
    rng = random.Random("hostile")
    rows: list[Row] = []
    while len(rows) < number:
        place = len(rows) + 1
        sound, key = sound_message(place, rng)
        make = rng.choice((changed_structure, changed_structure, None))
        value = make(sound, rng) if make else changed_bytes(dump(sound).encode(), rng)
        rows.append(record(place, value, key, rng.choice(("all", "all", "prod.app.cust"))))
    metadata = [
        record(place, dump(metadata_message(f"S{place}", place)).encode(), f"S{place}", "metadata")
        for place in (1, 2)
    ]
    return Hostile(rows, metadata, reference.decode(rows, metadata, OPTIONS, avro.opened))


def record(number: int, value: bytes, key: str | None, topic: str) -> Row:
    return {
        "key": key,
        "value": value,
        "topic": topic,
        "partition": number % 3,
        "offset": number,
        "timestamp": BEGIN + timedelta(seconds=number),
    }


def beyond_limits() -> list[Row]:
    """Sound messages that are too deep, or have numbers with too many digits, for many readers."""
    deep = "[" * 1500 + "]" * 1500
    content = {"data": {"ID": 1}, "beforeData": None, "headers": message.headers("REFRESH")}
    plain = json.dumps(content | {"schema": "APP", "table": "CUST"})
    return [
        record(
            place, plain.replace('"data": {', f'"data": {{"more": {more}, ').encode(), None, "all"
        )
        for place, more in enumerate(
            (deep, "7" * 1500, "1." + "7" * 1500, "1e999999999999"), start=1
        )
    ]
