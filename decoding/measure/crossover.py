"""Crossover: what a comparison at several loads says. Standard library only; works on the rows of `summary.report`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

from decoding.load import Load
from decoding.measure.ranking import Row, ranked, ranking
from decoding.measure.sample import Sample
from decoding.measure.verdict import doubt, verdict


def load_of(row: Row) -> Load:
    return Load(rate=row["rate"], recorded=row.get("recorded", False)) if row["rate"] else Load(row["concurrency"])


def across_loads(
    rows: Sequence[Row],
    samples: Sequence[Sample],
    base: Mapping[Load, str],
    *,
    is_noisy: bool = False,
    is_over: bool = True,
) -> dict[str, Any]:
    """Verdict, doubt and ranking of each load, the crossover of each strategy, and sentence and doubt of all loads.

    `base` labels the row that speed-ups are relative to, for each load. Rows may have a `name` for people. `is_over` is
    false while more prompts are to come: then no ranking asks for more of them."""
    names = {row["label"]: row.get("name", row["label"]) for row in rows}
    found = []
    for load, baseline in base.items():
        own = [row for row in rows if load_of(row) == load]
        own_samples = [sample for sample in samples if sample.load == load]
        best = ranked(own, baseline)
        named = [{**row, "label": names[row["label"]]} for row in own]
        order = ranking(own, own_samples, baseline)
        order = order if is_over else dataclasses.replace(order, sentence="")
        found.append(
            {
                "concurrency": None if load.is_open else load.concurrency,
                "rate": load.rate or None,
                "recorded": load.recorded,
                "baseline": baseline,
                "verdict": verdict(named, names[baseline], is_over=is_over),
                "doubt": doubt(order.sentence, is_noisy=is_noisy),
                "ranking": dataclasses.asdict(order),
                "fastest": _fastest(best, baseline),
            }
        )
    crossings = list(_crossovers(rows, base))
    sentence = {"sentence": _sentence(found, names), "doubt": doubt(_open(found, crossings), is_noisy=is_noisy)}
    return {"loads": found, "crossovers": crossings, **sentence}


def _fastest(best: Sequence[Row], baseline: str) -> str | None:
    """Label of the strategy that is shown to be faster, or of the baseline if all others are slower; else None."""
    gains = [row["speedup"] for row in best]
    if not gains or gains[0]["low"] is None:
        return None
    if gains[0]["low"] > 1:
        return str(best[0]["label"])
    return baseline if all(gain["high"] is not None and gain["high"] < 1 for gain in gains) else None


def _crossovers(rows: Sequence[Row], base: Mapping[Load, str]) -> Iterator[dict[str, Any]]:
    """Find for each strategy the loads between which it stops being a gain.

    Two loads bracket the crossover: `gain_until` is the last where the interval lies above 1, `loss_from` the first
    where it lies below. `at` interpolates between the medians; None if they do not cross."""
    others = [row for row in rows if row["speedup"] and row["label"] not in base.values()]
    for kind, recorded in (("concurrency", False), ("rate", False), ("rate", True)):
        own = [row for row in others if row[kind] and load_of(row).recorded == recorded]
        for settings in dict.fromkeys(_settings(row) for row in own):
            its = [row for row in own if _settings(row) == settings]
            points = sorted((row[kind], row["speedup"]) for row in its)
            if len(points) > 1:
                yield {"strategy": settings, "name": _settings(its[0], "name"), "axis": kind, **bracket(points)}


def _settings(row: Row, name: str = "label") -> str:
    return str(row.get(name, row["label"])).removesuffix(load_of(row).suffix)


def bracket(points: Sequence[tuple[float, Row]]) -> dict[str, float | None]:
    """Say between which loads a gain ends. `points` are loads, in order, with the gain at each."""
    gains = [load for load, gain in points if gain["low"] and gain["low"] > 1]
    losses = [load for load, gain in points if gain["high"] and gain["high"] < 1]
    after = [load for load in losses if not gains or load > max(gains)]
    return {
        "gain_until": max(gains, default=None),
        "loss_from": min(after, default=None),
        "at": crossing([(load, gain["median"]) for load, gain in points]),
    }


def crossing(points: Sequence[tuple[float, float]]) -> float | None:
    """Find where the line through the medians last falls through 1."""
    for (left, high), (right, low) in reversed([*pairwise(points)]):
        if high > 1 >= low:
            return left + (right - left) * (high - 1) / (high - low)
    return None


def paying(crossover: Row) -> str:
    """Say for how many users a strategy of a plan pays, with the interval."""
    strategy, at, low, high = (crossover[name] for name in ("strategy", "at", "low", "high"))
    if crossover["is_few"]:
        falls = f" Its median falls below 1 at about {at:.1f}." if at else ""
        return f"{strategy}: the prompts are too few to say for how many users at once it pays.{falls}"
    if at is None:
        sure = crossover["gain_until"]
        return (
            f"{strategy} is shown to pay up to {sure:g} users at once; its median falls below 1 at none of these loads."
            if sure
            else f"{strategy} is shown to pay at none of these loads."
        )
    return f"{strategy} pays for up to about {at:.1f} users at once (95 % interval: {_span(low, high)})."


def _span(low: float | None, high: float | None) -> str:
    """Say between which loads a crossover lies, as far as the loads that ran can tell."""
    if low and high:
        return f"{low:.1f} to {high:.1f}"
    if low or high:
        return f"at least {low:.1f}" if low else f"at most {high:.1f}"
    return "wider than these loads"


def _sentence(found: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> str:
    """Name the fastest at each load. Loads that follow each other and have the same one are named together."""
    settled = [(load_of(row), row["fastest"]) for row in found if row["fastest"]]
    if not settled:
        return "No load has enough prompts to say which strategy is fastest there."
    named = [(load, names[label].removesuffix(load.suffix)) for load, label in settled]
    if len(named) == len(found) > 1 and len({name for _, name in named}) == 1:
        return f"Fastest at every load: {named[0][1]}."
    spans = []
    for (name, _), group in groupby(named, key=lambda one: (one[1], one[0].is_open)):
        loads = [load for load, _ in group]
        spans.append(f"{loads[0]} to {loads[-1]}: {name}" if loads[1:] else f"{loads[0]}: {name}")
    return f"Fastest by load: {'; '.join(spans)}."


def _open(found: Sequence[Mapping[str, Any]], crossings: Sequence[Row]) -> str:
    """Name the loads that are not settled, and where each strategy stops paying."""
    unsettled = ", ".join(str(load_of(row)) for row in found if not row["fastest"])
    words = [f"Not settled: {unsettled}."] if unsettled else []
    words += [
        f"{row['name']} is a gain up to {_at(row, 'gain_until')} and a loss from {_at(row, 'loss_from')} on."
        for row in crossings
        if row["gain_until"] and row["loss_from"]
    ]
    return " ".join(words)


def _at(crossing: Row, name: str) -> str:
    return str(Load(rate=crossing[name]) if crossing["axis"] == "rate" else Load(int(crossing[name])))
