"""The starter files are complete: a pair that fits together, its ladder, and prompts whose splits share no source.
Their training can be stopped at any moment and goes on to the very same weights."""

from __future__ import annotations

import json
import signal
from itertools import combinations
from pathlib import Path

import pytest
import torch

from decoding.dice.sampling import Sampling
from decoding.prompts.prompt import read_prompts
from starter.ladder import RUNGS
from starter.loop import Plan, Stopped
from starter.models import build_model, grown, shape
from starter.prompt_sets import is_fit
from starter.tokenizer import train_tokenizer
from starter.train import Recipe, Workshop
from tests.kit.terminal import ROOT, read

STARTER = ROOT / "starter"
PAIR = STARTER / "pair"
SPLITS = ("train", "validation", "test")


def rows_of(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (STARTER / "prompts" / f"{name}.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("name", ["code", "prose", "edits", "json", "quotes"])
def test_our_own_reader_takes_prompts_that_are_there_once_in_splits_that_share_no_source(name: str) -> None:
    path, rows = STARTER / "prompts" / f"{name}.jsonl", rows_of(name)
    prompts = read_prompts(path.read_text("utf-8"), path.name)
    assert {prompt.split for prompt in prompts} == set(SPLITS)
    assert all(prompt.category for prompt in prompts)
    assert len({row["text"] for row in rows}) == len({row["id"] for row in rows}) == len(rows)
    sources = [{row["source"] for row in rows if row["split"] == split} for split in SPLITS]
    assert all(not a & b for a, b in combinations(sources, 2))


def test_pair_and_ladder_have_one_tokenizer() -> None:
    models = [PAIR / "target", PAIR / "draft", *(STARTER / "ladder" / rung.name for rung in RUNGS)]
    assert len({(model / "tokenizer.json").read_bytes() for model in models}) == 1


def test_the_defaults_are_settings_the_engine_takes() -> None:
    defaults = read(STARTER / "defaults.json")
    assert Sampling(**defaults["sampling"], max_new_tokens=defaults["max_new_tokens"]).fixes_the_text


TINY = shape(hidden=32, inner=48, layers=1, heads=1, key_heads=1)


def plan(steps: int, fall: float) -> Plan:
    return Plan(steps=steps, minutes=0, fall=fall, tokens_per_step=128, short=32, long=64)


RECIPE = Recipe(
    young=shape(hidden=64, inner=96, layers=1, heads=1, key_heads=1),
    target=shape(hidden=64, inner=96, layers=2, heads=1, key_heads=1),
    draft=TINY,
    young_plan=plan(30, fall=0.0),
    target_plan=plan(40, fall=0.5),
    reader_plan=plan(15, fall=0.0),
    draft_plan=plan(20, fall=0.5),
    vocabulary=400,
    own_tokens=1,
)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    folder.mkdir()
    body = "\n".join(f"    total_{i} = value * {i % 7} + offset" for i in range(20))
    for number in range(60):
        (folder / f"part_{number}.py").write_text(f"def part_{number}(value, offset):\n{body}\n    return value\n")
    return folder


def make(out: Path, corpus: Path, stop_at: str = "never") -> list[str]:
    """Make the tiny pair; ask it to stop when it says this, as Ctrl-C does."""
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if line.startswith(stop_at):
            signal.raise_signal(signal.SIGTERM)

    (out / "work").mkdir(exist_ok=True)
    workshop = Workshop(RECIPE, out / "work", say)
    workshop.make_corpus(corpus, out / "prompts")
    workshop.train_target(out / "target")
    workshop.write_own_texts(out / "target")
    workshop.train_draft(out / "target", out / "draft")
    return said


@pytest.mark.slow
def test_a_stopped_training_goes_on_to_the_same_weights(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    whole, out = (tmp_path_factory.mktemp(name) for name in ("whole", "stopped"))
    make(whole, corpus)
    with pytest.raises(Stopped, match="the state is saved"):
        make(out, corpus, stop_at="target: step")
    assert any("the target goes on from step" in line for line in make(out, corpus))
    for weights in ("target/model.safetensors", "draft/model.safetensors"):
        assert (out / weights).read_bytes() == (whole / weights).read_bytes()


def test_a_grown_model_says_what_the_young_one_said() -> None:
    young = build_model(TINY | {"num_hidden_layers": 3}, 50, seed=0)
    for layer in young.model.layers:
        torch.nn.init.normal_(layer.mlp.down_proj.weight, std=0.3)
    grown_up = grown(young, build_model(TINY | {"num_hidden_layers": 5}, 50, seed=1))
    text = torch.arange(20)[None]
    assert torch.allclose(young(text).logits, grown_up(text).logits, atol=1e-5)


def test_a_prompt_that_quotes_the_corpus_is_left_out() -> None:
    tokenizer = train_tokenizer(["some letters"], vocabulary=300)
    text = "a line that stands in the corpus\nanother line that stands there too\n"
    assert is_fit(text, set(), tokenizer)
    assert not is_fit(text, set(text.splitlines()), tokenizer)
