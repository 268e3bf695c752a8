"""The first half hour on a GPU: everything that only a GPU can show, in the order of worth.

    ./drafthouse bench card [--minutes 25] [--folder artefacts/card] [--only 8B] [--again] [--tiny]

Where .venv is not prepared it takes the torch of the Python that starts it, without pip and network.
Each step runs in a process of its own with a time limit, and writes STEP.json: how it ended, its rows, the end of its
output. card.json has all of them. A step that fails stops no other. The same command goes on where the last one ended;
--again also repeats what failed. --tiny goes through every step on the CPU with tiny models: its figures mean nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import _steps
from benchmarks._steps import ROOT, Step

MARK = "@pytest.mark.gpu"
PAIRS = ("8B", "1B")
BUCKET = ("--prompt-tokens", "260", "--new-tokens", "240")  # one size of a static pass from beginning to end


def steps(is_tiny: bool) -> list[Step]:
    found = [*_kernels(is_tiny), *_tests(), *_passes(is_tiny), *_bars(is_tiny), *_texts(is_tiny)]
    return [*found, _starter(is_tiny)]


def _kernels(is_tiny: bool) -> Iterator[Step]:
    yield _own("env", "env", is_tiny, 90)
    yield _own("queue", "queue", is_tiny, 60)
    for pair in PAIRS:
        yield _own(f"attend-{pair}", "attend", is_tiny, 120, "--pair", pair)


def _tests() -> Iterator[Step]:
    """Tests that need a GPU, file by file: one that hangs or breaks the device must not cost the others."""
    for file in sorted((ROOT / "tests" / "decoding").rglob("test_*.py")):
        if MARK in file.read_text():
            path = str(file.relative_to(ROOT))
            command = ("-m", "pytest", "-q", "-m", "gpu", "--maxfail=3", "--tb=short", "-p", "no:cacheprovider", path)
            yield Step(f"tests-{file.stem.removeprefix('test_')}", (sys.executable, *command), 150)


def _passes(is_tiny: bool) -> Iterator[Step]:
    for pair in PAIRS:
        yield _own(f"products-{pair}", "products", is_tiny, 90, "--pair", pair)
        yield _own(f"pass-{pair}", "pass", is_tiny, 120, "--pair", pair)
        yield _own(f"pass-{pair}-cudnn", "pass", is_tiny, 120, "--pair", pair, "--cudnn")


def _bars(is_tiny: bool) -> Iterator[Step]:
    for pair in PAIRS:
        where = ("--device", "cpu", "--pairs", "tiny") if is_tiny else ("--pairs", pair)
        sizes = (
            ("--prompt-tokens", "12", "--new-tokens", "24", "--prompts", "1")
            if is_tiny
            else (*BUCKET, "--minutes", "2")
        )
        command = ("-m", "benchmarks.gpu", *where, *sizes, "--placements", "two-streams", "--json", "{found}")
        yield Step(f"bars-{pair}", (sys.executable, *command), 270)


def _texts(is_tiny: bool) -> Iterator[Step]:
    yield _own("cores", "cores", is_tiny, 120, "--pair", "1B")
    for pair in reversed(PAIRS):
        yield _own(f"load-{pair}", "load", is_tiny, 240, "--pair", pair)
    yield _own("largest", "largest", is_tiny, 420)


def _starter(is_tiny: bool) -> Step:
    sizes = ("--device", "cpu", "--new-tokens", "16", "--prompts", "1") if is_tiny else ("--minutes", "2")
    command = ("-m", "benchmarks.gpu", "--pairs", "starter", *sizes, "--json", "{found}")
    return Step("starter", (sys.executable, *command), 240)


def _own(name: str, what: str, is_tiny: bool, limit_s: float, *more: str) -> Step:
    tiny = ("--tiny",) if is_tiny else ()
    command = (sys.executable, "-m", "benchmarks._card_step", what, "--rows", "{rows}", *more, *tiny)
    return Step(name, command, limit_s)


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./drafthouse bench card", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=25.0, help="no step begins or runs after so many minutes")
    parser.add_argument("--folder", type=Path, help="where the files go; with --tiny a folder beside the default")
    parser.add_argument("--only", default="", help="run the steps whose names contain this")
    parser.add_argument("--again", action="store_true", help="repeat steps that failed")
    parser.add_argument("--tiny", action="store_true", help="dry run on the CPU")
    asked = parser.parse_args(given)
    if asked.minutes <= 0:
        parser.error("--minutes must be above 0.")
    if not any(asked.only in step.name for step in steps(asked.tiny)):
        names = ", ".join(step.name for step in steps(asked.tiny))
        parser.error(f"No step's name contains {asked.only!r}. Steps are {names}.")
    return asked


def main(given: Sequence[str] | None = None) -> int:
    asked = arguments(given)
    folder = asked.folder or ROOT / "artefacts" / ("card-tiny" if asked.tiny else "card")
    chosen = [step for step in steps(asked.tiny) if asked.only in step.name]
    unfinished = _steps.run(chosen, folder.absolute(), asked.minutes, asked.again)
    print(f"{len(chosen) - unfinished} of {len(chosen)} steps done; results in {folder / _steps.ALL}")
    return 1 if unfinished else 0


if __name__ == "__main__":
    sys.exit(main())
