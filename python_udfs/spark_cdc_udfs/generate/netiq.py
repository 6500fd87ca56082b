"""What an event log of NetIQ Identity Manager tells: its tables, the names in keys, the columns.

See docs/formats/netiq_event_log.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spark_cdc_udfs.generate.lake import Columns
from spark_cdc_udfs.lake.queries import literal, quoted, table_name

# The ten columns in their order, as in macros/netiq_event_log/_netiq_spec.sql.
LAYOUTS = {
    "record_id_status": (
        *("record_id", "status", "event_type", "event_time", "perpetrator", "table_name"),
        *("table_key", "column_name", "old_value", "new_value"),
    ),
    "record_id_table_key": (
        *("record_id", "table_key", "status", "event_type", "event_time", "perpetrator"),
        *("table_name", "column_name", "old_value", "new_value"),
    ),
}

# The grammar of table_key, as in macros/netiq_event_log/_netiq_key.sql.
_NAME = r'[^=+"\\,;<>]++'
_VALUE = r'"[^"\\]*+(?:\\["\\][^"\\]*+)*+"|' + r"[^,;'+" + r'"=\\<>]*+'
PART = f"({_NAME})=({_VALUE})"
WHOLE = f"^{_NAME}=(?:{_VALUE})(?:[+]{_NAME}=(?:{_VALUE}))*+\\z"
PREFIX = r"pk_(?:sv_)?(?:[0-9]+_)?(?:_.+__)?"  # of the column of a view


def layout_of(columns: Columns, layout: Any) -> Mapping[str, str] | None:
    """Give the column of the relation for each of the ten names.

    None if one is missing, or has its documented name in another place than the layout.
    """
    names = LAYOUTS["record_id_status"]
    there = {name.lower(): name for name in columns}
    if layout is None and all(name in there for name in names):
        return {name: there[name] for name in names}
    if isinstance(layout, dict):
        given = {str(name).lower(): str(column).lower() for name, column in layout.items()}
        named = {name: there.get(given.get(name, "")) for name in names}
        return {n: c for n, c in named.items() if c} if all(named.values()) else None
    layout = layout or "record_id_status"
    if layout not in LAYOUTS or len(columns) < len(names):
        return None
    found = dict(zip(LAYOUTS[layout], columns, strict=False))
    return found if all(there.get(name, c) == c for name, c in found.items()) else None


def _table(log: Mapping[str, str]) -> str:
    return f"lower(trim(substring_index({quoted(log['table_name'])}, '.', -1)))"


def keys_query(schema: str, relation: str, log: Mapping[str, str]) -> str:
    """Write the query for the names in the keys: the table, the names between tabs, rows.

    The names are NULL for rows whose key is malformed. Then the first and the last schema of the
    table in the order of their names, NULL where the log has none.
    """
    key, table = quoted(log["table_key"]), f"lower(trim({quoted(log['table_name'])}))"
    schema_of = f"case when {table} like '%.%' then substring_index({table}, '.', -2) end"
    names = f"regexp_extract_all(lower({key}), {literal(PART)}, 1)"
    told = f"case when {key} rlike {literal(WHOLE)} then array_join({names}, '\\t') end"
    return (
        f"select {_table(log)}, {told}, count(*), min({schema_of}), max({schema_of})"
        f" from {table_name(schema, relation)} group by 1, 2"
    )


def columns_query(schema: str, relation: str, log: Mapping[str, str]) -> str:
    """Write the query for the names of changed columns: the table, the column, the rows."""
    name = quoted(log["column_name"])
    return (
        f"select {_table(log)}, lower(trim({name})), count(*) from {table_name(schema, relation)}"
        f" where trim({name}) <> ''"
        f" and trim(cast({quoted(log['event_type'])} as string)) in ('1', '2', '3', '7', '8')"
        " group by 1, 2 order by 1, 2"
    )


def key_of(
    told: Iterable[tuple[str | None, int]], columns: Sequence[str]
) -> tuple[tuple[str, ...], int, str]:
    """Give the key columns of a table, the rows on which they rest, and why they are not known.

    `told` has the names in keys, between tabs, with the number of rows; None for malformed keys.
    """
    forms: dict[frozenset[str], int] = {}
    order: dict[frozenset[str], tuple[str, ...]] = {}
    for names, rows in told:
        if names is None:
            continue
        parts = tuple(name.strip() for name in names.split("\t"))
        form = frozenset(parts)
        forms[form] = forms.get(form, 0) + rows
        order[form] = min(order.get(form, parts), parts)
    if not forms:
        return (), 0, "no row has a well-formed table_key"
    if len(forms) > 1:
        some = sorted(forms, key=lambda form: -forms[form])[:3]
        said = ", ".join(f"{'+'.join(order[form])} in {forms[form]:,}" for form in some)
        return (), 0, f"the names in table_key do not agree: {said}"
    ((form, rows),) = forms.items()
    key = []
    for name in order[form]:
        found = column_of(name, columns)
        if found is None:
            return (), 0, f"table_key names {name}, which is no column of the table"
        key.append(found)
    if len(set(key)) < len(key):
        return (), 0, f"table_key names a column twice: {'+'.join(order[form])}"
    return tuple(key), rows, ""


def column_of(name: str, columns: Sequence[str]) -> str | None:
    """Find the column that a name in `table_key` means; it may have the prefix of a view."""
    exact = [column for column in columns if column.lower() == name]
    ends = [c for c in columns if re.fullmatch(PREFIX + re.escape(c.lower()), name)]
    found = exact or ends
    return found[0] if len(found) == 1 else None
