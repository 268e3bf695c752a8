"""Answers that a test keeps in a file, so that a wanted change is reviewed as a difference of that file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

VARIABLE = "DRAFTHOUSE_RECORD"  # set to 1, it writes the files anew


def assert_recorded(found: Mapping[str, Any], path: Path) -> None:
    """Assert that each answer is the one of the file: one JSON object, with a row for each name."""
    rows = json.loads(json.dumps(found))
    if os.environ.get(VARIABLE):
        lines = (f"{json.dumps(name)}: {json.dumps(row, ensure_ascii=False)}" for name, row in rows.items())
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    recorded = json.loads(path.read_text(encoding="utf-8"))
    assert rows.keys() == recorded.keys(), f"{VARIABLE}=1 writes {path.name} anew"
    for name, row in rows.items():
        assert row == recorded[name], f"{name} is not what {path.name} holds; {VARIABLE}=1 writes it anew"
