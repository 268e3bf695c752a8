"""A training can be stopped at any moment and goes on to the very same weights; what does not fit is refused."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from decoding.errors import BadCheckpoint
from starter.loop import Plan, Progress, Training, Windows
from starter.models import build_model, grown, shape
from tests.machines.starter.tiny import make

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
TINY = shape(hidden=32, inner=48, layers=1, heads=1, key_heads=1)


def tiny(*folders: Path) -> list[str]:
    return [sys.executable, "-m", "tests.machines.starter.tiny", *map(str, folders)]


@pytest.fixture(scope="module")
def uninterrupted(corpus, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("uninterrupted")
    subprocess.run(tiny(out, out / "work", corpus), cwd=ROOT, check=True)
    return out


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def test_from_nothing_to_a_pair_that_learned_something(uninterrupted):
    target = AutoModelForCausalLM.from_pretrained(uninterrupted / "target")
    tokenizer = AutoTokenizer.from_pretrained(uninterrupted / "draft")
    assert target.config.vocab_size == len(tokenizer)
    losses = torch.load(uninterrupted / "work" / "target.pt", weights_only=True)["progress"]["losses"]
    assert losses[-1][1] < 0.7 * np.log(len(tokenizer))
    [row] = json.loads((uninterrupted / "work" / "sources.json").read_text())
    assert row["licence"] == "not known: a folder of one's own" and row["files"] > 50


def stop(command: list[str], number: signal.Signals) -> None:
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as training:
        next(line for line in training.stdout if line.startswith("target: step"))
        training.send_signal(number)
        assert "the state is saved. The same command goes on from here." in training.stdout.read()
    assert training.returncode == 130


def test_a_stopped_training_goes_on_to_the_same_weights(uninterrupted, corpus, tmp_path):
    command = tiny(tmp_path, tmp_path / "work", corpus)
    stop(command, signal.SIGTERM)
    second = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert "the target goes on from step" in second.stdout
    for name in ("target", "draft"):
        assert weights(tmp_path / name) == weights(uninterrupted / name)


def test_a_finished_part_is_not_made_again(uninterrupted, corpus, capsys):
    before = weights(uninterrupted / "target")
    make(uninterrupted, uninterrupted / "work", corpus)
    assert capsys.readouterr().out.splitlines() == [
        "the young goes on from step 30",
        "the target goes on from step 40",
        "the reader goes on from step 15",
        "the draft goes on from step 20",
    ]
    assert weights(uninterrupted / "target") == before


def training(folder: Path, vocabulary: int = 50, **plan: float) -> Training:
    return Training(
        build_model(TINY, vocabulary, seed=0), Plan(**{"steps": 10, "minutes": 0, "fall": 0.3} | plan), folder / "it.pt"
    )


def test_a_state_that_does_not_fit_is_refused(tmp_path):
    training(tmp_path, vocabulary=50).save()
    with pytest.raises(BadCheckpoint, match=r"a tokenizer of 50 tokens, but the one beside it has 60"):
        training(tmp_path, vocabulary=60).resume()
    other = shape(hidden=32, inner=64, layers=1, heads=1, key_heads=1)
    with pytest.raises(BadCheckpoint, match="a model of another shape"):
        Training(build_model(other, 50, seed=0), Plan(steps=1, minutes=0, fall=0.0), tmp_path / "it.pt").resume()
    (tmp_path / "it.pt").write_bytes(b"half a file")
    with pytest.raises(BadCheckpoint, match="cannot be read"):
        training(tmp_path).resume()


def test_without_steps_the_fall_begins_when_the_minutes_have_come_that_far(tmp_path):
    it = training(tmp_path, steps=None, minutes=1)
    it.progress = Progress(step=700, seconds=41.9)
    it.plan_the_fall()
    assert it.progress.fall_from is None
    it.progress.seconds = 42.0
    it.plan_the_fall()
    assert (it.progress.fall_from, it.progress.last_step) == (700, 1000)
    young = training(tmp_path, steps=None, minutes=1, fall=0.0)
    young.progress = Progress(step=700, seconds=60.0)
    young.plan_the_fall()
    assert young.is_done


def test_the_rate_warms_up_stays_and_falls_to_nothing(tmp_path):
    it = training(tmp_path, steps=1000)
    it.plan_the_fall()

    def rate_at(step: int) -> float:
        it.progress.step = step
        return it.rate()

    assert rate_at(0) == 0.01
    assert rate_at(100) == rate_at(700) == 1.0
    assert rate_at(850) == pytest.approx(0.5)
    assert rate_at(999) == pytest.approx(1 / 300)


@pytest.mark.parametrize("layers", [3, 5])
def test_a_grown_model_says_what_the_young_one_said(layers):
    young = build_model(TINY | {"num_hidden_layers": 3}, 50, seed=0)
    for layer in young.model.layers:
        torch.nn.init.normal_(layer.mlp.down_proj.weight, std=0.3)
    grown_up = grown(young, build_model(TINY | {"num_hidden_layers": layers}, 50, seed=1))
    text = torch.arange(20)[None]
    assert len(grown_up.model.layers) == layers
    assert torch.allclose(young(text).logits, grown_up(text).logits, atol=1e-5)


def test_an_epoch_shows_every_window_once_and_the_next_in_another_order():
    windows = Windows(np.arange(81, dtype=np.uint16), seed=3)
    first, second = ([windows.batch(step, 2, 10)[:, 0].tolist() for step in steps] for steps in (range(4), range(4, 8)))
    assert sorted(chain(*first)) == sorted(chain(*second)) == list(range(0, 80, 10))
    assert first != second
    on = replace(windows, first=3)  # goes on with another's work where that one stopped
    assert torch.equal(on.batch(0, 2, 10), windows.batch(3, 2, 10))
