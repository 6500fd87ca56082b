"""Looks at what `make demo` left: the tables, the documentation, the health page."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "target"

# Each table: raw rows, events, rows, versions and rows in quarantine, as the screen shows them.
SHOWN = {
    "accounts": ["21", "15", "2", "13", "5"],
    "articles": ["13", "9", "6", "6", "0"],
    "invoices": ["46", "18", "2", "11", "15"],
    "orders": ["27", "14", "3", "9", "6"],
    "parts": ["12", "11", "3", "9", "0"],
    "users": ["29", "16", "5", "13", "0"],
}
STATUSES = {"invoices": "bad", "accounts": "bad", "orders": "bad", "articles": "bad"}
STATUSES |= {"users": "warn", "parts": "ok"}

command = [sys.executable, str(ROOT / "scripts" / "show.py")]
screen = subprocess.run(command, capture_output=True, text=True, check=True).stdout
lines = [line.split() for line in screen.splitlines() if line.startswith("demo_")]
shown = {table.removeprefix("demo_"): numbers for table, _, *numbers in lines}
assert shown == SHOWN, shown

manifest = json.loads((TARGET / "docs" / "manifest.json").read_text())
catalog = json.loads((TARGET / "docs" / "catalog.json").read_text())
nodes = {name: node for name, node in manifest["nodes"].items() if not name.startswith("test.")}
assert nodes.keys() == catalog["nodes"].keys(), nodes.keys() ^ catalog["nodes"].keys()
without = [name for name, node in nodes.items() if not node["description"]]
without += [
    name for name in nodes if name.startswith("model.") and not nodes[name]["compiled_code"]
]
assert not without, without
assert "<title>" in (TARGET / "docs" / "index.html").read_text()

page = (TARGET / "health.html").read_text(encoding="utf-8")
found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
assert found
statuses = {table["name"]: table["status"] for table in json.loads(found[1])["tables"]}
assert statuses == STATUSES, statuses
print("make demo left its tables, its documentation and its health page")
