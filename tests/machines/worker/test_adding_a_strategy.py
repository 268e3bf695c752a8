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
    "lacks a source": (
        "from decoding.drafting.strategy import Looks, Strategy\n"
        'STRATEGY = Strategy("mine", "Mine", "It is mine.", "ranked", Looks("m", "M0,0Z", "#000"))'
    ),
    "name both alike": (
        "from decoding.drafting.source import Nothing\n"
        "from decoding.drafting.strategy import Looks, Strategy\n"
        'STRATEGY = Strategy("yours", "Mine", "It is.", "ranked", Looks("m", "M0,0Z", "#000"), source=Nothing)'
    ),
}


@pytest.mark.parametrize(("says", "module"), BROKEN.items(), ids=BROKEN)
def test_a_module_that_lacks_a_part_is_refused_with_its_name(says: str, module: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(module)
    done = with_strategies(tmp_path, "-c", "import decoding.strategies")
    assert done.returncode != 0
    assert "strategies.mine" in done.stdout.splitlines()[-1] and says in done.stdout


SOUND = """from decoding.drafting.source import Nothing
from decoding.drafting.strategy import Looks, Strategy
LOOKS = Looks("m", "M0,0Z", "#000")
STRATEGY = Strategy({slug!r}, "Mine", "It is mine.", {role!r}, LOOKS, source=lambda given: Nothing())
"""
TAKEN = {
    "assisted.py": (SOUND.format(slug="assisted", role="ranked"), "Two strategies are called 'assisted'"),
    "mine.py": (SOUND.format(slug="mine", role="baseline"), "are each the baseline"),
}


@pytest.mark.parametrize("name", TAKEN)
def test_a_strategy_that_would_hide_or_double_another_is_refused(name: str, tmp_path: Path) -> None:
    module, says = TAKEN[name]
    (tmp_path / name).write_text(module)
    done = with_strategies(tmp_path, "-c", "import decoding.strategies")
    assert done.returncode != 0 and says in done.stdout.splitlines()[-1]


def test_a_folder_of_strategies_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = with_strategies(tmp_path / "nowhere", "-c", "import decoding.strategies")
    assert done.returncode != 0 and "nowhere, which is not a folder" in done.stdout.splitlines()[-1]
