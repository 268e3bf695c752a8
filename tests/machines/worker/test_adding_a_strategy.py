"""A strategy is one file: the example in docs/extending.md, put into a folder of its own, works everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "extending.md"


def example() -> str:
    """The new file that the page shows as a diff."""
    diff = PAGE.read_text().split("```diff\n")[1].split("```")[0]
    return "".join(f"{line[1:]}\n" for line in diff.splitlines() if line.startswith("+") and not line.startswith("+++"))


def with_strategies(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DRAFTHOUSE_STRATEGIES": str(folder)}
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_the_example_runs_in_terminal_service_replay_plan_projection_and_what_if(tmp_path: Path) -> None:
    (tmp_path / "one_more.py").write_text(example())
    done = with_strategies(
        tmp_path, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "tests/machines/worker/adding_a_strategy.py"
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


BROKEN = {
    "mine.py": (
        "from decoding.drafting.strategy import Looks, Strategy\n"
        'STRATEGY = Strategy("mine", "Mine", "It is mine.", "ranked", Looks("m", "M0,0Z", "#000"))',
        "strategies.mine lacks a source",
    ),
    "assisted.py": (
        "from decoding.drafting.source import Chain\n"
        "from decoding.drafting.strategy import Looks, Strategy\n"
        'LOOKS = Looks("m", "M0,0Z", "#000")\n'
        'STRATEGY = Strategy("assisted", "Mine", "It is.", "ranked", LOOKS, source=lambda given: Chain())',
        "Two strategies are called 'assisted'",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_module_that_lacks_a_part_or_would_hide_another_is_refused(name: str, tmp_path: Path) -> None:
    module, says = BROKEN[name]
    (tmp_path / name).write_text(module)
    done = with_strategies(tmp_path, "-c", "import decoding.strategies")
    assert done.returncode != 0 and says in done.stdout.splitlines()[-1]
