"""Commands that record a pair whose draft matches text (SLEM): they run as on its target alone, and say so."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from decoding.choice import Choice
from decoding.vocabularies.scores import ABOUT_COPIES
from tests.kit.models import LLAMA, another_order_of_words, save
from worker.terminal import oracle, papers, plan, project, train_disco
from worker.terminal.compare import main as compare


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("box")
    save(folder / "target", "llama", **LLAMA)
    save(folder / "draft", "llama", seed=1, **{**LLAMA, "num_hidden_layers": 1})
    another_order_of_words(folder / "draft")
    lines = (f"w{n + 1} w{2 * n + 1} w{3 * n % 90 + 1} w{n + 1} w{2 * n + 1}\n" for n in range(24))
    (folder / "prompts.txt").write_text("".join(lines))
    return folder


def on_pair(box: Path, *more: str, draft: bool = True) -> list[str]:
    matched = ["--draft", str(box / "draft"), "--other-tokenizer", "slem"] if draft else []
    return ["--target", str(box / "target"), *matched, "--prompts", str(box / "prompts.txt"), "--limit", "2", *more]


def read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def test_a_plan_an_oracle_and_a_projection_are_those_of_the_target_alone(
    box: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They used to be refused, though the same target without a draft had them."""
    found: dict[bool, list[dict[str, Any]]] = {}
    for draft in (True, False):
        out = tmp_path / str(draft)
        short = on_pair(box, "--max-new-tokens", "24", draft=draft)
        oracle.run([*short, "--out", str(out)])
        plan.run([*short, "--json", str(out / "plan.json")])
        project.run([*short, "--card", "llama-70b-1b-h100", "--json", str(out / "projected.json")])
        assert capsys.readouterr().err.count(ABOUT_COPIES) == 3 * draft
        found[draft] = [read(out / name) for name in ("oracle.json", "plan.json", "projected.json")]
        assert {one.pop("draft_left_out") for one in found[draft]} == {ABOUT_COPIES if draft else ""}
    (lengths, planned, projected), (lengths_alone, planned_alone, projected_alone) = found[True], found[False]
    assert lengths == lengths_alone and projected == projected_alone
    settings = [{Choice.of(row).kind for row in one["settings"]} for one in (planned, planned_alone)]
    assert settings[0] == settings[1] == {"lookup", "suffix", "suffix:memory=true"}


@pytest.mark.parametrize(
    ("main", "what"),
    [(train_disco.main, "Training a classifier of the design ours"), (papers.main, "The study of the papers")],
)
def test_what_follows_a_draft_is_refused_before_a_model_loads(
    box: Path, main: Callable[[], int], what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["drafthouse", *on_pair(box)])
    assert main() == 2
    told = capsys.readouterr()
    assert told.err.startswith(f"{what} needs a draft that says the target's tokens, and this pair matches text (SLEM)")
    assert len(told.err.splitlines()) == 1 and not told.out  # nothing about models that were loaded


def test_a_classifier_is_trained_on_copies_and_judges_them_beside_the_draft(
    box: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [word for word in on_pair(box, "--max-new-tokens", "72") if word not in ("--limit", "2")]
    train_disco.run([*asked, "--design", "sources", "--out", str(tmp_path / "disco")])
    card = read(tmp_path / "disco" / "card.json")
    assert (card["pair"], card["draft_left_out"]) == ([], ABOUT_COPIES)
    strategies = f"static:2,suffix:classifier={tmp_path / 'disco'}"
    file = tmp_path / "result.json"
    assert compare(on_pair(box, "--max-new-tokens", "16", "--strategies", strategies, "--json", str(file))) == 0
    assert [row["audit"]["identical"] for row in read(file)["strategies"]] == [2, 2, 2]
    drafted = strategies.replace("suffix", "disco")
    assert compare(on_pair(box, "--max-new-tokens", "16", "--strategies", drafted)) == 2
    assert "The classifier's card tells no threshold for the rule priced." in capsys.readouterr().err
