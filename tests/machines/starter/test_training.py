"""A training can be stopped at any moment and goes on to the very same weights; prompts quote nothing that it reads."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from starter.models import build_model, grown, shape
from starter.prompt_sets import is_fit
from starter.tokenizer import train_tokenizer
from tests.machines.starter.tiny import make

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
TINY = shape(hidden=32, inner=48, layers=1, heads=1, key_heads=1)


@pytest.fixture
def corpus(tmp_path) -> Path:
    folder = tmp_path / "sources"
    folder.mkdir()
    body = "\n".join(f"    total_{i} = value * {i % 7} + offset" for i in range(20))
    for number in range(60):
        (folder / f"part_{number}.py").write_text(f"def part_{number}(value, offset):\n{body}\n    return value\n")
    return folder


def make_alone(out: Path, corpus: Path) -> None:
    """Make the tiny pair with one thread, as the command does."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        make(out, out / "work", corpus)
    finally:
        torch.set_num_threads(before)


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def test_a_stopped_training_goes_on_to_the_same_weights(corpus, tmp_path_factory, capsys):
    whole, out = (tmp_path_factory.mktemp(name) for name in ("whole", "stopped"))
    make_alone(whole, corpus)
    command = [sys.executable, "-m", "tests.machines.starter.tiny", str(out), str(out / "work"), str(corpus)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as training:
        next(line for line in training.stdout if line.startswith("target: step"))
        training.send_signal(signal.SIGTERM)
        assert "the state is saved. The same command goes on from here." in training.stdout.read()
    assert training.returncode == 130
    make_alone(out, corpus)
    assert "the target goes on from step" in capsys.readouterr().out
    for name in ("target", "draft"):
        assert weights(out / name) == weights(whole / name)


def test_a_grown_model_says_what_the_young_one_said():
    young = build_model(TINY | {"num_hidden_layers": 3}, 50, seed=0)
    for layer in young.model.layers:
        torch.nn.init.normal_(layer.mlp.down_proj.weight, std=0.3)
    grown_up = grown(young, build_model(TINY | {"num_hidden_layers": 5}, 50, seed=1))
    text = torch.arange(20)[None]
    assert torch.allclose(young(text).logits, grown_up(text).logits, atol=1e-5)


def test_a_prompt_that_quotes_the_corpus_is_left_out():
    tokenizer = train_tokenizer(["some letters"], vocabulary=300)
    text = "a line that stands in the corpus\nanother line that stands there too\n"
    assert is_fit(text, set(), tokenizer)
    assert not is_fit(text, set(text.splitlines()), tokenizer)
