"""`./drafthouse docs`: read the documentation in a terminal. Standard library only."""

from __future__ import annotations

import argparse
import difflib
import pydoc
import re
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "docs"


def main() -> None:
    parser = argparse.ArgumentParser(prog="./drafthouse docs", description="Show the documentation, or list its pages.")
    parser.add_argument("page", nargs="?", help="a page of the list, such as disco or decisions/README")
    page = parser.parse_args().page
    if page is None:
        sys.stdout.write(f"{listed()}\n")
        return
    names = sorted(str(path.relative_to(FOLDER).with_suffix("")) for path in FOLDER.rglob("*.md"))
    if page not in names:
        near = difflib.get_close_matches(page, names, n=1)
        meant = f" Did you mean {near[0]}?" if near else ""
        parser.error(f"There is no page {page!r}.{meant} Without a page, the command lists all.")
    pydoc.pager((FOLDER / f"{page}.md").read_text())


def listed() -> str:
    """The pages that docs/README.md lists, by section."""
    lines = []
    for line in (FOLDER / "README.md").read_text().splitlines():
        if line.startswith("## "):
            lines += ["", line[3:]]
        elif link := re.match(r"- \[([^]]+)]\(([^):]+)\.md\)", line):
            lines.append(f"  {link[2]:20} {link[1]}")
    return "\n".join(lines).strip()


if __name__ == "__main__":
    main()
