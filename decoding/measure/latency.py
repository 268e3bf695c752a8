"""Latency and throughput of requests under load. Standard library only."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from decoding.errors import BadLoad
from decoding.measure.percentiles import percentiles
from decoding.measure.sample import SampleResult, gap_in_bin


@dataclass(frozen=True, slots=True)
class Objective:
    """Promise to a user. Goodput counts only the requests that keep it."""

    ttft_ms: float = math.inf  # to the first token
    tpot_ms: float = math.inf  # for each token after it

    def is_kept(self, sample: SampleResult) -> bool:
        return ttft_ms(sample) <= self.ttft_ms and tpot_ms(sample) <= self.tpot_ms

    def to_dict(self) -> dict[str, float]:
        found = {"ttft_ms": self.ttft_ms, "tpot_ms": self.tpot_ms}
        return {name: value for name, value in found.items() if math.isfinite(value)}

    def __str__(self) -> str:
        """Spelling that `parse_objective` reads."""
        found = ((name.removesuffix("_ms"), Decimal(repr(value))) for name, value in self.to_dict().items())
        return ",".join(f"{name}={value.normalize():f}ms" for name, value in found)


NO_OBJECTIVE = Objective()
SURE = 1.96  # standard errors that a normal figure exceeds in 5 of 100 cases
_PROMISE = re.compile(r"\s*(ttft|tpot)\s*=\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s)\s*")


def parse_objective(text: str) -> Objective:
    """Read `ttft=500ms,tpot=50ms`."""
    found: dict[str, float] = {}
    for piece in text.split(","):
        match = _PROMISE.fullmatch(piece)
        if not match or float(match[2]) == 0:
            raise BadLoad(f"{piece[:40]!r} is not an objective; write ttft=500ms,tpot=50ms, or one of the two.")
        found[f"{match[1]}_ms"] = float(match[2]) * (1000 if match[3] == "s" else 1)
    return Objective(**found)


def ttft_ms(sample: SampleResult) -> float:
    return sample.timing.first_ns / 1e6


def e2e_ms(sample: SampleResult) -> float:
    return sample.request_ns / 1e6


def tpot_ms(sample: SampleResult) -> float:
    """Mean time per token after the first burst, 0 if there was no other."""
    later = sample.count - 1
    return max(0.0, e2e_ms(sample) - ttft_ms(sample)) / later if later > 0 else 0.0


def _gaps(samples: Iterable[SampleResult]) -> Counter[float]:
    """Gaps of all requests in ms, counted in bins."""
    counts: Counter[float] = Counter()
    for sample in samples:
        for number, count in sample.timing.gaps:
            counts[gap_in_bin(number) / 1e6] += count
    return counts


def figures(samples: Sequence[SampleResult], objective: Objective, devices: float = 1.0) -> dict[str, Any]:
    """A row's figures under load, as in the JSON document. All samples have the same load. `devices` are the row's, in
    multiples of the fewest at that load."""
    if not samples:
        return {}
    device, is_open = throughput(samples) / devices, samples[0].load.is_open
    prompts = 0 if is_open else len({sample.unit for sample in samples})
    kept = [sample for sample in samples if objective.is_kept(sample)]
    kept_tokens = sum(sample.count for sample in kept) / max(1, sum(sample.count for sample in samples))
    low, high = _wilson(len(kept) / len(samples), prompts if objective.to_dict() else 0)
    return {
        "ttft_ms": percentiles(Counter(map(ttft_ms, samples)), prompts),
        "tpot_ms": percentiles(Counter(map(tpot_ms, samples)), prompts),
        "gap_ms": percentiles(_gaps(samples), prompts),
        "e2e_ms": percentiles(Counter(map(e2e_ms, samples)), prompts),
        "queued_ms": percentiles(Counter(s.timing.queued_ns / 1e6 for s in samples), prompts),
        "tokens_per_s_user": statistics.median(s.end_to_end_tokens_per_s for s in samples),
        "tokens_per_s_device": device,
        "goodput": {
            "share": len(kept) / len(samples),
            "low": low,
            "high": high,
            "tokens_per_s_device": kept_tokens * device,
            **objective.to_dict(),
        },
        "arrived_per_s": _arrived(samples) if is_open else None,
        "served_per_s": _served(samples) if is_open else None,
    }


def _wilson(share: float, prompts: int) -> tuple[float, float] | tuple[None, None]:
    """95 % interval of a share of independent requests."""
    if not prompts:
        return None, None
    spread = SURE * SURE / prompts
    middle, reach = share + spread / 2, math.sqrt(spread * (share * (1 - share) + spread / 4))
    return (middle - reach) / (1 + spread), (middle + reach) / (1 + spread)


def throughput(samples: Sequence[SampleResult]) -> float:
    """Tokens per second of all requests together.

    In a closed loop a fixed number of requests is always under way, so it is that number times the tokens per second of
    one (Little's law). In an open loop it is the rate at which requests were answered times their mean length."""
    load = samples[0].load
    tokens = sum(sample.count for sample in samples)
    if load.is_open:
        return _served(samples) * tokens / len(samples)
    seconds = sum(map(e2e_ms, samples)) / 1e3
    return load.concurrency * tokens / seconds if seconds else 0.0


def _served(samples: Sequence[SampleResult]) -> float:
    """Requests answered per second, from the first arrival to the last answer; the median over repeats. The time of the
    quickest answer is left out: the last request needs at least that after its arrival."""
    return statistics.median(map(_served_in, _by_repeat(samples)))


def _arrived(samples: Sequence[SampleResult]) -> float:
    """Requests that arrived per second; the median over repeats. A few random arrivals can be far from their rate."""
    times = [[sample.timing.arrived_ns for sample in own] for own in _by_repeat(samples)]
    spans = [(len(own) - 1, (max(own) - min(own)) / 1e9) for own in times]
    return statistics.median(count / span if span else 0.0 for count, span in spans)


def _by_repeat(samples: Sequence[SampleResult]) -> list[list[SampleResult]]:
    found: dict[int, list[SampleResult]] = {}
    for sample in samples:
        found.setdefault(sample.repeat, []).append(sample)
    return list(found.values())


def _served_in(samples: Sequence[SampleResult]) -> float:
    first = min(sample.timing.arrived_ns for sample in samples) / 1e6
    last = max(sample.timing.arrived_ns / 1e6 + e2e_ms(sample) for sample in samples)
    span = last - first - min(map(e2e_ms, samples))
    return (len(samples) - 1) * 1e3 / span if span > 0 else 0.0


def overloaded(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say for which rows requests arrived faster than they could be answered."""
    return [
        f"{row['label']}: requests arrived at {_short(row['arrived_per_s'])}/s and {_short(row['served_per_s'])}/s "
        "were answered, so the queue grew, and waiting times depend on how long the run was. Ask for a lower rate."
        for row in rows
        if row.get("served_per_s") and row["served_per_s"] < 0.9 * row["arrived_per_s"]
    ]


def _short(rate: float) -> str:
    return f"{rate:.2g}" if rate < 100 else f"{rate:,.0f}"
