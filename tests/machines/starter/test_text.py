"""Each measure of a pair means what its name says."""

import pytest
import torch

from decoding.drafting.records import Record
from starter.measure import best_static, passes_per_token, said_by
from starter.models import build_model, shape
from starter.text import sampler, write


@pytest.fixture(scope="module")
def model():
    made = build_model(shape(hidden=32, inner=48, layers=2, heads=1, key_heads=1), 50, seed=1)
    for layer in made.model.layers:
        torch.nn.init.normal_(layer.mlp.down_proj.weight, std=0.3)
        torch.nn.init.normal_(layer.self_attn.o_proj.weight, std=0.3)
    return made.eval()


def test_texts_written_side_by_side_are_those_written_alone(model):
    prompts = [[3, 4, 5], [6, 7, 8, 9, 10, 11], [12]]
    together = write(model, prompts, 8, sampler(0.0, seed=0))
    assert together == [write(model, [prompt], 8, sampler(0.0, seed=0))[0] for prompt in prompts]


def test_a_draft_that_is_the_target_agrees_everywhere(model):
    choose = sampler(0.8, 5, penalty=1.3)
    prompts = [[3, 4, 5], [6, 7, 8, 9, 10, 11]]
    texts = write(model, prompts, 128, choose)
    said = torch.tensor(said_by(model, prompts, texts, choose))
    assert (said == torch.tensor(texts)).float().mean() > 0.97  # one pass and many round differently in bf16


def test_passes_per_token_replay_a_static_lookahead():
    record = Record.of([True, True, False, True, True, True])
    assert passes_per_token([record], lookahead=2) == round(2 / 6, 4)
    assert passes_per_token([Record.of([False, False])], lookahead=3) == 1.0


def test_the_best_static_lookahead_is_priced_with_the_costs():
    row = {"passes_per_token": {1: 0.6, 2: 0.5, 3: 0.49}}
    cost = {"target_ms": [1.0, 1.0, 1.0, 1.1], "draft_ms": 0.1}
    assert best_static(row, cost) == (2, round(1 / (0.5 * 1.2), 2))
