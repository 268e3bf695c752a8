"""The page *Command line* of the documentation: what `--help` of each command says.

.venv/bin/python -m package.cli > docs/cli.md
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

LAUNCHER = Path(__file__).parents[1] / "drafthouse"
OURS = ("bench", "test")  # for people who work on Drafthouse
WIDTH = "100"


def written() -> str:
    usage = _helped("--help")
    commands = [name for name in re.findall(r"^  ([a-z-]+) ", usage, re.MULTILINE) if name not in OURS]
    parts = [f"## {command}\n\n```\n{_helped(command, '--help')}\n```\n" for command in commands]
    first = "# Command line\n\nThis page is made from `./drafthouse COMMAND --help`.\n"
    return "\n".join([first, f"```\n{usage}\n```\n", *parts])


def _helped(*arguments: str) -> str:
    usual = {name: value for name, value in os.environ.items() if not name.startswith("DRAFTHOUSE_")}
    environment = {**usual, "COLUMNS": WIDTH}
    done = subprocess.run(
        [sys.executable, LAUNCHER, *arguments], env=environment, capture_output=True, text=True, check=True
    )
    lines = done.stdout.replace(f"{LAUNCHER.parent}/", "").strip().splitlines()
    return "\n".join(part for line in lines for part in _wrapped(line))


def _wrapped(line: str) -> list[str]:
    return [line.rstrip()] if len(line) <= int(WIDTH) + 20 else textwrap.wrap(line, int(WIDTH))


if __name__ == "__main__":
    sys.stdout.write(written())
