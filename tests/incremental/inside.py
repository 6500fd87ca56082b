"""The names of the internals of an incremental model; no other test knows them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from incremental.scenario import Place

# Points of a run, as regular expressions over its statements.
NEW_ROWS_FOUND = r"create table \S+__cdc_missing_"  # the new raw rows are known
NEW_ROWS_COPIED = r"create table \S+__cdc_rows_"  # the new raw rows are copied
DIFFERENCE_KNOWN = r"create table \S+__cdc_increment_"  # the difference to write is known
KEYS_KNOWN = r"create table \S+__cdc_keys_"  # the affected keys are known
RETRACTED_KEPT = r"(rename to|insert into) \S+__cdc_replaced\b"  # retracted events are written
RETRACTED_ASKED = r"show tables .* like '\w+__cdc_replaced'"  # a model downstream looks for them
KEEPS_ROWS = r"insert into \S+__cdc_raw_"  # new raw rows are appended to the stored ones


def forget_fingerprint(model: str) -> str:
    """Make the next run of a model see its call as changed."""
    return f"alter view {{schema}}.{model} set tblproperties ('spark_cdc.definition' = '')"


def properties(place: Place, model: str) -> dict[str, str]:
    return dict(place.sql(f"show tblproperties {{schema}}.{model}"))


def stored_in(place: Place, model: str) -> str:
    """The table with the rows of a model on parquet."""
    return properties(place, model)["spark_cdc.stored_in"]


def files_of_quarantine(place: Place) -> str:
    """The table with the quarantine of the model `changes`: another one after each run."""
    return properties(place, "changes")["spark_cdc.quarantine"]


def raw_rows(place: Place, model: str) -> str:
    """The table with the raw rows that a model has read."""
    return properties(place, model)["spark_cdc.raw"]


def copies_of_raw_rows(place: Place) -> list[str]:
    """The models that keep raw rows of their own."""
    found = [re.match(r"(\w+)__cdc_raw_", name) for name in side_tables(place)]
    return sorted(one[1] for one in found if one)


def leave_part_of_raw_rows(place: Place, model: str, condition: str) -> None:
    """Leave the raw rows of a model as a run does that is killed while it appends some of them."""
    kept = f"{{schema}}.{raw_rows(place, model)}"
    place.sql(
        f"create table {kept}_part using parquet as select * from {kept} where {condition}",
        f"insert overwrite {kept} by name select * from {kept}_part",
        f"drop table {kept}_part",
        f"alter view {{schema}}.{model} set tblproperties ('spark_cdc.raw_is_partial' = 'true')",
    )


def build_again(log: str) -> str:
    """Make a raw log look as if it had been built again."""
    return f"alter view {{schema}}.{log} set tblproperties ('spark_cdc.generation' = 'another')"


def leave_half_a_batch(place: Place, log: str, condition: str) -> None:
    """Leave a raw log as a run does that is killed while it adds rows, after some of them."""
    place.sql(
        f"insert into {{schema}}.{stored_in(place, log)}"
        f" select *, '2999' as cdc_batch from {{schema}}.raw where {condition}",
        f"alter view {{schema}}.{log} set tblproperties ('spark_cdc.raw_is_partial' = 'true')",
    )


def file_format(place: Place, model: str) -> str:
    return properties(place, model)["spark_cdc.file_format"]


def retracted_events(model: str) -> str:
    """The table with the events that a model has retracted."""
    return f"{model}__cdc_replaced"


def add_rows_found(kept: str) -> str:
    """Add the new rows of the run that continues to the raw rows of the model `changes`."""
    found = "{schema}.changes__cdc_rows_{made}"
    return f"insert into {kept} select * except (cdc_is_new) from {found} where cdc_is_new"


def side_tables(place: Place) -> list[str]:
    """The side tables of a scenario's models."""
    tables = [row[1] for row in place.sql("show tables in {schema}")]
    return sorted(name for name in tables if "__cdc_" in name)


def locks(place: Place) -> list[str]:
    """The locks of runs."""
    return [name for name in side_tables(place) if "__cdc_run_" in name]


def show_locks(schema: str, model: str) -> str:
    """The statement that lists the locks of a model's runs."""
    return f"show tables in {schema} like '{model}__cdc_run_*'"


def folders_of_raw_rows(folder: Path, model: str) -> list[Path]:
    """The folders with the raw rows that a model keeps, in the folder of its schema."""
    found = sorted(folder.glob(f"{model}__cdc_raw_*"))
    assert found
    return found


def folder_of(folder: Path, table: str) -> Path:
    """The folder with the rows of a table on parquet: an incremental model's has a version."""
    *_, found = sorted(folder.glob(table)) or sorted(folder.glob(f"{table}__cdc_[0-9]*"))
    return found


def versions(place: Place) -> list[str]:
    """The tables with rows of models on parquet: the present one, and the one before it."""
    return [name for name in side_tables(place) if re.search(r"__cdc_\d+$", name)]


def left_over(model: str, kind: str, suffix: str) -> str:
    """A table as a killed run leaves it."""
    return f"{model}__cdc_{kind}_{suffix}"


def tables_made(place: Place) -> list[str]:
    """The side tables that the last run created in the schema, without the suffix of its time."""
    made = re.findall(rf"create table `?{place.schema}`?\.`?(\w+?)_\d{{14,}}\b", place.log)
    return sorted(set(made))


def raw_row_files(place: Place) -> list[Path]:
    """The files of stored raw rows, and of retracted events."""
    return sorted(place.folder.glob("*__cdc_r[ae]*/*.parquet"))


def encoding(place: Place, model: str) -> tuple[set[str], dict[str, str]]:
    """The codecs in the names of a model's files, and the options of its table."""
    table = stored_in(place, model)
    files = (place.folder / table).glob("*.parquet")
    rows = dict(row[:2] for row in place.sql(f"describe extended {{schema}}.{table}"))
    options = re.findall(r"([\w.]+)=([^,\]]+)", rows["Storage Properties"])
    return {file.name.split(".")[-2] for file in files}, dict(options)


def stored_again(place: Place, relation: str, batch: str) -> None:
    """Give all rows of a table another batch, as if a run at another time had written them."""
    copy = f"{{schema}}.{relation}_copy"
    place.sql(
        f"create table {copy} using parquet as"
        f" select * except (cdc_batch), '{batch}' as cdc_batch from {{schema}}.{relation}",
        f"insert overwrite {{schema}}.{relation} by name select * from {copy}",
    )


def ran_at(place: Place, model: str, batch: str) -> None:
    """Give all events of a model another batch, as if its runs had been at another time."""
    stored_again(place, stored_in(place, model), batch)
    place.sql(f"alter view {{schema}}.{model} set tblproperties ('spark_cdc.last_run' = '{batch}')")


def with_deletion_vectors(place: Place) -> list[str]:
    """The tables that can have deletion vectors."""
    tables = [row[1] for row in place.sql("show tables in {schema}")]
    return sorted(t for t in tables if "delta.feature.deletionVectors" in properties(place, t))


def make_view_again(place: Place, model: str) -> None:
    """Make a model's view as Spark does without Iceberg's catalog, with its own kind of views."""
    stored: dict[str, Any] = properties(place, model)
    ours = {name: value for name, value in stored.items() if name.startswith("spark_cdc.")}
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in ours.items())
    place.sql(
        "set spark.sql.catalog.spark_catalog=builtin",  # for all clients
        f"drop view {{schema}}.{model}",
        f"create view {{schema}}.{model} tblproperties ({listed})"
        f" as select * from {{schema}}.{ours['spark_cdc.stored_in']}",
        "reset spark.sql.catalog.spark_catalog",
    )
