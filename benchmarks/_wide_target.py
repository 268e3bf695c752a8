"""A target that writes the starter target's texts and has many more weights to read, as large models have.

Its MLPs are wider by zeros: a pass of one text is then bound by memory, which the starter target's is not."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from safetensors.torch import load_file, save_file

from decoding.backends.pair import ModelPair
from worker.engine.pairs import load_pair
from worker.engine.residents import Residents
from worker.messages import PairLoaded
from worker.terminal.bench import Bench
from worker.terminal.studying import make_ready

WEIGHTS = "model.safetensors"
DOWN = "mlp.down_proj.weight"  # its columns, and the rows of the others, are the MLP's own numbers
OTHERS = ("mlp.gate_proj.weight", "mlp.up_proj.weight")


@contextmanager
def loaded(bench: Bench, times: int) -> Iterator[tuple[ModelPair, PairLoaded]]:
    """Load the pair, with a target whose MLPs are so many times as wide. Its classifier fits: the texts are the same,
    and so are the draft's probabilities."""
    if times == 1:
        yield ready_pair(bench)
        return
    with TemporaryDirectory() as folder:
        wide = make_wide(bench.pair.target, Path(folder) / "target", times)
        pair, facts = ready_pair(dataclasses.replace(bench, pair=dataclasses.replace(bench.pair, target=wide)))
        pair.fingerprints = None
        yield pair, facts


def ready_pair(bench: Bench) -> tuple[ModelPair, PairLoaded]:
    make_ready(bench, 0)  # nobody watches the memory of a benchmark
    return load_pair(bench.pair, Residents())


def make_wide(source: Path, folder: Path, times: int) -> Path:
    """Write a copy of a checkpoint with `times` as many numbers inside each MLP."""
    shutil.copytree(source, folder)
    weights = load_file(source / WEIGHTS)
    wide = {name: _widened(name, weight, times).contiguous() for name, weight in weights.items()}
    save_file(wide, folder / WEIGHTS, {"format": "pt"})
    config = json.loads((source / "config.json").read_text())
    config["intermediate_size"] *= times
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def _widened(name: str, weight: torch.Tensor, times: int) -> torch.Tensor:
    rows, columns = weight.shape[0], weight.shape[-1]
    if name.endswith(DOWN):
        return torch.cat([weight, weight.new_zeros(rows, (times - 1) * columns)], dim=1)
    if name.endswith(OTHERS):
        return torch.cat([weight, weight.new_zeros((times - 1) * rows, columns)])
    return weight
