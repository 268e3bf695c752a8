"""A docstring names its thing or begins with a verb, so that nobody has to read it twice."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
PACKAGES = ("benchmarks", "decoding", "docker", "starter", "tests", "webapp", "worker")
RIDDLE = re.compile(r"(Of|What|That|Where|Who|Whoever|Whatever)\b(?!-)")
REMEDY = 'Begin with a verb ("Return …") or a noun that names the thing ("Running mean of …")'


def riddles() -> Iterator[str]:
    for path in (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node) or ""
                if RIDDLE.match(text):
                    yield f"{path.relative_to(ROOT)}:{node.body[0].lineno}: {text.splitlines()[0]}"


def test_no_docstring_begins_with_a_word_that_makes_it_a_riddle() -> None:
    found = list(riddles())
    assert not found, "\n".join([REMEDY, *found])
