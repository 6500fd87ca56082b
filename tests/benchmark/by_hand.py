"""The same tables as a careful engineer would write them by hand, for Spark and for DuckDB.

They assume clean input: no row is bad or repeated, no key moves, no table is truncated.
"""

from __future__ import annotations

from raw_orders import COLUMNS, FIRST_BIT

TABLE = list(COLUMNS)[FIRST_BIT:]
NAMES = ", ".join(TABLE)

_EVENTS = """
select
    {after},
    case u.header__change_oper when 'I' then 'insert' when 'U' then 'update' else 'delete' end
        as operation,
    u.header__change_seq as change_sequence,
    first_changes.commit_sequence,
    u.header__timestamp as commit_at,
    case when u.header__change_oper = 'U' then {before} end as old_row
from (select * from {raw} where header__change_oper <> 'B') as u
left join (
    select header__change_seq, {names} from {raw} where header__change_oper = 'B'
) as b on u.header__change_seq = b.header__change_seq
left join (
    select
        header__transaction_id,
        left(header__change_seq, 16) as instant,
        min(header__change_seq) as commit_sequence
    from {raw}
    where header__change_oper <> 'B'
    group by all
) as first_changes
    on u.header__transaction_id = first_changes.header__transaction_id
    and left(u.header__change_seq, 16) = first_changes.instant
"""

# The last change of a transaction counts; a version with the values of the one before it is left
# out.
_HISTORY = """
with last_changes as (
    select
        *,
        lead(commit_sequence) over (partition by order_id order by change_sequence)
            as next_commit
    from {events}
),
compared as (
    select
        *,
        lag({row}) over (partition by order_id order by change_sequence) as row_before,
        lag(operation) over (partition by order_id order by change_sequence) as operation_before
    from last_changes
    where next_commit is null or next_commit <> commit_sequence
),
steps as (
    select
        *,
        lead(commit_sequence) over (partition by order_id order by change_sequence)
            as valid_to_sequence
    from compared
    where operation = 'delete' or operation_before is null or operation_before = 'delete'
        or {row} is distinct from row_before
)
select {names}, commit_sequence as valid_from_sequence, valid_to_sequence
from steps
where operation <> 'delete'
"""


def _struct(dialect: str, prefix: str = "") -> str:
    if dialect == "spark":
        return "struct(" + ", ".join(prefix + name for name in TABLE) + ")"
    return "{" + ", ".join(f"'{name}': {prefix}{name}" for name in TABLE) + "}"


def events(dialect: str, raw: str) -> str:
    """Changes with their before images and the positions of their transactions."""
    after = ", ".join("u." + name for name in TABLE)
    return _EVENTS.format(raw=raw, names=NAMES, after=after, before=_struct(dialect, "b."))


def current(dialect: str, events: str) -> str:
    """The latest row of each key."""
    row, latest = _struct(dialect), "max_by" if dialect == "spark" else "arg_max"
    return f"""
    select row.* from (
        select
            {latest}({row}, change_sequence) as row,
            {latest}(operation, change_sequence) as operation
        from {events}
        group by order_id
    ) as latest
    where operation <> 'delete'"""


def history(dialect: str, events: str) -> str:
    """The versions of each key, by commit."""
    return _HISTORY.format(events=events, names=NAMES, row=_struct(dialect))


def merge(table: str, new: str) -> str:
    """The latest change of each key among the raw rows that meet `new`, merged into `table`."""
    values = ", ".join(f"stored.{name} = latest.{name}" for name in TABLE)
    return f"""
    merge into {table} as stored
    using (
        select operation, row.* from (
            select
                max_by({_struct("spark")}, header__change_seq) as row,
                max_by(header__change_oper, header__change_seq) as operation
            from benchmark.raw
            where header__change_oper <> 'B' and {new}
            group by order_id
        )
    ) as latest
        on stored.order_id = latest.order_id
    when matched and latest.operation = 'D' then delete
    when matched then update set {values}
    when not matched and latest.operation <> 'D'
        then insert ({NAMES}) values ({", ".join("latest." + name for name in TABLE)})"""
