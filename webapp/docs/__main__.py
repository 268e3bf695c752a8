"""`./drafthouse docs`: read the documentation in a terminal."""

from __future__ import annotations

import argparse
import difflib
import pydoc
import sys

from webapp.docs import FOLDER, contents, names


def main() -> None:
    parser = argparse.ArgumentParser(prog="./drafthouse docs", description="Show the documentation, or list its pages.")
    parser.add_argument("page", nargs="?", help="a page of the list, such as disco or decisions/README")
    page = parser.parse_args().page
    if page is None:
        sections = ["\n".join([title, *(f"  {name:20} {called}" for name, called in pages.items())])
                    for title, pages in contents().items()]  # fmt: skip
        sys.stdout.write("\n\n".join(sections) + "\n")
        return
    if page not in names():
        near = difflib.get_close_matches(page, names(), n=1)
        meant = f" Did you mean {near[0]}?" if near else ""
        parser.error(f"There is no page {page!r}.{meant} Without a page, the command lists all.")
    pydoc.pager((FOLDER / f"{page}.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
