"""Paths of files that strangers send: relative, plain, and the same on every file system."""

from __future__ import annotations

from webapp.core.problems import Invalid

LONGEST = 255
DEEPEST = 8
JUNK = {"__MACOSX", ".DS_Store", "Thumbs.db", ".git"}


def clean(path: str, *, field: str = "path") -> str:
    """Return the path as we store it, or raise Invalid with its fault."""

    def refuse(why: str) -> Invalid:
        return Invalid(f"The file name {path[:80]!r} {why}.", field=field, hint="Rename the file and send it again.")

    if not path or len(path) > LONGEST:
        raise refuse(f"has {len(path)} characters; it may have 1 to {LONGEST}")
    if not path.isprintable():
        raise refuse("holds control characters")
    if "\\" in path or ":" in path:
        raise refuse("holds a backslash or a colon")
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise refuse("is not a plain relative path")
    if any(part != part.strip() or part.endswith(".") for part in parts):
        raise refuse("has a part that begins or ends with a space, or ends with a dot")
    if len(parts) > DEEPEST:
        raise refuse(f"is nested deeper than {DEEPEST} folders")
    return path


def is_junk(path: str) -> bool:
    """Whether an operating system put this file into an archive, and nobody meant to send it."""
    return any(part in JUNK or part.startswith("._") for part in path.split("/"))
