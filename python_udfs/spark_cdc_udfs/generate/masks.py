"""What the change masks of Qlik change tables tell: the key, and the order of their bytes.

A delete has the bits of the key, an insert those of all columns except large objects. See
docs/formats/qlik_change_table.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spark_cdc_udfs.generate.lake import Columns
from spark_cdc_udfs.lake.queries import literal, quoted, table_name

MASKS_OF_A_TABLE = 1000

# The operation in each header, as a letter; the first one that a row has counts.
LETTERS = {
    "change_oper": "rtrim(cast({} as string))",
    "operation": "left(cast({} as string), 1)",
}


@dataclass(frozen=True)
class Headers:
    """The header columns of a change table, and its data columns in the order of the masks."""

    names: Mapping[str, str]  # by the name without the prefix, in lower case
    data: tuple[str, ...]  # without columns that the landing added
    counted: int  # by the mask
    mask_is_binary: bool

    @classmethod
    def of(
        cls,
        columns: Columns,
        prefix: str,
        counted: int | None,
        landed: Iterable[str] = (),
        order: Iterable[str] | None = None,
    ) -> Headers:
        """Tell header columns from data columns as the macro does; `order` is `mask_columns`."""
        names: dict[str, str] = {}
        data: list[str] = []
        before = 0
        for place, name in enumerate(columns):
            is_header = (
                name.lower().startswith(prefix.lower()) if prefix else (place < (counted or 0))
            )
            if is_header:
                names[name[len(prefix) :].lower()] = name
                before += not data
            else:
                data.append(name)
        not_counted = {name.lower() for name in landed}
        data = [name for name in data if name.lower() not in not_counted]
        if order is not None:
            there = {name.lower(): name for name in data}
            data = [there.get(name.lower(), name) for name in order]
        mask = names.get("change_mask")
        is_binary = mask is not None and columns[mask].type.lower() == "binary"
        return cls(names, tuple(data), counted or before, is_binary)


def masks_query(schema: str, table: str, headers: Headers) -> str | None:
    """Write the query for the masks of inserts and deletes, with the number of their rows.

    None: the table has no masks. The columns are the table, `I` or `D`, hexadecimal digits, rows.
    """
    names = headers.names
    if "change_mask" not in names or not {"change_oper", "operation"} & set(names):
        return None
    letters = [
        f"nullif({letter.format(quoted(names[name]))}, '')"
        for name, letter in LETTERS.items()
        if name in names
    ]
    mask = quoted(names["change_mask"])
    mask = f"hex({mask})" if headers.mask_is_binary else f"cast({mask} as string)"
    changes = (
        f"select coalesce({', '.join(letters)}) as oper, {mask} as mask"
        f" from {table_name(schema, table)}"
    )
    if "operation" in names:
        changes += f" where not {quoted(names['operation'])} <=> 'TRUNCATE'"
    return (
        f"select {literal(table)} as t, oper, mask, count(*) as n from ({changes}) as changes"
        " where oper in ('I', 'D') and mask is not null"
        f" group by 1, 2, 3 order by oper, n desc limit {MASKS_OF_A_TABLE}"  # deletes first
    )


def mask_bytes(text: str) -> bytes | None:
    """Read a mask as the macro does; None if it is not hexadecimal."""
    digits = text.strip().lower()
    if digits.startswith("0x"):
        digits = digits[2:]
    elif digits.startswith("x'") and digits.endswith("'"):
        digits = digits[2:-1]
    digits = "0" * (len(digits) % 2) + digits
    if not digits.isascii() or not all(one in "0123456789abcdef" for one in digits):
        return None
    return bytes.fromhex(digits)


def bits_of(mask: bytes, order: str) -> frozenset[int]:
    """Give the positions of the bits that are set."""
    number = int.from_bytes(mask, "big" if order == "big" else "little")
    return frozenset(place for place in range(len(mask) * 8) if number >> place & 1)


@dataclass(frozen=True)
class Told:
    """What the masks of a table tell."""

    key: tuple[str, ...] = ()
    rows: int = 0  # deletes on which the key rests
    order: str | None = None  # the order of bytes, if it is not the usual one
    inserts: int = 0  # on which the order rests
    without_bit: tuple[str, ...] = ()  # columns that no insert has in its mask
    tried: str = ""  # why the key is not known
    problems: tuple[str, ...] = ()


def tell(masks: Iterable[tuple[str, str, int]], headers: Headers, order: str | None = None) -> Told:
    """Read masks: `I` or `D`, hexadecimal digits, and rows. `order` is what is declared."""
    read = [(oper, mask_bytes(text), int(rows)) for oper, text, rows in masks]
    good = [(oper, mask, rows) for oper, mask, rows in read if mask]
    inserts = Counter({m: n for oper, m, n in good if oper == "I"})
    deletes = Counter({m: n for oper, m, n in good if oper == "D"})
    usual = "little" if headers.mask_is_binary else "big"
    fits = {one: _fitting(inserts, headers, one) for one in ("big", "little")}
    other = "big" if usual == "little" else "little"
    is_other = order is None and fits[other] > fits[usual]
    used = order or (other if is_other else usual)
    problems = []
    if inserts and not fits[used]:
        problems.append(
            f"no mask of {inserts.total():,} inserts fits {headers.counted} header columns; see"
            " header_prefix and header_columns"
        )
    elif is_other and fits[usual]:
        problems.append(f"the masks of {fits[usual]:,} inserts fit only the other order of bytes")
    seen = {bit for mask in inserts for bit in bits_of(mask, used)}
    without = tuple(
        name for place, name in enumerate(headers.data) if headers.counted + place not in seen
    )
    key, rows, tried = _key(deletes, headers, used)
    if key and not inserts and order is None:
        # no insert shows the order of the bytes
        reverse, _, _ = _key(deletes, headers, other)
        if reverse and reverse != key:
            said = f"{usual} ({', '.join(key)}) or {other} ({', '.join(reverse)})"
            key, tried = (), f"no insert shows the order of the bytes in masks: {said}"
    return Told(
        key=() if problems else key,
        rows=rows,
        order=used if is_other else None,
        inserts=fits[used],
        without_bit=without if inserts and not problems else (),
        tried="; ".join(problems) if problems else tried,
        problems=tuple(problems),
    )


def _fitting(masks: Mapping[bytes, int], headers: Headers, order: str) -> int:
    """Count the inserts of which each bit belongs to a data column, and most columns have one."""
    data = range(headers.counted, headers.counted + len(headers.data))
    found = ((bits_of(mask, order), rows) for mask, rows in masks.items())
    return sum(rows for bits, rows in found if bits and all(bit in data for bit in bits))


def _key(
    deletes: Mapping[bytes, int], headers: Headers, order: str
) -> tuple[tuple[str, ...], int, str]:
    """Give the columns that all deletes agree on, the number of deletes, and why not."""
    keys: Counter[tuple[str, ...]] = Counter()
    outside = 0
    for mask, rows in deletes.items():
        places = [bit - headers.counted for bit in sorted(bits_of(mask, order))]
        if not places:
            continue
        if all(0 <= place < len(headers.data) for place in places):
            keys[tuple(headers.data[place] for place in places)] += rows
        else:
            outside += rows
    if outside:
        return (), 0, f"the masks of {outside:,} deletes have bits that belong to no column"
    if not keys:
        return (), 0, "no delete has a mask with a bit"
    if len(keys) > 1:
        said = ", ".join(f"({', '.join(key)}) in {rows:,}" for key, rows in keys.most_common(3))
        return (), 0, f"the masks of deletes do not agree: {said}"
    ((key, rows),) = keys.items()
    return key, rows, ""
