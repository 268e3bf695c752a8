"""Lines of templates and documents are short enough to be read in one go, and to be compared by line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
MOST = 160
READ = ("templates/**/*.html", "*.md", "docs/**/*.md")


def too_long() -> Iterator[str]:
    for path in (path for pattern in READ for path in sorted(ROOT.glob(pattern))):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if len(line) > MOST:
                where = f"{path.relative_to(ROOT)}:{number}"
                yield f"{where} has {len(line)} characters: break the line, or move a part of it to a file of its own."


def test_no_line_is_longer_than_160_characters():
    assert list(too_long()) == []
