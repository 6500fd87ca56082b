"""The benchmark's raw change table, written by Spark SQL: as an orders table would leave it.

Every order is inserted, updated, and then updated again (even numbers) or deleted (odd ones).
Transactions have ten changes, each time in another order of the keys. Each update has its before
image. In a hundred orders one is updated twice in one transaction, and one has an update that
changes nothing. Later parts change each order once more in another order. It is updated or, if it
was deleted, inserted.
"""

from __future__ import annotations

TRANSACTION = 10  # changes
PER_SECOND = 1000  # changes

# The change table, in this order: seven header columns, then the columns of the table.
COLUMNS = {
    "header__change_seq": "change_seq",
    "header__change_oper": "oper",
    "header__change_mask": "mask",
    "header__stream_position": "lpad(hex(change * 1000), 32, '0')",
    "header__operation": (
        "element_at(map('I', 'INSERT', 'U', 'UPDATE', 'D', 'DELETE', 'B', 'BEFOREIMAGE'), oper)"
    ),
    "header__transaction_id": f"lpad(hex(change div {TRANSACTION}), 32, '0')",
    "header__timestamp": "at",
    "order_id": "key",
    "customer_id": "key % 1000",
    "status": "image.status",
    "amount": "image.amount",
    "quantity": "image.quantity",
    "urgent": "key % 7 = 0",
    "due_on": "date_add(date'2024-01-01', cast(key % 700 as int))",
    "placed_at": "timestamp_seconds(1704067200 + key)",
    "note": "image.note",
    "remark": "cast(null as string)",
    "weight": "cast(key as double) / 7",
    "email": "concat('c', cast(key % 5000 as string), '@example.com')",
}
FIRST_BIT = 7
CHANGING = ("status", "amount", "quantity", "note")


def _image(version: str) -> str:
    """The columns that change, of the row with this version number."""
    return f"""struct(
        element_at(
            array('new', 'paid', 'sent', 'done'), cast(pmod(hash(key, {version}), 4) + 1 as int)
        ) as status,
        cast(pmod(xxhash64(key, {version}), 1000000) / 100 as decimal(12, 2)) as amount,
        cast(pmod(xxhash64({version}, key), 100) as int) as quantity,
        concat('note ', md5(cast(key * 10 + {version} as string))) as note
    )"""


def _mask() -> str:
    """The binary mask, least significant byte first: an insert has all columns."""
    names = list(COLUMNS)[FIRST_BIT:]
    every = sum(1 << (FIRST_BIT + bit) for bit in range(len(names)))
    changed = " + ".join(
        f"if(image.{name} <> old.{name}, {1 << (FIRST_BIT + names.index(name))}, 0)"
        for name in CHANGING
    )
    bits = f"case oper when 'I' then {every} when 'U' then {changed} end"
    octets = ", ".join(f"lpad(hex(shiftright(bits, {8 * n}) & 255), 2, '0')" for n in range(3))
    return f"transform(array({bits}), bits -> unhex(concat({octets})))[0]"


def select(rows: int, part: int | None = None) -> str:
    """About so many raw rows: 4.5 for each order; or the later changes, in parts of 1 %.

    A part (0, 1, ...) changes three orders of a hundred.
    """
    keys = max(rows * 2 // 9, 1)
    first, last = 0, 3 * keys
    if part is not None:
        first, last = 3 * keys + part * 3 * keys // 100, 3 * keys + (part + 1) * 3 * keys // 100
    columns = ", ".join(f"{expression} as {name}" for name, expression in COLUMNS.items())
    return f"""
    with changes as (
        select
            id as change,
            cast(id div {keys} as int) as round,
            -- each key once a round, in three orders: the primes divide no number of keys
            case id div {keys}
                when 0 then id
                when 1 then (id % {keys} * 1000003 + 13) % {keys}
                when 2 then (id % {keys} * 15485863 + 7) % {keys}
                else (id % {keys} * 32452843 + 1) % {keys}
            end as key
        from range({first}, {last}, 1, 8)
    ),
    steps as (
        select
            change, round, key, step,
            case
                when round = 0 or (round = 3 and key % 2 = 1) then 'I'
                when round <> 2 or key % 2 = 0 then 'U'
                else 'D'
            end as operation,
            -- versions 0, then 2 (and 3 for those that change twice), then 4
            if(round = 2 and key % 100 = 2, 2, 2 * round + step) as version,
            case
                when round = 1 then 2 * step
                when round = 2 then if(key % 100 = 0, 3, 2)
                when round = 3 then if(key % 100 = 2, 2, 4)
            end as old_version,
            timestamp_seconds(1704067200 + change div {PER_SECOND}) as at
        from changes
            lateral view explode(if(round = 1 and key % 100 = 0, array(0, 1), array(0))) s as step
    ),
    images as (
        select
            *,
            {_image("version")} as new_image,
            {_image("old_version")} as old
        from steps
    ),
    rows as (
        select
            *,
            if(oper in ('B', 'D'), old, new_image) as image,
            concat(
                date_format(at, 'yyyyMMddHHmmss'),
                lpad(cast(change % {PER_SECOND} div {TRANSACTION} as string), 2, '0'),
                lpad(cast(change * 10 + step as string), 19, '0')
            ) as change_seq
        from images
            lateral view explode(if(operation = 'U', array('B', 'U'), array(operation))) o as oper
    ),
    masked as (select *, {_mask()} as mask from rows)
    select {columns} from masked"""
