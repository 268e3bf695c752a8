"""The commands that record a pair: train-disco, plan, oracle, project, papers. Small, but real from end to end. Some
run on a target alone, and on a pair whose draft matches text (SLEM): they are about copies."""

from __future__ import annotations

import csv
import json
import shutil
import signal
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from decoding.backends import without_draft
from decoding.choice import Choice
from decoding.prices.machine_card import card_called
from decoding.vocabularies.shared import ABOUT_COPIES
from tests.kit.bpe import save_with_bpe
from tests.kit.gguf_files import exported
from tests.kit.models import LLAMA, another_order_of_words, save
from tests.kit.terminal import ROOT, compared, copied, given, on_pair, read
from worker.engine.residents import Residents
from worker.messages import Cancelled, Emit, Found, JobProgress, PairOrder
from worker.terminal import files, oracle, papers, plan, project, train_disco
from worker.terminal.bench import parser_of, read_recorded
from worker.terminal.compare import compare as comparing
from worker.terminal.compare import main as compare
from worker.terminal.material import model_folder
from worker.terminal.options import BadArguments
from worker.terminal.studying import carry_out

GOLDEN = read(ROOT / "tests" / "golden" / "studies.json")  # documents as REST gives them
SPLITS = ("train", "validation", "test")
NOISE = 0.015  # makes the draft of a target that it often agrees with
SMALL = ["--threads", "1", "--max-new-tokens", "32", "--limit"]
COPIES = {"lookup", "suffix", "suffix:memory=true"}
BY_ORDER = "suffix:memory=true copies from earlier requests, so what it gains depends on their order."


@pytest.fixture
def tiny(tmp_path: Path) -> list[Any]:
    """Arguments for a small random pair that agrees on about half the tokens. The last is a file of prompts for it."""
    folder = tmp_path / "tiny"
    target, draft = folder / "target", folder / "draft"
    save(target, "llama", **{**LLAMA, "num_hidden_layers": 1, "max_position_embeddings": 256})
    shutil.copytree(target, draft)
    weights, noise = load_file(target / "model.safetensors"), torch.Generator().manual_seed(1)
    blurred = {name: weight + NOISE * torch.randn(weight.shape, generator=noise) for name, weight in weights.items()}
    save_file(blurred, draft / "model.safetensors", {"format": "pt"})
    rows = [
        {"id": f"p{n}", "text": f"w{n + 1} w{2 * n % 90 + 1} w{3 * n % 90 + 1}", "split": SPLITS[n // 20]}
        for n in range(60)
    ]
    (folder / "words.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ["--target", target, "--draft", draft, "--prompts", folder / "words.jsonl"]


def test_a_classifier_is_trained_stored_and_used(tiny, tmp_path, capsys):
    out, result = tmp_path / "classifier", tmp_path / "result.json"
    assert given(train_disco.run, *tiny, *SMALL, 16, "--out", out) == 0
    told = capsys.readouterr().out
    for words in ("best static", "disco:priced", "one decision costs"):
        assert words in told
    card = read(out / "card.json")
    assert card["prompts"] == {"training": 16, "validation": 16, "test": 16}
    (out / "card.json").write_text(json.dumps(card | {"machine": "another machine"}))
    asked = [*map(str, tiny), *SMALL, "2", "--strategies", f"disco:classifier={out},static:2", "--temperature", "1.5"]
    assert compare([*asked, "--json", str(result)]) == 0
    found = read(result)
    assert [row["audit"]["identical"] for row in found["strategies"]] == [6, 6, 6]
    [warned] = found["warnings"]
    assert "uses a classifier that was trained with temperature" in warned and "temperature 1.5" in warned
    assert "whose prices were measured on another machine; this runs on " in warned


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
    assert {*lengths, "draft_left_out"} >= {*GOLDEN["oracle"]}
    assert {*planned, "draft_left_out"} == {*GOLDEN["plan"], "noise"}
    assert planned["at_load"].keys() == GOLDEN["plan"]["at_load"].keys() and planned["at_load"]["users"] == [1, 2]
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
    assert "this pair has no classifier" in told[2]


def test_a_classifier_of_copies_is_trained_beside_its_target_and_planned_with(here, tmp_path):
    """Training used to need a draft, and a plan left out what a classifier judges."""
    judged = {"lookup:classifier=newest", "suffix:classifier=newest"}
    target = shutil.copytree(here / "target", tmp_path / "target")
    alone = [f"--target={target}", f"--prompts={here / 'prompts.jsonl'}", "--threads=1"]
    train_disco.run([*alone, "--max-new-tokens=60", "--design", "sources"])
    card = read(tmp_path / "disco" / "card.json")
    assert set(card["sweep"]) == set(card["thresholds"]) == {"copied"}
    assert set(card["predicted"]) == {"best lookup", "best suffix", *judged}
    with pytest.raises(BadArguments, match="perhaps of a draft for this target"):
        train_disco.run([*alone, "--design", "sources"])
    plan.run([*alone, "--limit=2", "--max-new-tokens=8", "--load", "1,2", "--json", str(tmp_path / "plan.json")])
    found = read(tmp_path / "plan.json")
    assert kinds(found["settings"]) >= {"lookup", "suffix", *judged} and kinds(found["at_load"]["rows"]) >= judged
    assert "hybrid:classifier=newest" not in kinds(found["settings"])
    assert all(row["measured"] for row in found["settings"] if Choice.of(row).kind in judged)


def test_a_gguf_file_is_compared_as_the_folder_that_is_made_of_it_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DRAFTHOUSE_DATA", str(tmp_path / "data"))
    file = exported(save_with_bpe(tmp_path / "model", "llama", **LLAMA), tmp_path / "files" / "one.gguf")
    (tmp_path / "prompts.txt").write_text("def add(a, b)\n")
    options = ["--target", str(file), "--prompts", str(tmp_path / "prompts.txt"), "--max-new-tokens", "8"]
    assert compare([*options, "--strategies", "lookup", "--json", str(tmp_path / "result.json")]) == 0
    assert files.kept("models")[1] == shutil.disk_usage(tmp_path).total
    assert compared(tmp_path / "result.json")["pair"]["target"]["gguf"].startswith("a GGUF file (F32, ")
    assert "The target was dequantised from a GGUF file (F32, " in capsys.readouterr().err
    [made] = (tmp_path / "data" / "models").iterdir()
    file.rename(file.with_name("two.gguf"))
    assert model_folder(file.parent) == made
    (file.parent / "a.gguf").write_bytes(b"GGUF")
    assert compare(["--target", str(file.parent), *options[2:]]) == 2
    assert "holds 2 GGUF files, a.gguf first" in capsys.readouterr().err


@dataclass(frozen=True, slots=True)
class Counting(PairOrder):
    """An order that is interrupted at its second step, and looks for that between steps if it can."""

    looks: bool = False

    def carry_out(self, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
        for done in (1, 2, 3, 4):
            if self.looks and cancelled():
                return
            emit(JobProgress("counting", done, 4))
            if done == 2:
                signal.raise_signal(signal.SIGINT)
        emit(Found({"count": 4}))


@pytest.mark.parametrize("looks", [True, False])
def test_ctrl_c_ends_a_job_after_the_step_in_hand(tiny, looks, capsys):
    bench = read_recorded(parser_of("count", "").parse_args([*map(str, tiny), "--threads", "1"]))
    torch.set_num_threads(2)
    with pytest.raises(KeyboardInterrupt):
        carry_out(Counting(bench.pair, bench.prompts, bench.sampling, looks), bench)
    assert capsys.readouterr().err == "counting: 1/4\n" and torch.get_num_threads() == 1


MATCHES = ["--draft", "draft", "--other-tokenizer", "slem"]


@pytest.mark.parametrize(
    ("run", "more", "told"),
    [
        (oracle.run, ["--out", "mine/below"], "is not a folder of yours"),
        (project.run, ["--card", "my-laptop"], "there is llama-70b-1b-h100"),
        (project.run, ["--card", "ours.json"], "batches[0].draft_ms of the machine card is missing"),
        (train_disco.run, ["--design", "sources", "--limit", "3"], "The validation split holds no prompt"),
        (train_disco.run, [], "Training a classifier of the design ours needs a draft model, and this pair has none."),
        (train_disco.run, MATCHES, "Training a classifier of the design ours needs a draft that says the target's"),
        (papers.run, MATCHES, "The study of the papers needs a draft that says the target's tokens"),
        (comparing, ["--strategies", "ssd:4"], "ssd:4 needs a draft model, and this pair has none. Without a draft,"),
        (comparing, ["--strategies", "lookup:classifier=newest"], "needs a classifier, and there is none beside this"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence_and_leaves_nothing_behind(
    here, tmp_path, monkeypatch, capsys, run, more, told
):
    monkeypatch.chdir(copied(here, tmp_path))
    bad = card_called("llama-70b-1b-h100").to_dict() | {"batches": [{"batch": 1, "target_ms": {"1": 18.3}}]}
    Path("ours.json").write_text(json.dumps(bad))
    Path("mine").write_text("mine")
    before = {*Path().rglob("*")}
    assert given(run, "--target", "target", "--prompts", "prompts.jsonl", "--max-new-tokens", "8", *more) == 2
    out, err = capsys.readouterr()
    assert told in err and out == ""
    assert {*Path().rglob("*")} == before


STARTER = ROOT / "starter"
LITTLE = ["--threads", "1", "--max-new-tokens", "24", "--limit", "4"]
QUICK = "disco-4,disco-5,ssd-fan-outs"  # needs no clock


PAIR = STARTER / "pair"
OWN = ["--prompts", STARTER / "prompts" / "code.jsonl", "--split", "test"]  # prompts for a pair of one's own


command = partial(given, papers.run)


def points(out: Path, slug: str) -> list[dict[str, str]]:
    with (out / f"{slug}.csv").open() as file:
        return [*csv.DictReader(file)]


def test_figures_are_drawn_stored_and_told_and_a_rerun_takes_finished_ones_and_texts_from_the_folder(tmp_path, capsys):
    assert command(*LITTLE, "--figures", "disco-4", "--out", tmp_path) == 0
    told = capsys.readouterr().err
    assert "recording: 4/4, about" in told and ", 1 thread, fast runner, " in told
    assert {path.name for path in tmp_path.glob("disco-4.*")} == {f"disco-4.{e}" for e in ("csv", "py")}
    computed = [float(row["y"]) for row in points(tmp_path, "disco-4") if row["origin"] == "computed"]
    assert sum(computed) == pytest.approx(1.0)

    kept = tmp_path / "evidence" / "figure-disco-4.json"
    kept.write_text(json.dumps(read(kept) | {"why": "Drawn before."}))
    (tmp_path / "evidence" / "noise.json").write_text(json.dumps(["Others were busy.", "", "Others were busy."]))
    assert command(*LITTLE, "--figures", QUICK, "--out", tmp_path) == 0
    told = capsys.readouterr()
    assert told.out.count("Others were busy.") == 1
    assert "Drawn before." in told.out and "ssd-fan-outs: Theorem 12" in told.out
    assert "recording at temperature 0:" in told.err and "recording: " not in told.err
    assert "disco-5: Figure 5" in told.out and "not drawn; it needs prompts of at least two categories" in told.out
    assert not [*tmp_path.glob("disco-5.*")]
    found = read(tmp_path / "papers.json")
    assert [figure["slug"] for figure in found["figures"]] == QUICK.split(",")


def test_evidence_of_anything_else_is_not_mixed_in(tmp_path, capsys):
    """Files count by their content: the same ones may be copied from anywhere, and others may have the old names."""
    models = shutil.copytree(PAIR, tmp_path / "pair")
    asked = [*LITTLE, "--target", models / "target", "--draft", models / "draft", *OWN, "--figures", "disco-4"]
    asked += ["--out", tmp_path / "out"]

    def is_refused(*more: object) -> bool:
        return command(*asked, *more) == 2 and "holds evidence of another pair" in capsys.readouterr().err

    assert command(*asked[:-3], "ssd-99") == 2
    assert "there is no figure 'ssd-99'" in capsys.readouterr().err
    assert command(*asked) == 0
    for more in (("--limit", 3), ("--seed", 7)):
        assert is_refused(*more), more
    for file in (next((models / "disco").glob("*.json")), models / "draft" / "model.safetensors"):
        before = file.read_bytes()
        file.write_bytes(before[:-2] + b"} ")
        assert is_refused(), file
        file.write_bytes(before)
    assert command(*asked) == 0
