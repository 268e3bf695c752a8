"""The GPU's benchmark, run on a CPU with a tiny pair: the same code but for the capturing of graphs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from benchmarks._pair_shapes import PAIRS
from benchmarks._placements import against_static
from benchmarks.gpu import main
from decoding.dice.sampling import Sampling
from decoding.models.fast.shape import expected_tensors, shape_of
from decoding.ssd.transport.two_lanes import Lane, Lanes
from tests.kit.pairs import pair, prompts

pytestmark = pytest.mark.slow

CPU = torch.device("cpu")


def test_two_streams_are_measured_where_there_is_a_lane_for_each() -> None:
    ready = pair()
    ready.lanes["two-streams"] = Lanes(Lane(CPU), Lane(CPU), ready.draft)
    found = against_static(ready, prompts(1), Sampling(max_new_tokens=8), 10, lambda line: None)
    assert found["two-streams"]["rows"]["ssd:3,branches=4,backup=neural,placement=two-streams"]["tokens_per_s"] > 0
    assert "two processor cores" in found["beside"]["not run"]  # this pair has no process for its draft


def test_the_shapes_have_the_sizes_they_are_named_for() -> None:
    tiny = PAIRS["tiny"]
    billions = {name: shape.bytes / 2e9 for name, shape in PAIRS.items() if shape is not tiny}
    assert billions == {
        name: pytest.approx(size, abs=0.1) for name, size in {"1B": 1.5, "8B": 8.0, "32B": 32.8}.items()
    }
    folder = expected_tensors(shape_of(tiny.config))  # type: ignore[arg-type]
    assert tiny.bytes == 2 * sum(rows * size[0] for rows, *size in folder.values() if size)


def test_a_pair_is_measured_and_held_to_its_bars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "gpu.json"
    sizes = ["--prompt-tokens", "9", "--new-tokens", "8", "--prompts", "1", "--placements", "two-streams"]
    monkeypatch.setattr("sys.argv", ["gpu", "--device", "cpu", "--pairs", "tiny", *sizes, "--json", str(file)])
    assert main() == 0
    found = json.loads(file.read_text())
    assert found["pairs"]["tiny"]["strategies"] and [bar["at_least"] for bar in found["bars"]] == [0.75, 3, 3]
    assert "CUDA" in found["pairs"]["tiny"]["ssd"]["two-streams"]["not run"]
