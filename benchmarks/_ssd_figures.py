"""Figures of `bench ssd`: bars, three ways to count cores, and hits."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks._engine_bars import Bar
from decoding.choice import Choice, choose
from decoding.measure.sample import SampleResult
from decoding.measure.speedups import speedup
from decoding.measure.summary import so_few
from decoding.strategies.ssd import AUTO
from decoding.trace import accounting as counting
from decoding.trace.events import Drafted, Event


@dataclass(frozen=True)
class Contestant:
    choice: Choice
    cores: int

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def name(self) -> str:
        return f"{self.choice.label}, {self.cores} core{'s' if self.cores > 1 else ''}"


@dataclass(frozen=True)
class Run:
    sample: SampleResult
    events: Sequence[Event]


Runs = dict[Contestant, list[Run]]


def finalists(tried: Runs) -> list[Contestant]:
    """Autoregressive, and the fastest contestant of each kind."""
    alone = [racer for racer in tried if racer.choice.strategy == "autoregressive"]
    kinds = (("static", 1), ("static", 2), ("ssd", 2), ("ssd-disco", 2))
    return alone + [racer for strategy, cores in kinds if (racer := fastest(tried, strategy, cores))]


def sweep(tried: Runs) -> dict[str, Any]:
    return {
        "tokens_per_s": {racer.name: _speed(found) for racer, found in tried.items()},
        "hits": {racer.name: hits(found) for racer, found in tried.items() if racer.choice.strategy.startswith("ssd")},
    }


def measured(runs: Runs, tried: Runs) -> dict[str, Any]:
    """Bars and tables of the finalists, without those that did not run. Hit rates at equal branches come from the
    sweep, if both kinds of SSD have several."""
    one = fastest(runs, "static", 1)
    both = fastest(runs, "static", 2)
    ssd, disco = fastest(runs, "ssd", 2), fastest(runs, "ssd-disco", 2)
    return {
        **sweep(runs),
        "accountings": [_accounting(runs, racer, one, both) for racer in (ssd, disco) if racer and one and both],
        "bars": _told([*_bars(runs, one, both, ssd, disco), *_hits_at_equal_shape(tried)]),
    }


def bars_of_defaults(runs: Runs, *, is_greedy: bool) -> list[dict[str, Any]]:
    """Bars of `ssd` and `disco` as they are by default, against the settings that turned out to be the best."""
    static, hindsight, disco = fastest(runs, "static", 1), fastest(runs, "ssd", 2), fastest(runs, "disco", 1)
    default = next(racer for racer in runs if racer.choice == choose("ssd"))
    assert static and hindsight
    where, name = "greedy" if is_greedy else "default sampling", static.choice.label
    bars = [
        Bar(f"{where}: ssd / {hindsight.choice.label}, its best in hindsight", _median(runs, default, hindsight), 0.97),
        Bar(f"{where}: ssd / {name}, the best static", _median(runs, default, static), 1.10 if is_greedy else 1.05),
    ]
    if disco:
        least = 1.00 if is_greedy else 1.03
        bars.append(Bar(f"{where}: disco / {name}, the best static", _median(runs, disco, static), least))
    return _told(bars)


def bars_of_luck(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Compare shared with ratio dice at temperature 1, with Saguaro's constant at 1."""
    rates = {r["dice"]: r["hit_rate"] for r in rows if r["temperature"] == 1.0 and r["constant"] == 1.0}
    if not rates.get("shared") or not rates.get("ratio"):
        return []
    return _told([Bar("hit rate at temperature 1, shared dice / ratio dice", rates["shared"] / rates["ratio"], 1.5)])


def _told(bars: Sequence[Bar]) -> list[dict[str, Any]]:
    return [{**dataclasses.asdict(bar), "reached": bar.reached} for bar in bars]


def fastest(runs: Runs, strategy: str, cores: int) -> Contestant | None:
    racers = [r for r in runs if r.choice.strategy == strategy and r.cores == cores]
    return max(racers, key=lambda racer: _speed(runs[racer]), default=None)


def _speed(found: Sequence[Run]) -> float:
    return statistics.median(run.sample.tokens_per_s for run in found)


def _gain(runs: Runs, above: Contestant, below: Contestant) -> dict[str, Any]:
    found = speedup([run.sample for run in runs[above]], [run.sample for run in runs[below]])
    assert found is not None
    return dataclasses.asdict(found)


def _accounting(runs: Runs, racer: Contestant, one: Contestant, both: Contestant) -> dict[str, Any]:
    idle, equal = _gain(runs, racer, one), _gain(runs, racer, both)
    return {
        "strategy": racer.name,
        "one core, the other idle": {"static": one.name, **idle},
        "both cores": {"static": both.name, **equal},
        "tokens_per_s_per_core": {each.name: _speed(runs[each]) / each.cores for each in (racer, one, both)},
    }


def _bars(
    runs: Runs, one: Contestant | None, both: Contestant | None, ssd: Contestant | None, disco: Contestant | None
) -> list[Bar]:
    bars = []
    if ssd and one:
        name = ssd.choice.label
        bars.append(Bar(f"{name} / best static on one core ({one.choice.label})", _median(runs, ssd, one), 1.3))
        bars.append(Bar(f"hit rate of {name}", hits(runs[ssd])["hit_rate"], 0.80))
        answered = hit_answer(runs[ssd])
        if answered is not None:
            bars.append(Bar("a hit, from request to answer, ms", answered, 0.1, at_most=True))
    if ssd and disco:
        bars.append(Bar(f"{disco.choice.label} / {ssd.choice.label}", _median(runs, disco, ssd), 1.05))
    if disco and both:
        what = f"{disco.choice.label} / best static on both cores ({both.choice.label})"
        bars.append(Bar(what, _median(runs, disco, both), 1.0))
    return bars


def _median(runs: Runs, above: Contestant, below: Contestant) -> float:
    return float(_gain(runs, above, below)["median"])


def _hits_at_equal_shape(tried: Runs) -> list[Bar]:
    """Compare the best hit rates at equal numbers of branches and equal longest drafts. Shorter drafts have fewer
    outcomes, which would make the comparison unfair."""
    best: dict[str, dict[tuple[int, int], float]] = {"ssd": {}, "ssd-disco": {}}
    for racer, found in tried.items():
        if racer.choice.strategy in best and racer.choice.params["branches"] != AUTO:
            params, of_its_kind = racer.choice.params, best[racer.choice.strategy]
            shape = int(params.get("lookahead", params.get("cap", 0))), int(params["branches"])
            of_its_kind[shape] = max(of_its_kind.get(shape, 0.0), hits(found)["hit_rate"] or 0.0)
    ours, plain = best["ssd-disco"], best["ssd"]
    return [
        Bar(
            f"hit rate of ssd-disco less that of ssd, {branches} branches of up to {depth}",
            ours[depth, branches] - plain[depth, branches],
            0.1,
        )
        for depth, branches in sorted(ours.keys() & plain.keys())
    ]


def hits(found: Sequence[Run]) -> dict[str, Any]:
    return {
        **counting.rates([run.sample.hits for run in found if run.sample.hits]),
        "hit_answer_ms": hit_answer(found),
    }


def hit_answer(found: Sequence[Run]) -> float | None:
    """Median ms from the request for a draft to its arrival, over hits that needed no more drafting; includes the wait
    for the step under way. None without such hits."""
    drafts = [event for run in found for event in run.events if isinstance(event, Drafted)]
    times = [(d.end_ns - d.start_ns) * 1e-6 for d in drafts if d.source == "hit" and not d.passes]
    return statistics.median(times) if times else None


# Output -------------------------------------------------------------------------------------------------------------


def show(result: Mapping[str, Any], told: Callable[[str], None]) -> None:
    told(f"  settings were chosen on {result['chosen on']} x {result['repeats']}")
    show_table(result["sweep"], told)
    told(f"  and the fastest measured on {result['measured on']} x {result['repeats']}")
    show_table(result, told)
    for row in result["accountings"]:
        told(f"  {row['strategy']}")
        for way in ("one core, the other idle", "both cores"):
            told(f"    / {row[way]['static']:30} {_doubted(row[way])}   static on {way}")
        per_core = "   ".join(f"{name} {speed:.0f}" for name, speed in row["tokens_per_s_per_core"].items())
        told(f"    tokens/s and core: {per_core}")
    show_bars(result["bars"], told)


def show_table(found: Mapping[str, Any], told: Callable[[str], None]) -> None:
    for name, speed in found["tokens_per_s"].items():
        told(f"  {name:64} {speed:8.1f} tokens/s")
    show_hits([{"strategy": name, **row} for name, row in found["hits"].items()], told)


def show_bars(bars: Sequence[Mapping[str, Any]], told: Callable[[str], None]) -> None:
    for bar in bars:
        sign = "<=" if bar["at_most"] else ">="
        told(f"  {bar['what']:78} {bar['figure']:6.2f}   {sign} {bar['bar']:<5} {'yes' if bar['reached'] else 'NO'}")


def show_hits(rows: Sequence[Mapping[str, Any]], told: Callable[[str], None]) -> None:
    for row in rows:
        name = row.get("strategy") or f"temperature {row['temperature']}, {row['dice']} dice, C = {row['constant']}"
        if row["hit_rate"] is None:
            told(f"  {name:64} no hits and no misses")
            continue
        answered = "" if row["hit_answer_ms"] is None else f"answered in {row['hit_answer_ms']:.3f} ms, "
        told(
            f"  {name:64} hit {row['hit_rate']:.3f} (expected {row['predicted_hit_rate']:.3f}) with "
            f"{row['prepared_branches'] or 0:.1f} branches, {answered}"
            f"{row['hidden_share']:.0%} of drafting hidden"
        )


def _doubted(gain: Mapping[str, Any]) -> str:
    if gain["low"] is None:
        return f"{gain['median']:.2f} ({so_few(gain['prompts'])})"
    return f"{gain['median']:.2f} ({gain['low']:.2f} to {gain['high']:.2f})"
