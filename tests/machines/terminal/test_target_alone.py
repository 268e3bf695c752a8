"""Commands on a target alone, and on a pair whose draft matches text (SLEM): they are about copies."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from decoding.backends import without_draft
from decoding.choice import Choice
from decoding.vocabularies.shared import ABOUT_COPIES
from tests.kit.bpe import save_with_bpe
from tests.kit.gguf_files import exported
from tests.kit.models import LLAMA, another_order_of_words
from tests.kit.terminal import ROOT, compared, copied, given, on_pair, read
from worker.terminal import oracle, papers, plan, project, train_disco
from worker.terminal.compare import main as compare
from worker.terminal.options import BadArguments

STARTER = ROOT / "starter"
BY_ORDER = "suffix:memory=true copies from earlier requests, so what it gains depends on their order."
COPIES = {"lookup", "suffix", "suffix:memory=true"}


@pytest.fixture(scope="module")
def here(box: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pair of which one has another order of words, and prompts that repeat themselves."""
    folder = copied(box, tmp_path_factory.mktemp("here"))
    another_order_of_words(folder / "draft")
    texts = (f"w{n + 1} w{2 * n + 1} w{3 * n % 90 + 1} w{n + 1} w{2 * n + 1}" for n in range(24))
    (folder / "prompts.jsonl").write_text("".join(f'{{"text": "{text}"}}\n' for text in texts))
    return folder


def asked(here: Path, *more: object, draft: bool, tokens: int = 24) -> list[str]:
    matched = ["--other-tokenizer", "slem"] if draft else []
    return on_pair(here, *matched, *more, draft=draft, tokens=tokens)


def kinds(rows: list[dict[str, Any]]) -> set[str]:
    return {Choice.of(row).kind for row in rows}


def test_what_needs_no_draft_runs_without_being_named_for_one_user_and_for_two(here, tmp_path, capsys):
    more = ("--limit", 2, "--concurrency", "1,2", "--json", tmp_path / "r.json")
    assert compare(asked(here, *more, draft=False, tokens=8)) == 0
    found = compared(tmp_path / "r.json")
    assert (found["pair"]["draft"], found["pair"]["name"]) == (None, "target alone")
    usual = [choice.label for choice in without_draft.usual()]
    assert [row["label"] for row in found["strategies"]] == [*usual, *(f"{label} @2" for label in usual)]
    assert {row["audit"]["identical"] for row in found["strategies"]} == {2}
    told = capsys.readouterr().err
    assert "target alone: target 0.1M parameters, no draft" in told
    assert "There is no draft: strategies that need a draft model cannot run." in told


@pytest.mark.parametrize(
    ("strategies", "told"),
    [
        (
            "ssd:4",
            ("ssd:4 needs a draft model, and this pair has none. Without a draft,", "or leave ssd out."),
        ),
        (
            "lookup:classifier=newest",
            ("classifier=newest needs a classifier, and there is none beside this target.", "--design sources"),
        ),
    ],
)
def test_a_strategy_that_lacks_what_it_needs_is_refused_before_anything_loads(here, capsys, strategies, told):
    assert compare(asked(here, "--strategies", strategies, draft=False)) == 2
    err = capsys.readouterr().err
    assert all(words in err for words in told) and "warming up" not in err


@pytest.mark.parametrize(
    ("draft", "why"),
    [
        (False, " needs a draft model, and this pair has none. Give --draft"),
        (True, " needs a draft that says the target's tokens, and this pair matches text (SLEM)"),
    ],
)
@pytest.mark.parametrize(
    ("run", "what"),
    [(train_disco.run, "Training a classifier of the design ours"), (papers.run, "The study of the papers")],
)
def test_what_follows_a_draft_is_refused_before_a_model_loads(here, capsys, run, what, draft, why):
    assert given(run, *asked(here, draft=draft)) == 2
    out, err = capsys.readouterr()
    assert err.startswith(what + why) and len(err.splitlines()) == 1 and not out


def test_a_plan_an_oracle_and_a_projection_are_about_copies_and_a_draft_that_matches_text_changes_nothing(
    here, tmp_path, capsys
):
    found: dict[bool, list[dict[str, Any]]] = {}
    for draft in (True, False):
        out, printed = tmp_path / str(draft), []
        short = asked(here, "--limit", 2, draft=draft)
        for run, *more in (
            (oracle.run, "--out", out),
            (plan.run, "--load", "1,2", "--json", out / "plan.json"),
            (project.run, "--card", "llama-70b-1b-h100", "--json", out / "projected.json"),
        ):
            run([*short, *map(str, more)])
            printed.append(capsys.readouterr())
        assert [one.err.count(ABOUT_COPIES) for one in printed] == [draft] * 3
        assert [one.out.count(BY_ORDER) for one in printed] == [1, 2, 1]  # a plan has a table for one user and at load
        found[draft] = [read(out / name) for name in ("oracle.json", "plan.json", "projected.json")]
        assert {one.pop("draft_left_out") for one in found[draft]} == {ABOUT_COPIES if draft else ""}
    (lengths, planned, projected), (lengths_alone, planned_alone, projected_alone) = found[True], found[False]
    assert lengths == lengths_alone and projected == projected_alone
    assert kinds(planned["settings"]) == kinds(planned_alone["settings"]) == COPIES

    best = lengths["sources"].pop("best of each position")
    assert lengths["sources"].keys() == {"lookup:10", "suffix:0.3", "suffix:0.3,memory=true"}
    assert lengths["oracle"] == best and all(each["target"] >= best["target"] for each in lengths["sources"].values())
    assert lengths["oracle"]["draft"] == lengths["static"]["draft"] == 0 and lengths["samples"] == 2
    assert all(row["measured"]["prompts"] == row["audit"]["identical"] == 2 for row in planned["settings"])
    assert {one["engine"] for one in planned["elsewhere"]} == {"transformers", "vLLM"}
    assert kinds(projected["settings"]) == {"autoregressive", *COPIES} and projected["map"] is None
    assert projected["left_out"]["ssd"] == "it needs a draft, and none was recorded"
    told = [one.out for one in printed]
    assert "No draft was recorded: at each position both take the best copy." in told[0]
    assert "2 at once" in told[1] and "As a schedule" not in told[1] and "tree" not in told[1]
    assert "this pair has no classifier" in told[2] and "Best strategy by" not in told[2]


def of_starter(folder: Path) -> list[str]:
    """Arguments of the starter's target, copied, and prompts on which copying pays."""
    target = shutil.copytree(STARTER / "pair" / "target", folder / "target")
    return ["--target", str(target), "--prompts", str(STARTER / "prompts" / "edits.jsonl")]


def test_a_classifier_of_copies_is_trained_beside_its_target_and_planned_with(tmp_path, capsys):
    """Training used to need a draft, and a plan left out what a classifier judges."""
    target = of_starter(tmp_path)
    train_disco.run([*target, "--limit", "10", "--max-new-tokens", "40", "--design", "sources"])
    card = read(tmp_path / "disco" / "card.json")
    assert set(card["sweep"]) == set(card["thresholds"]) == {"copied"}
    short = [*target, "--limit", "2", "--max-new-tokens", "8"]
    with pytest.raises(BadArguments, match="perhaps of a draft for this target"):
        train_disco.run([*short, "--design", "sources"])
    plan.run([*short, "--load", "1,2", "--json", str(tmp_path / "plan.json")])
    found = read(tmp_path / "plan.json")
    judged = {"lookup:classifier=newest", "suffix:classifier=newest"}
    assert kinds(found["settings"]) >= {"lookup", "suffix", *judged} and kinds(found["at_load"]["rows"]) >= judged
    assert "hybrid:classifier=newest" not in kinds(found["settings"])
    assert all(row["measured"] for row in found["settings"] if Choice.of(row).kind in judged)
    [judging] = found["classifiers"]
    assert judging["speedups"].keys() == judged and judging["best_copy"] > 0 and 0 < judging["auc"] <= 1
    project.run([*short, "--card", "two-cores-epyc"])
    assert "suffix:" in capsys.readouterr().out.partition("Left out")[0]


def test_a_gguf_file_is_compared_as_the_folder_that_is_made_of_it_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DRAFTHOUSE_DATA", str(tmp_path / "data"))
    folder = save_with_bpe(tmp_path / "model", "llama", **LLAMA)
    file = exported(folder, tmp_path / "files" / "one.gguf")
    (tmp_path / "prompts.txt").write_text("def add(a, b)\n")
    found = []
    for target in (folder, file, file.parent):
        if target == file.parent:
            file.rename(file.with_name("two.gguf"))  # the folder made of it is used again
        options = ["--target", str(target), "--prompts", str(tmp_path / "prompts.txt"), "--max-new-tokens", "8"]
        assert compare([*options, "--strategies", "lookup", "--json", str(tmp_path / "result.json")]) == 0
        found.append(compared(tmp_path / "result.json"))
    texts = [[sample["tokens"] for row in each["strategies"] for sample in row["samples"]] for each in found]
    assert texts[0] == texts[1] == texts[2]
    assert found[1]["pair"]["target"]["gguf"].startswith("a GGUF file (F32, ")
    assert capsys.readouterr().err.count("The target was dequantised from a GGUF file (F32, ") == 2
    assert len(list((tmp_path / "data" / "models").iterdir())) == 1


def test_a_folder_of_several_gguf_files_is_refused(tmp_path, capsys):
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(b"GGUF")
    (tmp_path / "prompts.txt").write_text("a\n")
    assert compare(["--target", str(tmp_path), "--prompts", str(tmp_path / "prompts.txt")]) == 2
    assert "holds 2 GGUF files, a.gguf first" in capsys.readouterr().err
