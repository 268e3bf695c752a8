"""Commands on a target alone: `--target` without `--draft`."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from decoding.backends import without_draft
from decoding.choice import Choice
from decoding.disco.classifier import load_classifier
from tests.kit.bpe import save_with_bpe
from tests.kit.gguf_files import exported
from tests.kit.models import LLAMA, save
from worker.terminal import oracle, papers, plan, project, train_disco
from worker.terminal.compare import main as compare
from worker.terminal.parser import BadArguments

ROOT = Path(__file__).parents[2]
BY_ORDER = "suffix:memory=true copies from earlier requests, so what it gains depends on their order."


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("box")
    save(folder / "target", "llama", **LLAMA)
    save(folder / "draft", "llama", seed=1, **{**LLAMA, "num_hidden_layers": 1})
    (folder / "prompts.txt").write_text("w1 w2 w3\nw4 w5 w6\n")
    return folder


def on_target(box: Path, *more: str) -> list[str]:
    return ["--target", str(box / "target"), "--prompts", str(box / "prompts.txt"), "--max-new-tokens", "8", *more]


def compared(box: Path, *more: str) -> dict[str, Any]:
    file = box / "result.json"
    assert compare(on_target(box, "--json", str(file), *more)) == 0
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def tokens(document: dict[str, Any]) -> list[list[int]]:
    return [sample["tokens"] for sample in document["strategies"][0]["samples"]]


def test_what_needs_no_draft_runs_without_being_named(box: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = compared(box)
    assert [row["label"] for row in found["strategies"]] == [choice.label for choice in without_draft.usual()]
    told = capsys.readouterr().err
    assert "target alone: target 0.1M parameters, no draft" in told
    assert "There is no draft: strategies that need a draft model cannot run." in told


def test_the_document_is_as_its_schema_says_and_has_no_draft(box: Path) -> None:
    found = compared(box)
    jsonschema.Draft202012Validator(json.loads((ROOT / "docs" / "compare.schema.json").read_text())).validate(found)
    assert found["pair"]["draft"] is None and found["pair"]["name"] == "target alone"


def test_the_text_is_that_of_the_pair(box: Path) -> None:
    pair = compared(box, "--draft", str(box / "draft"), "--strategies", "autoregressive,static:3")
    assert tokens(compared(box)) == tokens(pair)


def test_a_strategy_that_needs_a_draft_is_refused_before_anything_loads(
    box: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(on_target(box, "--strategies", "ssd:4,branches=8")) == 2
    told = capsys.readouterr().err
    assert told.startswith("ssd:4,branches=8 needs a draft model, and this pair has none. Without a draft,")
    assert "Give --draft MODEL, or leave ssd out." in told and "Warming up" not in told


def test_a_classifier_that_is_missing_is_told_before_anything_loads(
    box: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(on_target(box, "--strategies", "lookup:classifier=newest")) == 2
    told = capsys.readouterr().err
    assert told.startswith("lookup:20,classifier=newest needs a classifier, and there is none beside this target.")
    assert "Train one on its copies: train-disco --target MODEL --design sources stores it there." in told
    assert "lookup:classifier=DIR" in told and "draft" not in told
    assert "Warming up" not in told


@pytest.mark.parametrize(
    ("main", "what"),
    [
        (train_disco.main, "Training a classifier of the design ours"),
        (papers.main, "The study of the papers"),
    ],
)
def test_a_command_that_records_a_draft_is_refused(
    box: Path, main: Callable[[], int], what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["drafthouse", *on_target(box)])
    assert main() == 2
    assert capsys.readouterr().err.strip() == f"{what} needs a draft model, and this pair has none. Give --draft MODEL."


def test_a_plan_finds_the_settings_of_copies(box: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan.run([*on_target(box), "--json", str(box / "plan.json")])
    told = capsys.readouterr().out
    found = json.loads((box / "plan.json").read_text())
    settings = {Choice.of(row).kind: row for row in found["settings"]}
    assert set(settings) == {"lookup", "suffix", "suffix:memory=true"}
    assert all(row["measured"]["prompts"] == row["audit"]["identical"] == 2 for row in settings.values())
    assert found["trees"] is None and {one["engine"] for one in found["elsewhere"]} == {"transformers", "vLLM"}
    assert "vLLM, as lookup" in told and "tree" not in told
    assert told.count(BY_ORDER) == 1


def test_an_oracle_shows_which_copies_are_worth_what(box: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It used to be refused."""
    oracle.run([*on_target(box), "--out", str(box / "oracle")])
    told = capsys.readouterr().out
    assert "No draft was recorded: at each position both take the best copy." in told and told.count(BY_ORDER) == 1
    found = json.loads((box / "oracle" / "oracle.json").read_text())
    best = found["sources"].pop("best of each position")
    assert found["sources"].keys() == {"lookup:10", "suffix:0.3", "suffix:0.3,memory=true"}
    assert found["oracle"] == best and all(each["target"] >= best["target"] for each in found["sources"].values())
    assert found["oracle"]["draft"] == found["static"]["draft"] == 0 and found["samples"] == 2


def test_a_projection_covers_copies_and_says_what_needs_a_draft(box: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project.run([*on_target(box), "--card", "llama-70b-1b-h100", "--json", str(box / "projected.json")])
    told = capsys.readouterr().out
    found = json.loads((box / "projected.json").read_text())
    assert {Choice.of(row).kind for row in found["settings"]} == {
        "autoregressive",
        "lookup",
        "suffix",
        "suffix:memory=true",
    }
    assert found["left_out"]["ssd"] == "it needs a draft, and none was recorded" and found["map"] is None
    assert (
        "Left out: lookup:classifier=newest (this pair has no classifier)." in told and "Best strategy by" not in told
    )
    assert told.count(BY_ORDER) == 1


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Arguments of the starter target alone with a classifier beside it, which has learned from copies."""
    folder, starter = tmp_path_factory.mktemp("taught"), ROOT / "starter"
    shutil.copytree(starter / "pair" / "target", folder / "target")
    asked = ["--target", str(folder / "target"), "--prompts", str(starter / "prompts" / "edits.jsonl")]
    train_disco.run([*asked, "--limit", "10", "--max-new-tokens", "40", "--design", "sources"])
    return [*asked, "--limit", "2", "--max-new-tokens", "8"]


def test_a_classifier_of_copies_is_trained_and_planned_with(
    taught: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Training used to need a draft, and a plan left out what a classifier judges."""
    card = json.loads((Path(taught[1]).parent / "disco" / "card.json").read_text())
    assert set(card["sweep"]) == set(card["thresholds"]) == {"copied"}
    assert all(0 <= point["auc"] <= 1 and point["speedup"] > 0 for point in card["learning"]["points"])
    with pytest.raises(BadArguments, match="perhaps of a draft for this target"):
        train_disco.run([*taught, "--design", "sources"])
    plan.run([*taught, "--load", "1,2", "--json", str(tmp_path / "plan.json")])
    found = json.loads((tmp_path / "plan.json").read_text())
    settings = {Choice.of(row).kind: row for row in found["settings"]}
    assert {
        "lookup:classifier=newest",
        "suffix:classifier=newest",
        "lookup",
        "suffix",
    } <= settings.keys() and "hybrid:classifier=newest" not in settings
    assert settings["suffix:classifier=newest"]["measured"] and found["classifier"] == ""
    [judged] = found["classifiers"]
    assert (
        judged["speedups"].keys() == {"lookup:classifier=newest", "suffix:classifier=newest"}
        and judged["best_copy"] > 0
    )
    assert 0 < judged["auc"] <= 1
    assert {"lookup:classifier=newest", "suffix:classifier=newest"} <= {
        Choice.of(row).kind for row in found["at_load"]["rows"]
    }
    project.run([*taught, "--card", "two-cores-epyc"])
    assert "suffix:" in capsys.readouterr().out.partition("Left out")[0]


def test_a_plan_asks_no_classifier_that_judges_only_what_the_targets_pair_drafts(tmp_path: Path) -> None:
    pair, prompts = ROOT / "starter" / "pair", ROOT / "starter" / "prompts" / "edits.jsonl"
    shutil.copytree(pair / "target", tmp_path / "target")
    whole = load_classifier(pair / "disco")
    dataclasses.replace(whole, copied=None).save(tmp_path / "disco")
    options = ["--prompts", str(prompts), "--limit", "2", "--max-new-tokens", "8", "--load", "1,2"]
    plan.run(["--target", str(tmp_path / "target"), *options, "--json", str(tmp_path / "plan.json")])
    found = json.loads((tmp_path / "plan.json").read_text())
    assert (found["classifier"], found["classifiers"], found["misfit"]) == (None, [], "")
    assert {Choice.of(row).kind for row in found["at_load"]["rows"]} == {
        "autoregressive",
        "lookup",
        "suffix",
        "suffix:memory=true",
    }


def test_a_plan_for_several_users_needs_no_draft(box: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan.run([*on_target(box), "--load", "1,2"])
    told = capsys.readouterr().out
    assert "2 at once" in told and "suffix" in told and "As a schedule" not in told
    assert told.count(BY_ORDER) == 1


def test_a_draft_alone_is_refused(box: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(["--draft", str(box / "draft"), "--prompts", str(box / "prompts.txt")]) == 2
    assert "A draft needs a target to draft for: give --target MODEL too." in capsys.readouterr().err


def test_a_gguf_file_is_compared_as_the_folder_that_is_made_of_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRAFTHOUSE_DATA", str(tmp_path / "data"))
    folder = save_with_bpe(tmp_path / "model", "llama", **LLAMA)
    file = exported(folder, tmp_path / "files" / "one.gguf")
    (tmp_path / "prompts.txt").write_text("def add(a, b)\n")
    found = []
    for target in (folder, file, file.parent):
        if target == file.parent:
            file.rename(
                file.with_name("two.gguf")
            )  # its folder is used again and tells no name
        options = ["--target", str(target), "--prompts", str(tmp_path / "prompts.txt"), "--max-new-tokens", "8"]
        assert compare([*options, "--strategies", "lookup", "--json", str(tmp_path / "result.json")]) == 0
        found.append(json.loads((tmp_path / "result.json").read_text()))
    assert tokens(found[0]) == tokens(found[1]) == tokens(found[2])
    jsonschema.validate(found[1], json.loads((ROOT / "docs/compare.schema.json").read_text()))
    assert found[1]["pair"]["target"]["gguf"].startswith("a GGUF file (F32, ")
    assert capsys.readouterr().err.count("The target was dequantised from a GGUF file (F32, ") == 2
    assert len(list((tmp_path / "data" / "models").iterdir())) == 1


def test_a_folder_of_several_gguf_files_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(b"GGUF")
    (tmp_path / "prompts.txt").write_text("a\n")
    assert compare(["--target", str(tmp_path), "--prompts", str(tmp_path / "prompts.txt")]) == 2
    assert "holds 2 GGUF files, a.gguf first" in capsys.readouterr().err


def test_it_serves_many_requests_at_once(box: Path) -> None:
    at_once = compared(box, "--concurrency", "2")
    assert [row["strategy"] for row in at_once["strategies"]] == [choice.strategy for choice in without_draft.usual()]
    assert tokens(at_once) == tokens(compared(box))
