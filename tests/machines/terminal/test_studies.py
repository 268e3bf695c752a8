"""The commands that record the starter pair: train-disco, plan, oracle. Small, but real from end to end."""

from __future__ import annotations

import json
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from decoding.disco.classifier import load_classifier
from decoding.errors import BadStrategy
from decoding.prices.machine_card import card_called
from tests.kit.models import LLAMA, save
from tests.kit.terminal import ROOT, given, read
from worker.engine.residents import Residents
from worker.messages import Cancelled, Emit, Found, JobProgress, PairOrder
from worker.terminal import oracle, plan, project, train_disco
from worker.terminal.bench import parser_of, read_recorded
from worker.terminal.compare import main as compare
from worker.terminal.studying import carry_out

STARTER = ROOT / "starter"
GOLDEN = read(ROOT / "tests" / "golden" / "studies.json")  # documents as REST gives them
PROSE = STARTER / "prompts" / "prose.jsonl"
SPLITS = ("train", "validation", "test")
NOISE = 0.015  # makes the draft of a target that it often agrees with
SMALL = ["--threads", "1", "--max-new-tokens", "32", "--limit"]


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
    out = tmp_path / "classifier"
    assert given(train_disco.run, *tiny, *SMALL, 16, "--out", out, "--also", tiny[-1]) == 0
    told = capsys.readouterr().out
    for words in ("as published", "best static", "disco:priced", "one decision costs", "words.jsonl"):
        assert words in told
    card = read(out / "card.json")
    assert card["prompts"] == {"training": 16, "validation": 16, "test": 16}
    assert card["elsewhere"]["words.jsonl"]["prompts"] == 16

    pair, result = [*map(str, tiny)], tmp_path / "result.json"
    asked = [*pair, *SMALL, "2", "--strategies", f"disco:classifier={out},static:2"]
    assert compare([*asked, "--json", str(result)]) == 0
    found = read(result)
    assert [row["audit"]["identical"] for row in found["strategies"]] == [6, 6, 6] and found["warnings"] == []
    assert compare([*asked, "--temperature", "1.5"]) == 0
    shown, told = capsys.readouterr()
    assert "uses a classifier that was trained with temperature" in shown and "temperature 1.5" in told
    (out / "card.json").write_text(json.dumps(card | {"machine": "another machine"}))
    assert compare(asked) == 0
    assert "whose prices were measured on another machine; this runs on " in capsys.readouterr().out
    with pytest.raises(BadStrategy, match="another pair"):
        load_classifier(out, ["another", "pair"])
    assert given(train_disco.run, *tiny, *SMALL, 16, "--start", out, "--design", "paper", "--out", tmp_path / "x") == 2
    assert "start from a classifier of that design" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_plan_at_load_writes_the_document_that_rest_gives(tiny, tmp_path, capsys):
    short = (*tiny, "--threads", 1, "--max-new-tokens", 12, "--split", "test", "--limit", 2)
    assert given(plan.run, *short, "--load", "2,1", "--json", tmp_path / "plan.json") == 0
    found = read(tmp_path / "plan.json")
    golden = GOLDEN["plan"]
    assert set(found) == {*golden, "noise"}
    assert set(found["at_load"]) == set(golden["at_load"]) and set(found["hardware"]) >= set(golden["hardware"])
    assert found["at_load"]["users"] == [1, 2]
    told = capsys.readouterr().out
    assert "2 at once" in told and "a bound, not run" in told
    assert all(words in told for words in ("static:", "ssd:", "num_assistant_tokens=", "SGLang"))


def test_a_card_that_is_not_there_or_has_a_bad_price_is_refused_before_anything_is_loaded(tmp_path, capsys):
    bad = card_called("llama-70b-1b-h100").to_dict() | {"batches": [{"batch": 1, "target_ms": {"1": 18.3}}]}
    (tmp_path / "ours.json").write_text(json.dumps(bad))
    out = tmp_path / "projected.json"
    for card, told in (("my-laptop", "there is llama-70b-1b-h100"),
                       (tmp_path / "ours.json", "batches[0].draft_ms of the machine card is missing")):  # fmt: skip
        assert given(project.run, *SMALL, 2, "--card", card, "--json", out) == 2
        shown = capsys.readouterr()
        assert told in shown.err and shown.out == "" and not out.exists()


def test_the_oracle_is_counted_and_stored(tmp_path, capsys):
    assert given(oracle.run, *SMALL, 3, "--out", tmp_path / "figures") == 0
    shown = capsys.readouterr().out
    assert "Oracle lookahead over 3 samples" in shown
    data = read(tmp_path / "figures" / "oracle.json")
    assert set(data) >= set(GOLDEN["oracle"])
    assert data["oracle"]["target"] == sum(data["histogram"])
    rows = {line[:30].strip(): line[30:].split() for line in shown.splitlines()}
    for source, passes in data["sources"].items():
        assert rows[f"oracle, {source}"] == [f"{passes[name]:,}" for name in ("target", "draft", "accepted")]


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
    with pytest.raises(KeyboardInterrupt):
        carry_out(Counting(bench.pair, bench.prompts, bench.sampling, looks), bench)
    assert capsys.readouterr().err == "counting: 1/4\n"


@pytest.mark.parametrize(
    ("run", "more", "told"),
    [
        (oracle.run, ["--lookahead", "0"], "is not a whole number from 1 up"),
        (oracle.run, ["--out", "mine/below"], "is not a folder of yours"),
        (train_disco.run, [], "at least 200 are needed"),
        (train_disco.run, ["--prompts", "long.jsonl"], "which leaves no room for an answer"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence_and_leaves_nothing_behind(
    tmp_path, monkeypatch, capsys, run, more, told
):
    monkeypatch.chdir(tmp_path)
    long = "".join(json.dumps({"id": f"p{i}", "text": f"x = {i}\n" * 5_000}) + "\n" for i in range(10))
    files = {"mine": "mine", "long.jsonl": long}
    for name, text in files.items():
        Path(name).write_text(text)
    out = [] if run is plan.run else ["--out", "none"]
    assert given(run, *SMALL, 10 if "long.jsonl" in more else 1, *out, *more) == 2
    assert told in capsys.readouterr().err
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == files
