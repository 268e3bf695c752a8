"""The GPU's benchmark, run on a CPU with a tiny pair: the same code but for the capturing of graphs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks._gpu_bars import bars, copy_bandwidth, measure
from benchmarks._pair_shapes import PAIRS
from benchmarks._placements import against_static
from benchmarks.gpu import main
from decoding.dice.sampling import Sampling
from decoding.models.fast.names import expected_tensors
from decoding.models.fast.shape import shape_of
from decoding.ssd.transport.two_lanes import Lane, Lanes
from tests.kit.pairs import pair, prompts

pytestmark = pytest.mark.slow

TINY = PAIRS["tiny"]
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def found() -> dict[str, object]:
    return measure(TINY, CPU, torch.float32, prompts=2, prompt_tokens=12, new_tokens=24, minutes=10)


def test_it_holds_each_pair_to_its_bars(found: dict[str, object]) -> None:
    bandwidth = copy_bandwidth(CPU, 2**20)
    assert [bar["at_least"] for bar in bars("1B", found, bandwidth)] == [0.75, 3.0, 3.0]
    copied, named, *_ = bars("1B", found, bandwidth=3.0e12, datasheet_gbps=3350)
    assert named["value"] == pytest.approx(copied["value"] * 3.0 / 3.35) and not named["counts"]


def test_ssd_stands_beside_static_wherever_it_can_be(found: dict[str, dict[str, dict[str, Any]]]) -> None:
    """The draft in a process on host cores; two streams need a card, and without one that is said instead."""
    beside, streams = (found["ssd"][placement] for placement in ("beside", "two-streams"))
    assert "CUDA" in streams["not run"]
    if "not run" in beside:
        assert "two processor cores" in beside["not run"]
        return
    assert beside["prompts"] == 2 and beside["best static"].startswith("static:")
    ssd = [row for label, row in beside["rows"].items() if label.startswith("ssd")]
    assert len(ssd) == 4 and all(row["hit_rate"] is not None and "draft on" in row["hardware"] for row in ssd)
    assert all(verdict == "identical" for row in beside["rows"].values() for verdict in row["audit"])


def test_two_streams_are_measured_where_there_is_a_lane_for_each() -> None:
    ready = pair()
    ready.lanes["two-streams"] = Lanes(Lane(CPU), Lane(CPU), ready.draft)
    lines: list[str] = []
    found = against_static(ready, prompts(1), Sampling(max_new_tokens=8), 10, lines.append)
    assert found["two-streams"]["rows"]["ssd:3,branches=4,backup=neural,placement=two-streams"]["tokens_per_s"] > 0
    assert "two processor cores" in found["beside"]["not run"]  # this pair has no process for its draft
    assert sum("tokens/s" in line for line in lines) == 10


@pytest.mark.parametrize("wrong", [["--pairs", "3B"], ["--device", "cuda:99"], ["--minutes", "0"]])
def test_what_cannot_be_run_is_refused_before_anything_is(
    wrong: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["gpu", *wrong])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    words = capsys.readouterr().err
    assert any(each in words for each in ("no pair called", "was asked for", "above 0"))


def test_the_shapes_have_the_sizes_they_are_named_for() -> None:
    billions = {name: shape.bytes / 2e9 for name, shape in PAIRS.items() if name != "tiny"}
    assert billions == {
        "1B": pytest.approx(1.5, abs=0.1),
        "8B": pytest.approx(8.0, abs=0.1),
        "32B": pytest.approx(32.8, abs=0.1),
    }
    folder = expected_tensors(shape_of(TINY.config))  # type: ignore[arg-type]
    assert TINY.bytes == 2 * sum(rows * size[0] for rows, *size in folder.values() if size)


def test_several_pairs_run_one_by_one_and_come_into_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "gpu.json"
    sizes = ["--prompt-tokens", "9", "--new-tokens", "8", "--prompts", "1", "--placements", "two-streams"]
    monkeypatch.setattr("sys.argv", ["gpu", "--device", "cpu", "--pairs", "tiny,starter", *sizes, "--json", str(file)])
    assert main() == 0
    found = json.loads(file.read_text())
    assert list(found["pairs"]) == ["tiny", "starter"] and found["states"] == {"tiny": "done", "starter": "done"}
    assert found["pairs"]["tiny"]["strategies"] and len(found["bars"]) == 3
    assert "CUDA" in found["pairs"]["starter"]["ssd"]["two-streams"]["not run"]
