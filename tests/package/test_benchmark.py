"""Parts of `make bench` that need no server: they run on few rows."""

from __future__ import annotations

import runpy

from kit.warehouse import ROOT


def test_avro_messages_are_measured() -> None:
    part = runpy.run_path(str(ROOT / "tests" / "benchmark" / "qlik_avro.py"))
    results = part["measure"](20, 1)
    assert [(one["messages"], len(one["seconds"])) for one in results] == [(20, 1)] * 4
