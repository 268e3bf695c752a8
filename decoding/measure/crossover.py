"""Crossover: what a comparison at several loads says. Standard library only; works on the rows of `summary.report`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

from decoding.core.load import Load
from decoding.measure.ranking import Ranking, Row, listed, may_be_as_fast, pair_intervals, ranked, ranking
from decoding.measure.speedups import Race
from decoding.measure.summary import RaceResults, Stage
from decoding.measure.verdict import NO_INTERVALS, doubt, looping, verdict


def load_of(row: Row) -> Load:
    return Load(rate=row["rate"], recorded=row.get("recorded", False)) if row["rate"] else Load(row["concurrency"])


def across_loads(rows: Sequence[Row], judged: RaceResults) -> dict[str, Any]:
    """Verdict, doubt and ranking of each load and of all together, and the crossover of each strategy.

    Rows may have a `name` for people. Before the end no ranking asks for more prompts."""
    stage, names = judged.stage, {row["label"]: row.get("name", row["label"]) for row in rows}
    labels = {row["label"] for row in ranked(rows)} - {*judged.base.values()}
    pairs = {} if judged.is_withheld else pair_intervals(judged.races, labels, stage.planned)
    count = len(labels)
    found = []
    for race in judged.races:
        load, baseline = race.load, judged.base[race.load]
        own = [row for row in rows if load_of(row) == load]
        ranks = ranking(own, race, pairs, baseline, count) if baseline in race.times else Ranking()
        if judged.is_withheld:
            ranks = dataclasses.replace(ranks, more_prompts=None, sentence=NO_INTERVALS)
        elif stage.planned:
            rivals = [names[label] for label in ranks.as_fast]
            ranks = dataclasses.replace(ranks, more_prompts=None, sentence=may_be_as_fast(rivals) if rivals else "")
        named = [{**row, "label": names[row["label"]]} for row in own]
        told = " ".join(filter(None, (_left_out(race, names) if stage.is_over else "", looping(named))))
        found.append(
            {
                "concurrency": None if load.is_open else load.concurrency,
                "rate": load.rate or None,
                "recorded": load.recorded,
                "baseline": baseline,
                "verdict": verdict(named, names[baseline], stage),
                "doubt": doubt(ranks.sentence, is_noisy=judged.is_noisy, told=told),
                "ranking": dataclasses.asdict(ranks),
                "fastest": None if ranks.as_fast else _fastest(ranks, own, baseline),
            }
        )
    crossings = list(_crossovers(rows, judged.base))
    sentence, is_begun = _sentence(found, names, stage), any(row["speedup"] for row in rows)
    left = NO_INTERVALS if judged.is_withheld else _open(found, crossings) if is_begun else ""
    told = looping([{**row, "label": _settings(row, "name")} for row in rows])
    together = {
        "verdict": sentence,
        "doubt": doubt(left, is_noisy=judged.is_noisy, told=told),
        "ranking": dataclasses.asdict(Ranking()),
    }
    only = found[0] if len(found) == 1 else together
    return {"loads": found, "crossovers": crossings, "sentence": sentence, **{name: only[name] for name in together}}


def _left_out(race: Race, names: Mapping[str, str]) -> str:
    """Say on which prompts nobody is judged, and which strategies are not."""
    words = []
    if race.left_out:
        were = "prompts were" if race.left_out > 1 else "prompt was"
        words.append(f"{race.left_out} {were} not decoded by every strategy, so none is judged there.")
    words += [f"{names.get(label, label)} broke on most prompts, so it is not judged." for label in race.absent]
    return " ".join(words)


def _fastest(ranks: Ranking, rows: Sequence[Row], baseline: str) -> str | None:
    """Label of the strategy that is shown to be the fastest, or of the baseline if all others are slower; else None."""
    if ranks.leader:
        return ranks.leader
    gains = [row["speedup"] for row in ranked(rows) if row["label"] != baseline]
    return baseline if gains and all(gain["high"] is not None and gain["high"] < 1 for gain in gains) else None


def _crossovers(rows: Sequence[Row], base: Mapping[Load, str]) -> Iterator[dict[str, Any]]:
    """Find for each strategy the loads between which it stops being a gain.

    Two loads bracket the crossover: `gain_until` is the last where the interval lies above 1, `loss_from` the first
    where it lies below. `at` interpolates between the speed-ups; None if they do not cross."""
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
        "at": crossing([(load, gain["ratio"]) for load, gain in points]),
    }


def crossing(points: Sequence[tuple[float, float]]) -> float | None:
    """Find where the line through the speed-ups last falls through 1."""
    for (left, high), (right, low) in reversed([*pairwise(points)]):
        if high > 1 >= low:
            return left + (right - left) * (high - 1) / (high - low)
    return None


def paying(crossover: Row) -> str:
    """Say for how many users a strategy of a plan pays, with the interval."""
    strategy, at, low, high = (crossover[name] for name in ("strategy", "at", "low", "high"))
    if crossover["is_few"]:
        falls = f" Its speed-up falls below 1 at about {at:.1f}." if at else ""
        return f"{strategy}: the prompts are too few to say for how many users at once it pays.{falls}"
    if at is None:
        sure = crossover["gain_until"]
        return (
            f"{strategy} is shown to pay up to {sure:g} users at once; its speed-up falls below 1 at no load here."
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


def _sentence(found: Sequence[Mapping[str, Any]], names: Mapping[str, str], stage: Stage) -> str:
    """Name the fastest at each load, or those of which one is. Loads that follow each other and have the same are named
    together."""
    named = [
        (load, listed([names[label].removesuffix(load.suffix) for label in best], "or"))
        for load, best in ((load_of(row), _best_at(row)) for row in found)
        if best
    ]
    if not named:
        return "At no load is it known which strategy is fastest."
    early = "Stopped early: fastest" if stage.is_over else "So far: fastest"
    start = early if stage.planned else "Fastest"
    if len(named) == len(found) > 1 and len({name for _, name in named}) == 1:
        return f"{start} at every load: {named[0][1]}."
    spans = []
    for (name, _), group in groupby(named, key=lambda one: (one[1], one[0].is_open)):
        loads = [load for load, _ in group]
        spans.append(f"{loads[0]} to {loads[-1]}: {name}" if loads[1:] else f"{loads[0]}: {name}")
    return f"{start} by load: {'; '.join(spans)}."


def _best_at(row: Mapping[str, Any]) -> list[str]:
    """Labels of the strategies of which one is the fastest at a load; none if that is not known."""
    leader = row["fastest"] or row["ranking"]["leader"]
    return [leader, *row["ranking"]["as_fast"]] if leader else []


def _open(found: Sequence[Mapping[str, Any]], crossings: Sequence[Row]) -> str:
    """Name the loads that are not settled, and where each strategy stops paying."""
    unsettled = ", ".join(str(load_of(row)) for row in found if not _best_at(row))
    words = [f"Not settled: {unsettled}."] if unsettled else []
    words += [
        f"{row['name']} is a gain up to {_at(row, 'gain_until')} and a loss from {_at(row, 'loss_from')} on."
        for row in crossings
        if row["gain_until"] and row["loss_from"]
    ]
    return " ".join(words)


def _at(crossing: Row, name: str) -> str:
    return str(Load(rate=crossing[name]) if crossing["axis"] == "rate" else Load(int(crossing[name])))
