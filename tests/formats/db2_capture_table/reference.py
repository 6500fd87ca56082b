"""What a decoder must make of a Db2 capture table, in plain Python.

It is written to be read against the format's reference; the comments cite its rules by number.
Raw rows are dicts with the relation's columns. Nothing here is clever, or fast.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from kit.formats import raw_counts
from kit.values import (
    BASE,
    FORMS_OF,
    Forms,
    Malformed,
    as_text,
    clock_of,
    key_text,
    rank,
    read_text,
    read_typed,
)

Row = dict[str, Any]
Key = tuple[Any, ...]

PREFIX = "IBMSNAP_"
ZEROS = "0" * 32
LOAD = ("0" * 31 + "1", ZEROS)
# Facts in a row itself, or else in its unit of work (rule 10).
OF_COMMIT = ("LOGMARKER", "UOWID", "AUTHID", "APPLY_QUAL")


class Missing(Exception):
    """Columns that do not fit together; the argument names them."""


# ---------------------------------------------------------------------------------------- sequences


def hex_of(value: Any) -> str:
    """The hexadecimal digits of a sequence, or of a transaction id, as it landed (section 2)."""
    if isinstance(value, bytes):
        return value.hex().upper()
    text = str(value).strip(" ")
    if text.endswith("="):
        if len(text) % 4 or not re.fullmatch(r"[A-Za-z0-9+/]+={1,2}", text):
            raise Malformed("bad_sequence")
        return base64.b64decode(text).hex().upper()
    found = re.fullmatch(r"(?:0[xX])?([0-9a-fA-F:]+)|[xX]'([0-9a-fA-F:]+)'", text)
    if not found:
        raise Malformed("bad_sequence")
    return (found[1] or found[2]).replace(":", "").upper()


def canonical(value: Any) -> str:
    """A sequence in its canonical form (rules 1 and 2)."""
    if value is None:
        raise Malformed("bad_sequence")
    if isinstance(value, (int, Decimal)):
        if value < 0 or value != int(value) or int(value) >= 10**32:
            raise Malformed("bad_sequence")
        return f"{int(value):032d}"
    digits = hex_of(value)
    if not 2 <= len(digits) <= 32 or len(digits) % 2:
        raise Malformed("bad_sequence")
    return digits.zfill(32)


# ------------------------------------------------------------------------------------------- values

FORMS = FORMS_OF["db2_capture_table"]


def read_value(sql_type: str, value: Any, forms: Forms = FORMS) -> Any:
    """A value of a type: the cast neither fails nor changes it (rule 5)."""
    if isinstance(value, str):
        return read_text(sql_type, value, forms)
    if value is None or sql_type == "string":
        return as_text(value)
    return read_typed(sql_type, value)


def logmarker_of(value: Any) -> datetime | None:
    """The wall clock of a LOGMARKER (section 2)."""
    return None if value is None else clock_of(value, FORMS)


# ------------------------------------------------------------------------------------------ options


@dataclass(frozen=True)
class Options:
    """What is known before a row is read.

    ``columns``: name to type, in table order. ``sources``: the relation's column for each that is
    read from it. ``before``: the before columns. ``own``, ``joined``: which of :data:`OF_COMMIT`
    the relation and the unit of work have (None: there is no unit of work).
    """

    key: Sequence[str]
    columns: Mapping[str, str]
    sources: Mapping[str, str]
    before: Mapping[str, str]
    own: frozenset[str]
    joined: frozenset[str] | None = None
    has_base: bool = False
    zone: str = "UTC"


def options_of(
    relation_columns: Mapping[str, str],
    key: Sequence[str],
    columns: Mapping[str, str] | None = None,
    before_prefix: str | None = "X",
    key_columns: Sequence[str] | None = None,
    unit_of_work: Sequence[str] | None = None,
    base: Mapping[str, str] | None = None,
    zone: str = "UTC",
) -> Options:
    """Which column is which (rule 4). Relations are given by their columns, with types."""
    there = {name.lower(): name for name in relation_columns}
    data = [name for name in relation_columns if not name.upper().startswith(PREFIX)]
    if key_columns is None:
        key_columns = key if all(name.lower() in there for name in key) else numbered(data)
    if len(key_columns) != len(key):
        raise Missing(f"{len(key_columns)} key columns for {len(key)}")
    names = dict(zip((there[one.lower()] for one in key_columns), key, strict=True))
    prefix = (before_prefix or "").lower()
    befores = {prefix + name.lower() for name in data} if prefix else set()
    if columns is None and base is not None:
        columns = base
    if columns is None:
        columns = {
            names.get(name, name): relation_columns[name]
            for name in data
            if name.lower() not in befores
        }
    of_key = {name.lower(): column for column, name in names.items()}
    sources = {
        name: of_key.get(name.lower(), there.get(name.lower()))
        for name in columns
        if base is None or name.lower() in of_key
    }
    if None in sources.values():
        raise Missing(f"the relation has {list(relation_columns)}")
    before = {
        name: there[prefix + str(source).lower()]
        for name, source in sources.items()
        if prefix and base is None and prefix + str(source).lower() in there
    }
    # what is a data column is no before column
    taken = {str(source).lower() for source in sources.values()}
    before = {name: one for name, one in before.items() if one.lower() not in taken}
    return Options(
        [next(one for one in columns if one.lower() == name.lower()) for name in key],
        columns,
        {name: str(source) for name, source in sources.items()},
        before,
        of_commit(relation_columns),
        None if unit_of_work is None else of_commit(unit_of_work),
        base is not None,
        zone,
    )


def numbered(names: Iterable[str]) -> list[str]:
    """The columns PK01, PK02 and so on, by their numbers."""
    found = [name for name in names if re.fullmatch(r"PK0*[1-9][0-9]*", name, re.I | re.ASCII)]
    return sorted(found, key=lambda name: int(name[2:]))


def of_commit(names: Iterable[str]) -> frozenset[str]:
    """Which columns of rule 10 exist."""
    upper = {name.upper() for name in names}
    return frozenset(name for name in OF_COMMIT if PREFIX + name in upper)


# --------------------------------------------------------------------------------------------- rows


@dataclass(frozen=True)
class Change:
    """A row as it is read: two rows at one position must agree in it."""

    commit: str
    intent: str
    operation: str
    said: tuple[Any, ...]  # of OF_COMMIT
    values: tuple[Any, ...]  # in the order of Options.sources
    before: tuple[Any, ...] | None

    @property
    def is_load(self) -> bool:
        """Rule 6."""
        return self.operation == "I" and (self.commit, self.intent) == LOAD

    @property
    def logmarker(self) -> datetime | None:
        at = self.said[0]
        assert at is None or isinstance(at, datetime)
        return at


def cell(row: Row, name: str) -> Any:
    """A value of a row, whatever the case of the column's name."""
    return next((value for column, value in row.items() if column.upper() == name.upper()), None)


def transaction_id(value: Any) -> str | None:
    """UOWID as hex text; other text stays as it is, in upper case."""
    if value is None:
        return None
    try:
        return str(value) if isinstance(value, (int, Decimal)) else hex_of(value)
    except Malformed:
        return str(value).strip(" ").upper()


def said(row: Row, columns: frozenset[str]) -> tuple[Any, ...]:
    """What a row says about its commit."""
    values = {name: cell(row, PREFIX + name) for name in columns}
    return (
        logmarker_of(values.get("LOGMARKER")),
        transaction_id(values.get("UOWID")),
        values.get("AUTHID"),
        values.get("APPLY_QUAL"),
    )


def read_row(row: Row, options: Options) -> Change:
    """Read a row on its own (rules 2 and 5)."""
    commit, intent = (canonical(cell(row, f"{PREFIX}{one}SEQ")) for one in ("COMMIT", "INTENT"))
    operation = cell(row, f"{PREFIX}OPERATION")
    if operation not in ("I", "U", "D"):
        raise Malformed("unknown_operation")
    if any(cell(row, options.sources[name]) is None for name in options.key):
        raise Malformed("null_key")
    of_row = said(row, options.own)
    types, before = options.columns, None
    values = tuple(read_value(types[name], cell(row, of)) for name, of in options.sources.items())
    if operation == "U":
        before = tuple(
            read_value(types[name], cell(row, of)) for name, of in options.before.items()
        )
    return Change(commit, intent, operation, of_row, values, before)


# --------------------------------------------------------------------------------------------- base


@dataclass(frozen=True)
class Answer:
    """The answer of the base for a key (rules 12 and 14): its row, or None if it has none.

    ``is_bad``: the base has rows of the key, but none with values of the declared types.
    """

    row: Mapping[str, Any] | None = None
    is_bad: bool = False


def answers_of(base: Iterable[Row], options: Options) -> dict[Key, Answer]:
    """The answer of the base for each of its keys: the greatest of several rows."""
    found: dict[Key, list[Row | None]] = {}
    for raw in base:
        try:
            values = {
                name: read_value(options.columns[name], cell(raw, name), BASE)
                for name in options.key
            }
        except Malformed:
            continue
        key = tuple(values[name] for name in options.key)
        if None in key:
            continue
        try:
            row = {
                name: read_value(of, cell(raw, name), BASE) for name, of in options.columns.items()
            }
        except Malformed:
            found.setdefault(key, []).append(None)
        else:
            found.setdefault(key, []).append(row)
    answers = {}
    for key, several in found.items():
        rows = [row for row in several if row is not None]
        answers[key] = Answer(max(rows, key=rank)) if rows else Answer(is_bad=True)
    return answers


# ------------------------------------------------------------------------------------------- events


@dataclass(frozen=True)
class Decoded:
    """The change events in order, the rows in quarantine (place, reason), counts, and memory.

    ``answers``: for each key its rows, and the answer of the base.
    """

    events: list[Row]
    quarantine: list[tuple[int, str]]
    raw_counts: dict[str, int]
    answers: Mapping[Key, tuple[frozenset[Change], Answer]]


def decode(
    rows: Sequence[Row],
    options: Options,
    unit_of_work: Sequence[Row] = (),
    base: Iterable[Row] = (),
    memory: Mapping[Key, tuple[frozenset[Change], Answer]] | None = None,
) -> Decoded:
    """Decode every row that was delivered so far. With a memory it is an increment."""
    reasons: dict[int, str] = {}
    places: dict[Change, list[int]] = {}
    for place, raw in enumerate(rows):
        try:
            places.setdefault(read_row(raw, options), []).append(place)
        except Malformed as error:
            reasons[place] = error.args[0]

    def refuse(change: Change, reason: str) -> None:
        reasons.update(dict.fromkeys(places[change], reason))

    # Rule 7.
    at_position: dict[Any, list[Change]] = {}
    for change in places:
        position: Any = (change.commit, change.intent, change.is_load)
        if change.is_load:
            position = (key_of(change, options), change.logmarker)
        at_position.setdefault(position, []).append(change)
    kept = []
    for several in at_position.values():
        operations = sorted(change.operation for change in several)
        # the halves of one update; with a base, the vector v48 calls them a conflict
        are_halves = operations == ["D", "I"] and not options.has_base
        if len(several) > 1 and not are_halves:
            for change in several:
                refuse(change, "sequence_conflict")
        else:
            kept += several

    anchor = anchors(kept)
    ordered = in_order(kept, options, anchor)
    commits = of_commits(unit_of_work, options)
    answered: dict[Key, tuple[frozenset[Change], Answer]] = {}
    if options.has_base:
        answered = answer(ordered, options, base, memory or {})
        for changes, told in answered.values():
            for change in changes if told.is_bad else ():
                refuse(change, "bad_value")
        made = [
            based_event(changes, told, options, anchor, commits)
            for changes, told in answered.values()
            if not told.is_bad
        ]
    else:
        made = [
            change_event(change, partner, options, anchor, commits)
            for change, partner in paired(ordered, options)
        ]
    return Decoded(
        sorted(made, key=lambda event: str(event["cdc_sequence"])),
        sorted(reasons.items()),
        raw_counts(len(rows), len(reasons)),
        answered,
    )


def row_of(change: Change, options: Options) -> Row:
    return dict(zip(options.sources, change.values, strict=True))


def key_of(change: Change, options: Options) -> Key:
    row = row_of(change, options)
    return tuple(row[name] for name in options.key)


def anchors(changes: Sequence[Change]) -> Mapping[datetime | None, str]:
    """The anchor of each time of a load (section 4)."""
    times = {change.logmarker for change in changes if change.is_load}
    return {
        at: max(
            (
                change.commit
                for change in changes
                if not change.is_load and at and change.logmarker and change.logmarker <= at
            ),
            default=ZEROS,
        )
        for at in times
    }


def sequence_of(
    change: Change, options: Options, anchor: Mapping[datetime | None, str]
) -> tuple[str, str]:
    """cdc_sequence and cdc_commit_sequence (section 4)."""
    if not change.is_load:
        return f"{change.commit}.{change.intent}", change.commit
    at = change.logmarker
    digits = f"{at:%m%d%H%M%S%f}" if at else "0" * 16
    commit = f"{anchor[at]}.L{at.year if at else 0:04d}{digits}"
    text = key_text(key_of(change, options))
    return f"{commit}.{hashlib.md5(text.encode()).hexdigest()}", commit


def in_order(
    changes: Iterable[Change], options: Options, anchor: Mapping[datetime | None, str]
) -> list[Change]:
    """Changes by their sequences; of a delete and an insert at one position the delete first."""
    return sorted(
        changes,
        key=lambda change: (sequence_of(change, options, anchor)[0], change.operation != "D"),
    )


def paired(ordered: Sequence[Change], options: Options) -> list[tuple[Change, Change | None]]:
    """Each change that makes an event, with the D half of a pair (rule 8)."""
    made: list[tuple[Change, Change | None]] = []
    for change in ordered:
        last = made[-1] if made else None
        if last is not None and last[1] is None and is_pair(last[0], change, options):
            made[-1] = (change, last[0])
        else:
            made.append((change, None))
    return made


def is_pair(first: Change, second: Change, options: Options) -> bool:
    return (
        (first.operation, second.operation) == ("D", "I")
        and first.commit == second.commit
        and not second.is_load
        # two rows at one position are one update, whatever their keys
        and (first.intent == second.intent or key_of(first, options) == key_of(second, options))
    )


def answer(
    ordered: Sequence[Change],
    options: Options,
    base: Iterable[Row],
    memory: Mapping[Key, tuple[frozenset[Change], Answer]],
) -> dict[Key, tuple[frozenset[Change], Answer]]:
    """For each key its rows and the answer of the base, new or from before (rule 15)."""
    by_key: dict[Key, list[Change]] = {}
    for change in ordered:
        by_key.setdefault(key_of(change, options), []).append(change)
    now = answers_of(base, options)
    answered = {}
    for key, changes in by_key.items():
        rows, told = memory.get(key, (frozenset[Change](), Answer(is_bad=True)))
        if rows != frozenset(changes) or told.is_bad:
            told = now.get(key, Answer())
        answered[key] = (frozenset(changes), told)
    return answered


def of_commits(unit_of_work: Sequence[Row], options: Options) -> dict[str, tuple[Any, ...]]:
    """What the unit of work says about each commit (rule 10)."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for row in unit_of_work:
        try:
            commit = canonical(cell(row, f"{PREFIX}COMMITSEQ"))
        except Malformed:
            continue
        columns = options.joined or frozenset()
        try:
            of_row = said(row, columns)
        except Malformed:
            of_row = (None, *said(row, columns - {"LOGMARKER"})[1:])
        found.setdefault(commit, []).append(of_row)
    return {commit: min(several, key=nulls_last) for commit, several in found.items()}


def nulls_last(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple((1,) if value is None else (0, value) for value in values)


def based_event(
    changes: frozenset[Change],
    told: Answer,
    options: Options,
    anchor: Mapping[datetime | None, str],
    commits: Mapping[str, tuple[Any, ...]],
) -> Row:
    """The one event of a key (rule 12)."""
    ordered = in_order(changes, options, anchor)
    (last, partner) = paired(ordered, options)[-1]
    row: Mapping[str, Any]
    if told.row is None:
        operation, row = "delete", dict.fromkeys(options.columns) | row_of(last, options)
    else:
        operation, row = operation_of(last, partner), told.row
        operation = "update" if operation == "delete" else operation
    gone = [name for name in options.columns if name in options.key]
    return {
        **of_event(last, options, anchor, commits),
        "cdc_operation": operation,
        "cdc_changed_columns": None,
        "cdc_present_columns": gone if told.row is None else None,
        "cdc_before": None,
        **row,
    }


def operation_of(change: Change, partner: Change | None) -> str:
    if change.is_load:
        return "load"
    if partner is not None:
        return "update"
    return {"I": "insert", "U": "update", "D": "delete"}[change.operation]


def change_event(
    change: Change,
    partner: Change | None,
    options: Options,
    anchor: Mapping[datetime | None, str],
    commits: Mapping[str, tuple[Any, ...]],
) -> Row:
    """The event of a change, or of a pair (rules 8 and 9, section 4)."""
    row = row_of(change, options)
    before: Row | None = None
    is_compared = partner is not None
    if partner is not None:
        before = row_of(partner, options)
    elif change.operation == "D":
        before = dict(row)
    elif change.operation == "U" and options.before:
        assert change.before is not None
        of_before = dict(zip(options.before, change.before, strict=True))
        before = dict.fromkeys(options.columns) | of_before
        before |= {name: row[name] for name in options.key if before[name] is None}
        is_compared = set(options.before) == set(options.columns)
    changed = None
    if is_compared and before is not None:
        changed = [name for name in options.columns if before[name] != row[name]]
    return {
        **of_event(change, options, anchor, commits),
        "cdc_operation": operation_of(change, partner),
        "cdc_changed_columns": changed,
        "cdc_present_columns": None,
        "cdc_before": before,
        **row,
    }


def of_event(
    change: Change,
    options: Options,
    anchor: Mapping[datetime | None, str],
    commits: Mapping[str, tuple[Any, ...]],
) -> Row:
    """The parts of an event that come from its position and its commit (rule 10, section 4)."""
    sequence, commit_sequence = sequence_of(change, options, anchor)
    nothing = (None,) * len(OF_COMMIT)
    joined = nothing if change.is_load else commits.get(change.commit, nothing)
    told = {
        name: own if name in options.own else other
        for name, own, other in zip(OF_COMMIT, change.said, joined, strict=True)
    }
    local = told["LOGMARKER"]
    metadata = {
        "intentseq": change.intent,
        "logmarker": local and local.replace(tzinfo=timezone.utc),
    }
    for name in ("AUTHID", "APPLY_QUAL"):
        if name in options.own | (options.joined or frozenset()):
            metadata[name.lower()] = told[name]
    return {
        "cdc_source": "db2_capture_table",
        "cdc_sequence": sequence,
        "cdc_commit_sequence": commit_sequence,
        "cdc_commit_at": local
        and local.replace(tzinfo=ZoneInfo(options.zone)).astimezone(timezone.utc),
        "cdc_transaction_id": told["UOWID"],
        "cdc_metadata": metadata,
    }


# --------------------------------------------------------------------------------------- increments


@dataclass
class Increments:
    """An incremental model: the rows delivered so far, and the answers of the base."""

    options: Options
    rows: list[Row] = field(default_factory=list)
    unit_of_work: list[Row] = field(default_factory=list)
    memory: Mapping[Key, tuple[frozenset[Change], Answer]] = field(default_factory=dict)

    def run(
        self,
        rows: Sequence[Row],
        unit_of_work: Sequence[Row] = (),
        base: Iterable[Row] = (),
    ) -> Decoded:
        """One run, with the new rows and the base at that time."""
        self.rows += rows
        self.unit_of_work += unit_of_work
        decoded = decode(self.rows, self.options, self.unit_of_work, base, self.memory)
        self.memory = decoded.answers
        return decoded
