"""The pair that a benchmark's options name, loaded as a command loads it."""

from __future__ import annotations

from decoding.backends.pair import ModelPair
from worker.engine.pairs import load_pair
from worker.engine.residents import Residents
from worker.messages import PairLoaded
from worker.terminal.bench import Bench
from worker.terminal.studying import make_ready


def ready_pair(bench: Bench) -> tuple[ModelPair, PairLoaded]:
    make_ready(bench, 0)  # nobody watches the memory of a benchmark
    return load_pair(bench.pair, Residents())
