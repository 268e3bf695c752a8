"""Drafts of other sizes for one target: where they start, what they learn, and what the curve measures of them."""

from pathlib import Path

import pytest
import torch
from transformers import LlamaForCausalLM

from starter import curve
from starter.ladder import Ladder, Rung, begin_from, make_ladder
from starter.models import build_model, save_checkpoint, shape
from starter.tokenizer import train_tokenizer

pytestmark = pytest.mark.slow
WIDE = shape(hidden=32, inner=48, layers=2, heads=1, key_heads=1)
TEXT = torch.arange(1, 40)[None]


@pytest.fixture(scope="module")
def pair(corpus, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("pair")
    tokenizer = train_tokenizer([path.read_text() for path in sorted(corpus.iterdir())], vocabulary=300)
    for name, its_shape in (("target", {**WIDE, "hidden_size": 64}), ("draft", WIDE)):
        save_checkpoint(build_model(its_shape, tokenizer.get_vocab_size(), seed=0), tokenizer, folder / name)
    return folder


@pytest.fixture(scope="module")
def rungs(pair, corpus, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("rungs")
    narrow = shape(hidden=16, inner=32, layers=1, heads=1, key_heads=1)
    sizes = (Rung("1x16", narrow, follows=0.5, reads=0.5), Rung("1x32", {**WIDE, "num_hidden_layers": 1}, follows=0.5))
    make_ladder(Ladder(sizes, steps=4, own_tokens=1), pair, out, out / "work", corpus, lambda line: None)
    return out


def model(layers: int, seed: int) -> LlamaForCausalLM:
    """A model whose layers all matter: those of `build_model` begin as the identity."""
    made = build_model({**WIDE, "num_hidden_layers": layers}, 300, seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in made.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator) / 8)
    return made.eval()


@torch.no_grad()
def test_a_deeper_rung_begins_as_the_draft_itself():
    draft, rung = model(2, seed=1), model(4, seed=2)
    begin_from(draft, rung)
    assert torch.allclose(rung(TEXT).logits, draft(TEXT).logits, atol=1e-5)


def test_the_curve_measures_every_draft_along_the_same_text_and_draws_it(pair, rungs, tmp_path, capsys):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"text": "def part_1(value, offset):", "split": "test"}\n' * 2)
    drawn = tmp_path / "curve.py"
    places = ("--pair", str(pair), "--ladder", str(rungs), "--prompts", str(prompts), "--script", str(drawn))
    assert curve.main([*places]) == 0
    rows = [line.split("|")[1].strip() for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert sorted(rows[2:]) == ["1x16", "1x32", "pair/draft"]
    assert drawn.read_text().count("'x': ") == 1 + 3  # the axis, and a point of each draft
