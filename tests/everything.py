"""`./drafthouse test`: every check and every test, or pytest alone. Standard library only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests import installing
from tests.programs import tool

ROOT = Path(__file__).parents[1]
PYTHON = sys.executable
CHECKS: dict[str, list[str]] = {
    "ruff format": [PYTHON, "-m", "ruff", "format", "--check", "--quiet", "."],
    "ruff check": [PYTHON, "-m", "ruff", "check", "--quiet", "."],
    "mypy": [PYTHON, "-m", "mypy", "--no-error-summary"],
    "import contracts": [PYTHON, "-c", "from importlinter.cli import lint_imports_command as lint; lint()"],
    "node --test": [tool("node"), "--test", *map(str, sorted(ROOT.glob("tests/js/*.test.js")))],
}
# A third of the suite's time is waiting for other processes, so three at once keep two cores busy. Modules stay whole
# and begin in the order of tests/conftest.py: the long ones first.
TOGETHER = ["-n", "3", "--dist", "loadscope", "--no-loadscope-reorder", "--time-left"]
TOGETHER += ["-o", "console_output_style=classic"]  # pytest's own percents would stand beside ours
OPTIONS = {"--quick", "--deep", "--slowest"}  # of tests/conftest.py and tests/clock.py, which keep the run whole
FEW = 3  # failed tests that run once more, alone
HELP = f"""\
usage: ./drafthouse test [--quick | --deep] [--slowest] [PYTEST ARGUMENT …]

Run {", ".join(CHECKS)} and every test.

  --quick     of the tests only laws, parts and 12 smoke tests of machines: before each commit
  --deep      thousands of cases for each law in place of hundreds
  --slowest   show at the end which tests, fixtures and modules took the most CPU seconds

With other arguments, run pytest alone with these: ./drafthouse test tests/parts -k stopping

If at most {FEW} tests fail, they run once more, alone. Those that pass then are named: they depend on what runs beside
them, and are to be mended.

Some tests need Chromium, PostgreSQL or curl. The command first installs what this machine lacks: a Debian package if
you are root or sudo asks for no password, else a download into .venv or Playwright's cache. Where that fails, it skips
these tests and says so in its last lines; with CI=true in the environment it then fails.

  DRAFTHOUSE_CHROMIUM   path of the Chromium to use; none: install nothing and skip its tests
  DRAFTHOUSE_POSTGRES   folder with the initdb to use; none: install nothing and skip its tests"""


def main(arguments: Sequence[str]) -> int:
    if "-h" in arguments or "--help" in arguments:
        sys.stdout.write(f"{HELP}\n")
        return 0
    os.chdir(ROOT)
    installing.main()
    if set(arguments) - OPTIONS:
        os.execv(PYTHON, [PYTHON, "-m", "pytest", *arguments])
    failed = [name for name, command in CHECKS.items() if not passes(name, command)]
    if not all_pass(ROOT, [*TOGETHER, *arguments]):
        failed.append("pytest")
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}.")
    return 0


def passes(name: str, command: Sequence[str]) -> bool:
    """Run one check in silence; show what it said only when it fails."""
    start = time.monotonic()
    installing.say(f"{name} … ", end="")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    installing.say(f"{time.monotonic() - start:.1f} s")
    if done.returncode != 0:
        installing.say(done.stdout, end="")
    return done.returncode == 0


def all_pass(folder: Path, arguments: Sequence[str]) -> bool:
    """Run the tests. Where a few fail, run these once more, alone, and name those that pass then."""
    pytest = [PYTHON, "-m", "pytest"]
    code = subprocess.call([*pytest, *arguments], cwd=folder)
    failed = last_failed(folder) if code == 1 else []
    if not 0 < len(failed) <= FEW or any("::" not in test for test in failed):  # what was never collected stays so
        return code == 0
    installing.say(f"\n{len(failed)} failed; once more, alone:")
    subprocess.call([*pytest, *failed], cwd=folder)
    unsteady = [test for test in failed if test not in last_failed(folder)]
    for test in unsteady:
        installing.say(f"Unsteady, to be mended: {test} failed beside other tests and passed alone.")
    return unsteady == failed


def last_failed(folder: Path) -> list[str]:
    kept = folder / ".pytest_cache" / "v" / "cache" / "lastfailed"
    return sorted(json.loads(kept.read_text())) if kept.exists() else []


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        installing.say("\nInterrupted. Give the same command again to start over.")
        sys.exit(130)
