"""SSD on one card: the draft on host cores, or on the card's second stream, each against static lookaheads.

The two have separate tables: a draft on host cores has more hardware than two streams.
"""

from __future__ import annotations

import dataclasses
import statistics
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from decoding.backends.pair import ModelPair
from decoding.choice import Choice, choose
from decoding.dice.sampling import Sampling
from decoding.errors import DrafthouseError
from decoding.measure.measurement import Measurement
from decoding.measure.sample import SampleResult
from decoding.measure.speedups import speedup
from decoding.models.fast.runner import FastModel, FastRunner
from decoding.models.fast.shape import shape_of
from decoding.models.fast.weights import weights_of
from decoding.prompts.prompt import PromptItem
from decoding.ssd.transport.draft_process import DraftProcess, divide
from decoding.trace.accounting import rates

PLACES = {"beside": "target on the card, draft on host cores", "two-streams": "both on the card, on two streams"}
LOOKAHEADS = (2, 3, 4, 5, 6)
SSD: tuple[dict[str, object], ...] = tuple({"lookahead": k, "branches": b} for k in (3, 5) for b in (4, 12))


def against_static(
    pair: ModelPair,
    prompts: Sequence[PromptItem],
    sampling: Sampling,
    minutes: float,
    told: Callable[[str], None],
    places: Collection[str] = tuple(PLACES),
) -> dict[str, Any]:
    """Rows by placement, or the reason why there are none. All get the same time; settings that do not fit into it are
    left out."""
    found = {}
    for placement in places:
        told(f"  {PLACES[placement]}")
        try:
            found[placement] = _measured(pair, prompts, sampling, placement, minutes / len(places))
        except DrafthouseError as error:
            found[placement] = {"not run": str(error)}
        for line in _lines(found[placement]):
            told(f"    {line}")
    return found


def _measured(
    pair: ModelPair, prompts: Sequence[PromptItem], sampling: Sampling, placement: str, minutes: float
) -> dict[str, Any]:
    static = [choose("static", {"lookahead": k}) for k in LOOKAHEADS]
    ssd = [choose("ssd", {**settings, "backup": "neural", "placement": placement}) for settings in SSD]
    choices = [choose("autoregressive"), *static, *ssd]
    deadline = time.perf_counter() + 60 * minutes
    comparison = Measurement(pair, prompts, choices, sampling, cancelled=lambda: time.perf_counter() > deadline)
    pair.begin(choices)
    comparison.warm_up()
    found = comparison.run()
    cut = {sample.prompt for sample in found if sample.reason == "cancelled"}
    samples = [sample for sample in found if sample.prompt not in cut]
    of = {choice.label: [s for s in samples if s.strategy == choice.label] for choice in choices}
    if not samples:
        return {"not run": f"{minutes:.1f} minutes were not enough for one prompt; give it more with --minutes."}
    best = max((choice.label for choice in static), key=lambda label: _speed(of[label]))
    rows = {choice.label: _row(pair, choice, of[choice.label], of[best]) for choice in choices}
    return {"prompts": len(samples) // len(choices), "best static": best, "rows": rows}


def _speed(samples: Sequence[SampleResult]) -> float:
    return statistics.median(sample.tokens_per_s for sample in samples)


def _row(
    pair: ModelPair, choice: Choice, samples: Sequence[SampleResult], best_static: Sequence[SampleResult]
) -> dict[str, Any]:
    gain = speedup(samples, best_static)
    assert gain is not None
    return {
        "hardware": pair.contestant(choice).hardware(choice),
        "tokens_per_s": _speed(samples),
        "over best static": dataclasses.asdict(gain),
        "audit": [sample.audit.outcome for sample in samples if sample.audit],
        **rates([sample.hits for sample in samples if sample.hits]),
    }


def _lines(found: dict[str, Any]) -> Iterator[str]:
    if "not run" in found:
        yield found["not run"]
        return
    for label, row in found["rows"].items():
        hits = "" if row["hit_rate"] is None else f"hit {row['hit_rate']:.2f}, {row['hidden_share']:.0%} hidden"
        over = row["over best static"]["median"]
        yield f"{label:44} {row['tokens_per_s']:8.1f} tokens/s  {over:5.2f} of {found['best static']}  {hits}"


@contextmanager
def draft_process(model: Any, config: dict[str, Any], context: int, dtype: str) -> Iterator[DraftProcess | None]:
    """Run an in-memory draft in a process on host cores. Yields None if no core is free."""
    cores = divide()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "draft.safetensors"
        if cores:
            save_file({name: weight.cpu().contiguous() for name, weight in model.state_dict().items()}, file)
        process = DraftProcess(partial(runner_from, file, config, context, dtype), cores) if cores else None
        try:
            yield process
        finally:
            if process:
                process.end()


def runner_from(file: Path, config: dict[str, Any], context: int, dtype: str) -> FastRunner:
    shape = shape_of(config)
    assert shape is not None
    return FastModel(shape, weights_of(shape, load_file(file)), dtype=dtype, context=context).new_runner()
