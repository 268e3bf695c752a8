"""The GPU's benchmark, run on a CPU with a tiny pair: the same code but for the capturing of graphs."""

from __future__ import annotations

import pytest
import torch

from benchmarks.gpu import PAIRS, PairShape, bars, copy_bandwidth, measure

TINY = PairShape(
    {
        "vocab_size": 211,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    },
    draft_layers=1,
    has_peer=True,
)
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def found() -> dict[str, object]:
    return measure(TINY, CPU, torch.float32, prompts=2, prompt_tokens=12, new_tokens=24)


def test_it_measures_every_strategy(found: dict[str, dict[str, dict[str, object]]]) -> None:
    strategies = found["strategies"]
    assert [label.partition(":")[0] for label in strategies] == ["autoregressive", *["static"] * 2, *["assisted"] * 2]
    assert all(row["tokens_per_s"] > 0 for row in strategies.values())  # type: ignore[operator]
    assert all(verdict == "identical" for row in strategies.values() for verdict in row["audit"])  # type: ignore[attr-defined]


def test_it_holds_each_pair_to_its_bars(found: dict[str, object]) -> None:
    bandwidth = copy_bandwidth(CPU, 2**20)
    assert [bar["at_least"] for bar in bars("1B", found, bandwidth)] == [0.75, 3.0, 3.0]


def test_the_shapes_have_the_sizes_they_are_named_for() -> None:
    billions = {}
    for name, shape in PAIRS.items():
        c = shape.config
        attention = 2 * c["hidden_size"] ** 2 * (1 + c["num_key_value_heads"] / c["num_attention_heads"])
        layer = attention + 3 * c["hidden_size"] * c["intermediate_size"]
        billions[name] = (c["num_hidden_layers"] * layer + 2 * c["vocab_size"] * c["hidden_size"]) / 1e9
    assert billions == {"1B": pytest.approx(1.5, abs=0.1), "8B": pytest.approx(8.0, abs=0.1)}
