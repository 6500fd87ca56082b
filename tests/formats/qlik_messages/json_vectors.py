"""More vectors in JSON, in Python: what the shared files of vectors do not have."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from kit.formats import Vector

from formats.qlik_messages import message
from formats.qlik_messages.message import Members, dump
from formats.qlik_messages.reference import ZEROS
from formats.qlik_messages.strict_json import Number

COLUMNS = {"ID": "int", "NAME": "string", "CITY": "string", "AMOUNT": "decimal(10,2)"}
Row = dict[str, Any]


def sequence(number: int) -> str:
    return f"2022031508150200{number:019d}"


def change(number: int, row: Members | None, operation: str = "UPDATE", **headers: Any) -> str:
    """A change as JSON."""
    told = message.headers(operation, sequence(number), **headers)
    return dump({"data": row, "beforeData": None, "headers": told})


def vector(name: str, told: Sequence[tuple[str | Row, Row | str | None]]) -> Vector:
    """A vector: for each message its text, or its record, and the event, the reason, or None.

    None is for a message whose event another one already told.
    """
    records = [{"topic": "t", "partition": 0, "offset": place} for place in range(len(told))]
    for place, (one, _) in enumerate(told):
        records[place] |= one if isinstance(one, dict) else {"value": one}
    return {
        "id": f"json_{name}",
        "given": {"key": ["ID"], "columns": COLUMNS, "messages": records},
        "expect": {
            "events": [event for _, event in told if isinstance(event, dict)],
            "no_ops": [],
            "quarantine": [
                {"message": place, "reason": reason}
                for place, (_, reason) in enumerate(told)
                if isinstance(reason, str)
            ],
        },
    }


def event(number: int, row: Row, **more: Any) -> Row:
    return {"cdc_sequence": sequence(number), "row": dict.fromkeys(COLUMNS) | row, **more}


def changed(*names: str) -> list[str]:
    return list(names)


def places_of_bits() -> Vector:
    """Without metadata: members in the order of the call give the places if all are there, or else
    the call does. Nothing gives them if a message has a column that the call does not name."""
    some = {"ID": 1, "CITY": "Trier", "AMOUNT": "7.00"}
    every = {"ID": 1, "NICK": "x", "NAME": "Eva", "CITY": "Trier", "AMOUNT": "7.00"}
    own = {name: value for name, value in every.items() if name != "NICK"}
    row = {name: str(value) for name, value in own.items()}
    sorted_row = dict(sorted(own.items()))
    more: list[tuple[str, Members, str | None, str | None, list[str] | str | None]] = [
        ("a member is left out", some, "04", None, changed("CITY")),
        ("the bit of a member that is left out", some, "02", None, changed("NAME")),
        (
            "members in small letters",
            {n.lower(): v for n, v in some.items()},
            "08",
            None,
            ["AMOUNT"],
        ),
        ("a column that the call does not name", every, "08", None, changed("CITY")),
        ("at the end", own | {"NICK": "x"}, "14", None, changed("CITY")),
        ("sorted by name", sorted_row, "04", None, changed("CITY")),
        (
            "sorted, and more than the call names",
            dict(sorted(every.items())),
            "01",
            None,
            "bad_mask",
        ),
        ("some, and more than the call names", some | {"NICK": "x"}, "04", None, "bad_mask"),
        ("the same in the column mask", some | {"NICK": "x"}, None, "04", "bad_mask"),
        ("the same without a bit", some | {"NICK": "x"}, "00", None, []),
        ("the same without a mask", some | {"NICK": "x"}, None, None, None),
        ("a bit behind the last column", some, "10", None, "bad_mask"),
    ]
    told: list[tuple[str | Row, Row | str | None]] = []
    for number, (_, data, change_mask, column_mask, found) in enumerate(more, start=1):
        text = change(number, data, changeMask=change_mask, columnMask=column_mask)
        if isinstance(found, str):
            told.append((text, found))
            continue
        there = {name for name in COLUMNS if name.lower() in map(str.lower, data)}
        present = None if there == set(COLUMNS) else [one for one in COLUMNS if one in there]
        values = {name: value for name, value in row.items() if name in there}
        told.append(
            (text, event(number, values, cdc_changed_columns=found, cdc_present_columns=present))
        )
    # the null of CITY counts, as its bit is set; AMOUNT has a value, whatever its bit is
    number = len(more) + 1
    text = change(number, some | {"CITY": None}, changeMask="04", columnMask="05")
    present = ["ID", "CITY", "AMOUNT"]
    values = {"ID": "1", "AMOUNT": "7.00"}
    told.append(
        (text, event(number, values, cdc_changed_columns=["CITY"], cdc_present_columns=present))
    )
    return vector("places_of_bits", told)


def numbers_as_text() -> Vector:
    """A number in a column of text is the text as written, whatever else is in the message."""
    forms = (
        *("1.50", "1.0", "1e-7", "-0", "-0.0", "1E+2", "0.10", "12345678901234567890", "100"),
        *("1.000000000000000000000000000000000000001", "1" * 45, "-1.10e05"),
    )
    told: list[tuple[str | Row, Row | str | None]] = []
    for number, form in enumerate(forms, start=1):
        # beside numbers of every kind
        other = forms[number % len(forms)]
        row = {
            "ID": Number("1"),
            "NAME": Number(form),
            "CITY": Number(other),
            "AMOUNT": Number("1.0"),
        }
        read = {"ID": "1", "NAME": form, "CITY": other, "AMOUNT": "1.00"}
        told.append((change(number, row, "INSERT"), event(number, read)))
    number = len(forms) + 1
    twice: Members = {"ID": Number("1"), "NAME": Number("1.50"), "CITY": None, "AMOUNT": None}
    told.append(
        (change(number, twice | {"X": Number("1.0")}), event(number, {"ID": "1", "NAME": "1.50"}))
    )
    told.append((change(number, twice | {"X": Number("1e-7")}), None))
    return vector("numbers_as_text", told)


PAIR, HIGH, LOW, SLASH = r"\ud83d\ude00", r"\ud83d", r"\ude00", r"\\"
WHOLE = {
    PAIR: "\U0001f600",
    SLASH + PAIR: "\\\U0001f600",
    SLASH + "ud83d": "\\ud83d",
    SLASH + "ud83d" + SLASH + "ude00": "\\ud83d\\ude00",
    "\\uD83D\\uDE00" + PAIR: "\U0001f600\U0001f600",
    r"\u00e9\ud7ff\ue000": "\u00e9\ud7ff\ue000",
}
HALVES = (
    *(HIGH, LOW, LOW + HIGH, HIGH + PAIR, PAIR + LOW, f"{HIGH}x{LOW}", HIGH + r"\n" + LOW),
    *(SLASH + "ud83d" + LOW, SLASH + HIGH, HIGH + SLASH + "ude00", SLASH * 2 + "ud83d" + LOW),
)


def halves_of_pairs() -> Vector:
    """An escape for half of a surrogate pair is no text: in values, names, headers and keys."""
    told: list[tuple[str | Row, Row | str | None]] = []
    for written, value in WHOLE.items():
        number = len(told) + 1
        text = change(number, {"ID": 1, "NAME": "?", "x?": 1}, "INSERT").replace("?", written)
        told.append(
            (text, event(number, {"ID": "1", "NAME": value}, cdc_present_columns=["ID", "NAME"]))
        )
    for written in HALVES:
        for row, more in (({"NAME": "?"}, {}), ({"x?": 1}, {}), ({}, {"streamPosition": "?"})):
            text = change(len(told) + 1, {"ID": 1} | row, "INSERT", **more)
            told.append((text.replace("?", written), "bad_message"))
    for key, found in (('{"ID":1,"x":"?"}', "missing_data"), ('{"ID":1,"?":1}', "missing_data")):
        for written in HALVES:
            text = change(len(told) + 1, None, "DELETE")
            told.append(({"value": text, "key": key.replace("?", written)}, found))
        number = len(told) + 1
        record = {"value": change(number, None, "DELETE"), "key": key.replace("?", PAIR)}
        told.append((record, event(number, {"ID": "1"}, cdc_present_columns=["ID"])))
    return vector("halves_of_pairs", told)


def loads_of_topics() -> Vector:
    """Loads at one offset of one partition of several topics are different records."""

    def load(topic: str, offset: int, **row: Any) -> Row:
        content = {"data": row, "beforeData": None, "headers": message.headers("REFRESH")}
        return {"value": dump(content), "topic": topic, "offset": offset}

    def at(offset: int, topic: str | None = None) -> str:
        more = "" if topic is None else f".{hashlib.md5(topic.encode()).hexdigest()}"
        return f"{ZEROS}.0000000000.{offset:019d}{more}"

    def loaded(position: str, **row: str) -> Row:
        present = [name for name in COLUMNS if name in row]
        return {
            "cdc_sequence": position,
            "cdc_commit_sequence": f"{ZEROS}.",
            "cdc_present_columns": present,
            "row": dict.fromkeys(COLUMNS) | row,
        }

    told: list[tuple[str | Row, Row | str | None]] = [
        (load("t", 5, ID=1, NAME="Ada"), loaded(at(5), ID="1", NAME="Ada")),
        (load("u", 5, ID=2, NAME="Bob"), loaded(at(5, "u"), ID="2", NAME="Bob")),
        (load("v", 5, ID=2, NAME="Bob"), loaded(at(5, "v"), ID="2", NAME="Bob")),
        (load("v", 5, ID=2, NAME="Bob"), None),  # delivered twice
        (load("u", 6, ID=3, NAME="Eva"), loaded(at(6), ID="3", NAME="Eva")),
        (load("a", 7, ID="x"), "bad_value"),  # changes no other row's place
        (load("t", 7, ID=4, NAME="Kim"), loaded(at(7), ID="4", NAME="Kim")),
        (load("u", 7, ID=4, NAME="Kim"), loaded(at(7, "u"), ID="4", NAME="Kim")),
        (load("w", 8, ID=5, NAME="Lea"), "sequence_conflict"),  # one record, told differently
        (load("w", 8, ID=5, NAME="Leo"), "sequence_conflict"),
    ]
    return vector("loads_of_topics", told)


def halves_in_schemas() -> Vector:
    """A data schema is JSON, too: half of a surrogate pair in it is bad."""
    row = '{"type":"record","name":"Data","fields":[{"name":"x?","type":"int"}]}'
    schema = f'{{"type":"record","name":"R","fields":[{{"name":"data","type":{row}}}]}}'

    def told(schema_id: str, written: str) -> Row:
        content = {"schemaId": schema_id, "dataSchema": schema.replace("?", written)}
        return {"value": dump(content)}

    names = list(WHOLE.items())
    metadata = [told(f"S{place}", written) for place, (written, _) in enumerate(names)]
    rows = [
        {
            **dict.fromkeys(("source_schema", "source_table", "table_version", "written_at")),
            **dict.fromkeys(("server", "task")),
            "schema_id": f"S{place}",
            "columns": [COLUMN | {"name": f"x{value}", "ordinal": 1}],
            "data_schema": schema.replace("?", written),
        }
        for place, (written, value) in enumerate(names)
    ]
    bad = [told("T", written) for written in HALVES]
    quarantine = [
        {"message": len(metadata) + place, "reason": "bad_metadata"} for place in range(len(bad))
    ]
    return {
        "id": "json_halves_in_schemas",
        "given": {"metadata": metadata + bad},
        "expect": {"rows": rows, "no_ops": [], "quarantine": quarantine},
    }


FACTS = ("type", "length", "precision", "scale", "primary_key_position", "nullable")
COLUMN: Row = dict.fromkeys(("name", "ordinal", *FACTS))

JSON_VECTORS = (places_of_bits(), numbers_as_text(), halves_of_pairs(), loads_of_topics())
VERSION_VECTORS = (halves_in_schemas(),)
