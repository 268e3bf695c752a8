"""Step of `bench card` that runs the tests marked `gpu`: all files at once, because nothing in them is timed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks._card import Card
from benchmarks._steps import ROOT, SLOWER

MARK = re.compile(r"^@(pytest\.mark\.gpu|on_a_gpu)$", re.MULTILINE)
LIMIT_S = 165.0  # of one file: its row is written before the step's own limit ends
LAST_CHARACTERS = 6000  # of a file's output


def files() -> list[Path]:
    return [path for path in sorted((ROOT / "tests" / "parts").rglob("test_*.py")) if MARK.search(path.read_text())]


def tests(card: Card) -> None:
    """Run each file in a process of its own, which one that hangs or breaks the device does not cost the others."""
    with ThreadPoolExecutor(len(files())) as pool:
        for found in pool.map(lambda path: _tested(card, path), files()):
            card.has_failed |= not found


def _tested(card: Card, path: Path) -> bool:
    """Warnings of other versions than ours fail no test there, and plugins that happen to be there take no part."""
    marked = ["-m", "not gpu", "-k", "rehearsed"] if card.is_tiny else ["-m", "gpu"]
    command = [sys.executable, "-m", "pytest", "-v", *marked, "-W", "default", "--maxfail=5", "--tb=short"]
    own = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    log, start = card.rows.with_name(f"tests-{path.stem.removeprefix('test_')}.log"), time.monotonic()
    with log.open("w") as output:
        try:
            code: int | str = subprocess.run(
                [*command, "-p", "no:cacheprovider", str(path)],
                cwd=ROOT, env=own, stdout=output, stderr=output, timeout=LIMIT_S * (SLOWER if card.is_tiny else 1),
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            code = "timed out"
    text = log.read_text(errors="replace")
    seconds, last = time.monotonic() - start, text.strip().rpartition("\n")[2]
    shown = "" if code == 0 else text[-LAST_CHARACTERS:]
    card.say(section="tests", file=path.stem, code=code, seconds=seconds, last=last, output=shown)
    return code == 0
