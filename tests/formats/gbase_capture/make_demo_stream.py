"""Write the capture stream of the demo, seeds/demo_accounts__chunks.csv.

`python tests/formats/gbase_capture/make_demo_stream.py` writes it, one read after the other.
"""

from __future__ import annotations

import csv
import io
import sys
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

HERE = Path(__file__).parent
SEED = HERE.parents[2] / "seeds" / "demo_accounts__chunks.csv"
sys.path.insert(0, str(HERE.parents[1]))

from formats.gbase_capture import reference as gbase  # noqa: E402  # after the path is set
from formats.gbase_capture.writer import packed  # noqa: E402

TABLE, CUSTOMERS = 7, 8
COLUMNS = (
    "id serial, balance decimal(12,2), opened date, changed_at datetime year to second, "
    "active boolean, contract clob, owner varchar(40,0)"
)
FIXED_BYTES = 4 + 7 + 4 + 8 + 2 + 76
LOG = 30 << 32
NOON = int(datetime.fromisoformat("2026-03-02T12:00:00+00:00").timestamp())

Row = tuple[int, str | None, str | None]  # id, balance, owner


def payload(row: Row, minute: int, active: bytes = b"\0\1") -> tuple[bytes, list[int]]:
    """Write an account that was changed so many minutes after noon."""
    number, balance, owner = row
    text = b"\0\1\0" if owner is None else len(owner.encode()).to_bytes(2, "big") + owner.encode()
    changed = datetime(2026, 3, 2, 12, minute)
    parts = [
        number.to_bytes(4, "big"),
        bytes(7) if balance is None else packed(Decimal(balance), 7),
        (date(2026, 1, 5) - date(1899, 12, 31)).days.to_bytes(4, "big"),
        packed(Decimal(changed.strftime("%Y%m%d%H%M%S")), 8),
        active,
        bytes([0x4C]) * 76,
        text,
    ]
    return b"".join(parts), [len(text)]


def account(number: int, place: int, transaction: int, row: Row, active: bytes = b"\0\1") -> bytes:
    """Write a record of the table of accounts."""
    raw, sizes = payload(row, place // 0x100 % 60, active)
    return gbase.row(number, LOG + place, transaction, TABLE, raw, sizes)


def begin(place: int, transaction: int) -> bytes:
    return gbase.begin(LOG + place, transaction, NOON + 60 * (place // 0x100))


def commit(place: int, transaction: int) -> bytes:
    return gbase.commit(LOG + place, transaction, NOON + 60 * (place // 0x100))


INSERT, DELETE, BEFORE, AFTER = 40, 41, 42, 43


def accounts() -> list[tuple[str, int, bytes, str]]:
    """Give the reads of two capture sessions: session, number, bytes, and what they demonstrate."""
    schema = gbase.schema(TABLE, COLUMNS, FIXED_BYTES, 6, 1)
    ada: Row = (1, "100.00", "Ada")
    emmy: Row = (2, "250.50", "Emmy")
    grace: Row = (3, "-12.34", "Grace Hopper")
    cut = account(INSERT, 0x330, 52, (4, "0.01", "Алан"))
    lonely = [
        begin(0x900, 51),
        account(AFTER, 0x910, 51, (30, "99.00", "Grace Hopper")),
        commit(0x920, 51),
    ]
    open_ = [begin(0xF00, 55), account(INSERT, 0xF10, 55, (6, "6.00", "Edsger"))]
    move = [
        begin(0x800, 53),
        account(BEFORE, 0x810, 53, grace),
        account(AFTER, 0x820, 53, (30, "-12.34", "Grace Hopper")),
        commit(0x830, 53),
    ]
    timeout = gbase.record(201, (LOG + 0x830).to_bytes(8, "big"))
    other = gbase.row(INSERT, LOG + 0x250, 51, CUSTOMERS, b"\0\0\0\1")
    first = [
        (schema, "the description of the table: columns of fixed size first, a CLOB among them"),
        (
            begin(0x200, 51)
            + account(INSERT, 0x210, 51, ada)
            + account(INSERT, 0x220, 51, emmy)
            + other
            + commit(0x260, 51),
            "a transaction in one read, with a row of another table in it; delivered twice",
        ),
        (
            begin(0x300, 52)
            + begin(0x301, 53)
            + account(INSERT, 0x310, 53, grace)
            + account(BEFORE, 0x320, 52, ada)
            + account(AFTER, 0x321, 52, (1, "75.00", "Ada")),
            "two transactions at a time; an update with its before image",
        ),
        (commit(0x325, 53) + cut[:30], "the second one commits first; the read ends in a header"),
        (cut[30:] + commit(0x340, 52), "the rest of that record"),
        (
            begin(0x500, 54) + account(DELETE, 0x510, 54, emmy) + gbase.rollback(LOG + 0x520, 54),
            "a transaction that is rolled back: no event",
        ),
        (
            begin(0x700, 51)
            + account(BEFORE, 0x710, 51, emmy)
            + account(AFTER, 0x711, 51, (2, "251.00", "Emmy"))
            + account(INSERT, 0x720, 51, (9, "9.00", "Nobody"))
            + gbase.discard(LOG + 0x720, 51)
            + commit(0x730, 51),
            "transaction id 51 again; back to a savepoint: the insert of 9 is discarded",
        ),
        (b"".join(move), "a row moves to another key: 3 becomes 30"),
        (
            timeout + b"".join(move)[len(timeout) :],
            "nothing happened for a while; after that record the buffer still has the last read",
        ),
        (b"".join(lonely), "an update without before image"),
        (
            begin(0xA00, 56)
            + account(INSERT, 0xA10, 56, (5, "5.00", "Barbara"))
            + account(INSERT, 0xA20, 56, (10, "10.00", "Mallory"), b"\0\7")
            + commit(0xA30, 56),
            "quarantine, bad_value: a boolean that is 7; the other row is an event",
        ),
        (
            begin(0xB00, 57)
            + account(BEFORE, 0xB10, 57, (5, "5.00", "Barbara"))
            + account(DELETE, 0xB20, 57, (4, "0.01", "Алан"))
            + commit(0xB30, 57),
            "quarantine, orphan_before_image: its update is missing; a delete",
        ),
        (
            account(INSERT, 0xC10, 77, (11, "11.00", "Trent")),
            "quarantine, no_begin: its transaction began before the capture",
        ),
        (
            gbase.record(250, (LOG + 0xD00).to_bytes(8, "big")),
            "quarantine, unknown_record_type: number 250",
        ),
        (
            account(INSERT, 0xE10, 78, (12, "12.00", "Peggy"))[:90],
            "quarantine, truncated_record: the rest was never read",
        ),
        (b"".join(open_), "a transaction that is open when the session ends"),
    ]
    second = [
        (
            schema + b"".join(lonely) + b"".join(open_),
            "the next session, from an earlier position: two transactions are repeated",
        ),
        (commit(0xF20, 55), "the open transaction commits"),
        (
            begin(0x1000, 58)
            + account(BEFORE, 0x1010, 58, (1, "75.00", "Ada"))
            + account(AFTER, 0x1011, 58, (1, None, None))
            + commit(0x1020, 58),
            "an update of two columns to NULL",
        ),
        (
            begin(0x1100, 59)
            + gbase.truncate(LOG + 0x1110, 59, TABLE)
            + account(INSERT, 0x1120, 59, (7, "7.00", "Katherine"))
            + account(INSERT, 0x1130, 59, (1, "1.00", "Ada"))
            + commit(0x1140, 59),
            "a truncate, and rows that were inserted after it",
        ),
    ]
    chunks = [("4711", number, raw, shows) for number, (raw, shows) in enumerate(first, start=1)]
    chunks += [("4712", number, raw, shows) for number, (raw, shows) in enumerate(second, start=1)]
    chunks.insert(2, chunks[1])
    return chunks


def seed() -> str:
    """Make the file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["capture_id", "chunk_number", "payload", "shows"])
    for capture_id, number, raw, shows in accounts():
        writer.writerow([capture_id, number, raw.hex(), shows])
    return text.getvalue()


if __name__ == "__main__":
    SEED.write_text(seed(), encoding="utf-8")
