"""One word, one meaning: no two classes of the product have one name."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
FRAMEWORKS = {"Command", "Meta", "Migration"}  # Django finds classes by these names
# Names that two classes or more had when this test was written. Take a name off once it is borne by one; add none.
BORNE_TWICE = """
    Audit Decoded Entries Manifest Prompted State Step Strategy
"""


def classes() -> Counter[str]:
    return Counter(
        node.name
        for package in ("decoding", "webapp", "worker")
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and node.name not in FRAMEWORKS
    )


def test_no_class_takes_the_name_of_another() -> None:
    twice = {name for name, count in classes().items() if count > 1}
    known = {*BORNE_TWICE.split()}
    assert not twice - known, f"Find other names for {sorted(twice - known)}: other classes have these already."
    assert not known - twice, f"Take {sorted(known - twice)} off the list: one class each has them now."
