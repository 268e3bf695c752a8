"""Docker's rules for `.dockerignore`: the last pattern that matches a path, or a folder above it, decides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

TOKENS = re.compile(r"\*\*/|\*\*|\*|\?|\[[^\]]+\]|.")
IN_REGEX = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def sent(root: Path) -> Iterator[str]:
    """The files that a build of the folder receives."""
    patterns = list(_patterns((root / ".dockerignore").read_text().splitlines()))
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_file() and not _is_ignored(name, patterns):
            yield name


def _patterns(lines: Iterable[str]) -> Iterator[tuple[bool, re.Pattern[str]]]:
    """Whether each pattern ignores, and what it matches."""
    for line in lines:
        pattern = line.strip()
        if pattern and not line.startswith("#"):
            ignores = not pattern.startswith("!")
            yield ignores, _compiled(pattern.removeprefix("!").strip("/"))


def _compiled(pattern: str) -> re.Pattern[str]:
    def part(token: str) -> str:
        return IN_REGEX.get(token) or (token if len(token) > 1 else re.escape(token))

    return re.compile("".join(part(token) for token in TOKENS.findall(pattern)))


def _is_ignored(name: str, patterns: list[tuple[bool, re.Pattern[str]]]) -> bool:
    path = PurePosixPath(name)
    names = [name, *(str(parent) for parent in path.parents if parent.name)]
    is_ignored = False
    for ignores, pattern in patterns:
        if any(pattern.fullmatch(each) for each in names):
            is_ignored = ignores
    return is_ignored
