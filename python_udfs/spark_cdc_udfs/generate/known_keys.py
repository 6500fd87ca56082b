"""The CSV file with keys."""

from __future__ import annotations

import csv
from pathlib import Path

from spark_cdc_udfs.errors import Failure

HEADER = ["table", "column", "position"]
EXAMPLE = "orders,order_id,1"


class KnownKeys:
    """The keys that a CSV file gives, by the names of tables."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._keys = read_csv(path) if path else {}
        self._used: set[str] = set()

    def of(self, source: str, *tables: str) -> tuple[str, ...]:
        """Give the key of a table by any of its names; () if the file does not have it."""
        names = [f"{source}.{table}".lower() for table in tables]
        names += [table.lower() for table in tables]
        for name in names:
            if name in self._keys:
                self._used.add(name)
                return self._keys[name]
        return ()

    def unused(self) -> list[str]:
        """Name the tables of the file that nobody asked for."""
        return sorted(set(self._keys) - self._used)


def read_csv(path: Path) -> dict[str, tuple[str, ...]]:
    """Read keys by table, in lower case. Raises Failure that names the line."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [(number, row) for number, row in enumerate(csv.reader(file), 1) if any(row)]
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error.strerror}") from error
    except csv.Error as error:
        raise Failure(f"{path} is no CSV: {error}") from error
    except UnicodeDecodeError as error:
        raise Failure(f"{path} is not UTF-8") from error
    if not rows or [name.strip().lower() for name in rows[0][1]] != HEADER:
        raise Failure(f"{path}, line 1: the header is not {','.join(HEADER)}")
    found: dict[str, dict[int, str]] = {}
    for number, row in rows[1:]:
        cells = [cell.strip() for cell in row]
        if len(cells) != 3 or not all(cells) or not cells[2].isdecimal() or int(cells[2]) < 1:
            raise Failure(
                f"{path}, line {number}: {','.join(row)} is no table, column and position;"
                f" for example: {EXAMPLE}"
            )
        table, column, position = cells[0].lower(), cells[1], int(cells[2])
        if position in found.setdefault(table, {}):
            raise Failure(f"{path}, line {number}: {cells[0]} has position {position} twice")
        found[table][position] = column
    for table, columns in found.items():
        if sorted(columns) != list(range(1, len(columns) + 1)):
            raise Failure(
                f"{path}: the positions of {table} are {', '.join(map(str, sorted(columns)))},"
                f" and not 1 to {len(columns)}"
            )
    return {table: tuple(one[n] for n in sorted(one)) for table, one in found.items()}
