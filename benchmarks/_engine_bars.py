"""The engine's bars, measured for `bench engine`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import pickle
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import transformers

from benchmarks.engine import STARTER
from decoding.backends.contestants.base import Request
from decoding.backends.contestants.transformers import Transformers
from decoding.backends.pair import ModelPair
from decoding.choice import Choice, choose
from decoding.core.ending import Ending
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.measure.measurement import Measurement, SinkFor
from decoding.measure.schedule import SampleKey
from decoding.measure.summary import repeated_8grams
from decoding.models.checkpoints import load
from decoding.models.devices import set_threads, wait_for
from decoding.prompts.prompt import PromptItem, read_prompts
from decoding.trace.events import EventSink, NullSink, Recorder
from worker.jobs.comparison.tracing import Tracing

LOOKAHEADS = (2, 3, 4, 5, 6)
ROWS = 8
ROW_REPEATS = 60

Contestant = Callable[[PromptItem, int], float]  # tokens per second on one prompt


@dataclass(frozen=True)
class Bar:
    what: str
    figure: float
    bar: float
    at_most: bool = False

    @property
    def reached(self) -> bool:
        return self.figure <= self.bar if self.at_most else self.figure >= self.bar


def silence(key: SampleKey) -> EventSink:
    return NullSink()


def ours(comparison: Measurement, choice: Choice, sink_for: SinkFor = silence) -> Contestant:
    def decode(prompt: PromptItem, repeat: int) -> float:
        key = SampleKey(choice, prompt, repeat)
        events = sink_for(key)
        start = time.perf_counter()
        decoded = comparison.decode(key, events)
        spent = time.perf_counter() - start
        return len(decoded.tokens) / spent

    return decode


def theirs(comparison: Measurement, library: Transformers, lookahead: int | None) -> Contestant:
    """`generate`, alone or assisted with exactly so many drafted tokens."""
    choice = choose("assisted", {"lookahead": lookahead, "threshold": 0.0}) if lookahead else choose("autoregressive")

    def decode(prompt: PromptItem, repeat: int) -> float:
        start = time.perf_counter()
        ending = Ending(comparison.pair.end_tokens)
        request = Request(choice, comparison.tokens(prompt), comparison.sampling, repeat, ending)
        [(_, decoded)] = library.run([request], lambda _: NullSink(), never)
        return len(decoded.tokens) / (time.perf_counter() - start)

    return decode


def race(contestants: dict[str, Contestant], prompts: Sequence[PromptItem], repeats: int) -> dict[str, list[float]]:
    """Tokens per second of each contestant, one entry per prompt and repeat, in the same order for all."""
    names = list(contestants)
    speeds: dict[str, list[float]] = {name: [] for name in names}
    for name in names:
        contestants[name](prompts[0], 0)  # warm-up, not counted
    for repeat in range(repeats):
        for number, prompt in enumerate(prompts):
            turn = (number + repeat) % len(names)
            for name in (*names[turn:], *names[:turn]):
                speeds[name].append(contestants[name](prompt, repeat))
            print(f"\r{repeat * len(prompts) + number + 1}/{repeats * len(prompts)} prompts", end="", flush=True)
    print()
    return speeds


def ratio(above: Sequence[float], below: Sequence[float]) -> float:
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


def faster(*runs: Sequence[float]) -> Sequence[float]:
    return max(runs, key=statistics.median)


def row_ratio(pair: ModelPair, text: list[int]) -> float:
    """Time of an eight-row verification relative to one row, alternating."""
    runner = pair.target
    runner.extend(text)

    def seconds(rows: int) -> float:
        runner.rewind(len(text))
        wait_for(runner.device)
        start = time.perf_counter()
        runner.extend(text[:rows], rows)
        wait_for(runner.device)
        return time.perf_counter() - start

    pairs = [(seconds(ROWS), seconds(1)) for _ in range(ROW_REPEATS)]
    return statistics.median(eight / one for eight, one in pairs[5:])


def repetition(comparison: Measurement, prompts: Sequence[PromptItem]) -> float:
    """How repetitive the measured texts were."""
    shares = []
    for prompt in prompts:
        decoded = comparison.decode(SampleKey(choose("autoregressive"), prompt, 0), Recorder())
        shares.append(repeated_8grams(decoded.tokens))
    return statistics.mean(shares)


def measure(
    pair: ModelPair, prompts: Sequence[PromptItem], sampling: Sampling, repeats: int, tracing: Tracing
) -> dict[str, Any]:
    comparison = Measurement(pair, prompts, [choose("autoregressive")], sampling)
    peers = {dtype: Transformers(dataclasses.replace(pair, dtype=dtype)) for dtype in (torch.float32, torch.bfloat16)}
    middle = choose("static", {"lookahead": 4})
    contestants: dict[str, Contestant] = {"autoregressive": ours(comparison, choose("autoregressive"))}
    contestants |= {f"static:{k}": ours(comparison, choose("static", {"lookahead": k})) for k in LOOKAHEADS}
    contestants["static:4 traced"] = ours(comparison, middle, tracing.sink_for)
    for dtype, peer in peers.items():
        name = str(dtype).removeprefix("torch.")
        contestants[f"generate {name}"] = theirs(comparison, peer, None)
        contestants[f"assisted:4 {name}"] = theirs(comparison, peer, 4)
    speeds = race(contestants, prompts, repeats)
    best = max((f"static:{k}" for k in LOOKAHEADS), key=lambda name: statistics.median(speeds[name]))
    bars = [
        Bar(
            "autoregressive / transformers generate",
            ratio(speeds["autoregressive"], faster(speeds["generate float32"], speeds["generate bfloat16"])),
            2.0,
        ),
        Bar(
            "static:4 / transformers assisted:4",
            ratio(speeds["static:4"], faster(speeds["assisted:4 float32"], speeds["assisted:4 bfloat16"])),
            2.5,
        ),
        Bar(f"best static ({best}) / autoregressive", ratio(speeds[best], speeds["autoregressive"]), 1.6),
        Bar("verify of 8 rows / one row", row_ratio(pair, comparison.tokens(prompts[0])), 1.2, at_most=True),
        Bar("tracing on / off", ratio(speeds["static:4"], speeds["static:4 traced"]), 1.02, at_most=True),
    ]
    return {
        "sampling": sampling.to_dict(),
        "prompts": len(prompts),
        "repeats": repeats,
        "repeated_8grams": repetition(comparison, prompts),
        "tokens_per_s": {name: statistics.median(values) for name, values in speeds.items()},
        "bars": [{**dataclasses.asdict(bar), "reached": bar.reached} for bar in bars],
    }


def show(result: dict[str, Any], title: str) -> None:
    print(f"\n{title}: {result['prompts']} prompts x {result['repeats']}")
    print(f"  repeated 8-grams {result['repeated_8grams']:.2f}")
    for name, speed in result["tokens_per_s"].items():
        print(f"  {name:24} {speed:8.1f} tokens/s")
    for bar in result["bars"]:
        sign = "<=" if bar["at_most"] else ">="
        print(f"  {bar['what']:42} {bar['figure']:6.2f}   {sign} {bar['bar']:<5} {'yes' if bar['reached'] else 'NO'}")


def measure_all(given: argparse.Namespace) -> None:
    transformers.utils.logging.set_verbosity_error()
    set_threads(given.threads)
    target, draft = load(given.target), load(given.draft)
    facts = target.runner.facts
    pair = ModelPair(
        target=target.runner,
        draft=draft.runner,
        tokenizer=target.tokenizer,
        end_tokens=frozenset(),  # all texts have equal length
        dtype=torch.float32,
        target_folder=given.target,
        draft_folder=given.draft,
    )
    prompts = [p for p in read_prompts(given.prompts.read_text(), given.prompts.name) if p.split in ("test", "")]
    defaults = json.loads((STARTER / "defaults.json").read_text())["sampling"]
    settings = {
        "default sampling": Sampling(max_new_tokens=given.max_new_tokens, **defaults),
        "greedy": Sampling(max_new_tokens=given.max_new_tokens),
    }
    results = {}
    for title, sampling in settings.items():
        with Tracing(pickle.dumps, pair.tokenizer.decode) as tracing:  # as in a worker: a thread takes events away
            results[title] = measure(pair, prompts[: given.limit], sampling, given.repeats, tracing)
        show(results[title], title)
    if given.json:
        document = {"hardware": dataclasses.asdict(facts), "torch": torch.__version__, "results": results}
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(document, indent=2) + "\n")
