"""The first minutes on a GPU: everything that only a GPU can show, in the order of worth.

    ./drafthouse bench card [--plan first|second] [--minutes 7.5] [--only 1B,tests] [--folder artefacts/card] [--again]
    ./drafthouse bench card --tiny

Where .venv is not prepared it takes the torch of the Python that starts it, without pip and network.
The first plan shows whether the card works and how fast it is; the second one explains that. Each step runs in a
process of its own with a time limit, and writes STEP.json: how it ended, its rows, the end of its output. card.json
has all steps, also those of earlier calls; after each step it is copied to the folder that the variable OUT names.
A step that fails stops no other. The same command goes on where the last one ended; --again also repeats what failed.
--tiny goes through every step on the CPU with tiny models: its figures mean nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import _steps
from benchmarks._steps import ROOT, SLOWER, Step

PLANS = ("first", "second")
BUCKET = ("--prompt-tokens", "260", "--new-tokens", "240")  # one size of a static pass from beginning to end


def steps(plan: str, is_tiny: bool) -> list[Step]:
    return _first(is_tiny) if plan == "first" else _second(is_tiny)


def _first(is_tiny: bool) -> list[Step]:
    return [
        _own("env", ("env", "queue", "kernels"), "8B", is_tiny, 75),
        _own("8B", ("pass", "texts"), "8B", is_tiny, 150),
        _own("products", ("products",), "8B", is_tiny, 40),
        _own("1B", ("load", "pass"), "1B", is_tiny, 110),
        _own("starter", ("starter",), "8B", is_tiny, 75),
        *([_own("tests", ("tests",), "8B", is_tiny, 180)] if (ROOT / "tests").exists() else []),  # a wheel has none
        _own("load-8B", ("load",), "8B", is_tiny, 90),
    ]


def _second(is_tiny: bool) -> list[Step]:
    return [
        _own("attend-8B", ("attend",), "8B", is_tiny, 60),
        _bars("1B", is_tiny, 150),
        _own("disco-1B", ("disco",), "1B", is_tiny, 150),
        _own("1B-more", ("cores", "attend", "products"), "1B", is_tiny, 90),
        _bars("8B", is_tiny, 200),
        _own("8B-cudnn", ("pass",), "8B", is_tiny, 60, "--cudnn"),
    ]


def _own(name: str, parts: Sequence[str], pair: str, is_tiny: bool, limit_s: float, *more: str) -> Step:
    """Make a step of parts that share a process: importing torch and transformers takes it 7 s and more."""
    tiny = ("--tiny",) if is_tiny else ()
    command = (sys.executable, "-m", "benchmarks._card_step", *parts, "--rows", "{rows}", "--pair", pair, *more, *tiny)
    return Step(name, command, SLOWER * limit_s if is_tiny else limit_s, without_numba=True)


def _bars(pair: str, is_tiny: bool, limit_s: float) -> Step:
    where = ("--device", "cpu", "--pairs", "tiny") if is_tiny else ("--pairs", pair)
    tiny = ("--prompt-tokens", "12", "--new-tokens", "24", "--prompts", "1")
    sizes = tiny if is_tiny else (*BUCKET, "--prompts", "2", "--minutes", "2" if pair == "8B" else "1")
    command = ("-m", "benchmarks.gpu", *where, *sizes, "--placements", "two-streams", "--json", "{found}")
    return Step(
        f"bars-{pair}", (sys.executable, *command), SLOWER * limit_s if is_tiny else limit_s, without_numba=True
    )


def chosen(asked: argparse.Namespace) -> list[Step]:
    """Return the steps of the plan, or those of both that are named, in the order in which they are named."""
    if not asked.only:
        return steps(asked.plan, asked.tiny)
    found = {step.name: step for plan in PLANS for step in steps(plan, asked.tiny)}
    return [found[name] for name in asked.only]


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./drafthouse bench card", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [step.name for plan in PLANS for step in steps(plan, is_tiny=False)]
    parser.add_argument("--plan", choices=PLANS, default=PLANS[0], help="which steps (%(default)s)")
    parser.add_argument("--minutes", type=float, default=7.5, help="no step begins or runs later (%(default)s)")
    parser.add_argument("--folder", type=Path, help="where the files go; with --tiny a folder beside the default")
    parser.add_argument(
        "--only", type=lambda text: text.split(","), help=f"run these steps, of any plan: {','.join(names)}"
    )
    parser.add_argument("--again", action="store_true", help="repeat steps that failed")
    parser.add_argument("--tiny", action="store_true", help="dry run on the CPU")
    asked = parser.parse_args(given)
    if asked.minutes <= 0:
        parser.error("--minutes must be above 0.")
    if unknown := [name for name in asked.only or () if name not in names]:
        parser.error(f"There is no step {unknown[0]!r}. Steps are {', '.join(names)}.")
    return asked


def main(given: Sequence[str] | None = None) -> int:
    asked = arguments(given)
    folder = asked.folder or Path("artefacts") / ("card-tiny" if asked.tiny else "card")
    wanted, out = chosen(asked), os.environ.get("OUT")
    unfinished = _steps.run(wanted, folder.absolute(), asked.minutes, asked.again, Path(out) if out else None)
    print(f"{len(wanted) - unfinished} of {len(wanted)} steps done; results in {folder / _steps.ALL}")
    return 1 if unfinished else 0


if __name__ == "__main__":
    sys.exit(main())
