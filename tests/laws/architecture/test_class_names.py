"""One word, one meaning: no two classes of the product have one name."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[3]
FRAMEWORKS = {"Command", "Meta", "Migration"}  # Django finds classes by these names


def test_no_class_takes_the_name_of_another() -> None:
    homes = defaultdict(list)
    for path in (
        path for package in ("decoding", "webapp", "worker") for path in sorted((ROOT / package).rglob("*.py"))
    ):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name not in FRAMEWORKS:
                homes[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    twice = {name: places for name, places in homes.items() if len(places) > 1}
    assert not twice, f"Find other names: other classes have these already: {twice}"
