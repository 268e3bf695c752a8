"""Speed-ups with their intervals: the total time of the baseline over that of a strategy, on the same prompts.

Standard library only.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from decoding.choice import Choice
from decoding.core.load import ONE, Load
from decoding.measure.intervals import NO_INTERVAL, Interval, ratio_intervals
from decoding.measure.sample import SampleResult


@dataclass(frozen=True, slots=True)
class Speedup:
    ratio: float  # of the total times of all prompts
    low: float | None  # None of the baseline itself, and if nobody can say how sure the ratio is
    high: float | None
    median: float  # over prompts
    prompts: int


Speed = Callable[[SampleResult], float]
Times = Mapping[str, float]  # seconds by prompt; in an open loop by repeat
LEAST_SHARE = 0.5  # of the prompts of the others; a strategy that broke on more is not judged


def decode_speed(sample: SampleResult) -> float:
    return sample.tokens_per_s


def end_to_end_speed(sample: SampleResult) -> float:
    return sample.end_to_end_tokens_per_s


def judged_speed(load: Load) -> Speed:
    """Speed that decides at a load: of decoding for one user, of the whole request for several."""
    return decode_speed if load == ONE else end_to_end_speed


@dataclass(frozen=True)
class Race:
    """All heats at one load: seconds of every strategy, on the prompts that all of them have decoded."""

    load: Load
    times: Mapping[str, Times]  # by label; all have the same keys
    prompts: int = 0
    left_out: int = 0  # prompts that some strategy has not decoded
    absent: tuple[str, ...] = ()  # labels that broke on most prompts

    def ratio(self, one: str, other: str) -> float:
        """Speed of one relative to another."""
        return sum(self.times[other].values()) / sum(self.times[one].values())

    def median(self, one: str, other: str) -> float:
        return statistics.median(self.times[other][unit] / seconds for unit, seconds in self.times[one].items())

    def speedup(self, one: str, other: str, interval: Interval) -> Speedup:
        low, high = interval
        return Speedup(self.ratio(one, other), low, high, self.median(one, other), self.prompts)


def race(load: Load, by_label: Mapping[str, Sequence[SampleResult]], speed: Speed | None = None) -> Race:
    """Find the prompts that all strategies have decoded, and the seconds of each.

    Seconds are those for as many tokens as the first strategy wrote. The turns of a conversation are not independent,
    so together they count as one prompt; repeats are added. In an open loop all requests share one queue, so a whole
    repeat counts as one."""
    speed = speed or judged_speed(load)
    known = {
        label: {(s.prompt, s.repeat): s for s in samples if speed(s)} for label, samples in by_label.items() if samples
    }
    most = max(map(len, known.values()), default=0)
    judged = {label: own for label, own in known.items() if len(own) >= LEAST_SHARE * most}
    if not most or not judged:
        return Race(load, {})
    keys = [key for key in next(iter(judged.values())) if all(key in own for own in judged.values())]
    every = {prompt for own in known.values() for prompt, _ in own}
    first = next(iter(judged.values()))
    unit = {key: str(key[1]) if load.is_open else first[key].unit for key in keys}
    times: dict[str, dict[str, float]] = {}
    for label, own in judged.items():
        times[label] = dict.fromkeys(unit.values(), 0.0)
        for key in keys:
            times[label][unit[key]] += first[key].count / speed(own[key])
    prompts = {first[key].unit for key in keys}
    left_out = len(every) - len({prompt for prompt, _ in keys})
    absent = tuple(label for label in known if label not in judged)
    return Race(load, times if keys else {}, len(prompts), left_out, absent)


def races(
    choices: Sequence[Choice], by_label: Mapping[str, Sequence[SampleResult]], speed: Speed | None = None
) -> list[Race]:
    """One race for each load."""
    loads = dict.fromkeys(choice.load for choice in choices)
    return [
        race(load, {choice.label: by_label[choice.label] for choice in choices if choice.load == load}, speed)
        for load in loads
    ]


def speedups(every: Sequence[Race], base: Mapping[Load, str], planned: int = 0) -> dict[str, Speedup | None]:
    """Speed-ups of all strategies by label, at all loads. Their intervals hold together. The baseline's own, 1, has
    none.

    `planned` is the number of prompts to come in all, before the end."""
    runs = [(each, base[each.load], label) for each in every for label in each.times if base[each.load] in each.times]
    columns = {label: each.times[label] for each, _, label in runs}
    found = ratio_intervals(columns, [(own, label) for _, own, label in runs if label != own], planned)
    return {label: each.speedup(label, own, found.get((own, label), NO_INTERVAL)) for each, own, label in runs}


def speedup(
    samples: Sequence[SampleResult], baseline: Sequence[SampleResult], speed: Speed | None = None
) -> Speedup | None:
    """Speed-up of a single strategy, judged alone."""
    if not samples or not baseline:
        return None
    found = race(samples[0].load, {"baseline": baseline, "own": samples}, speed)
    return speedups([found], {found.load: "baseline"}).get("own")
