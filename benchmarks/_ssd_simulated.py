"""Simulated figures beside the measured ones of `bench ssd`, and projections to other models, all labelled."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from benchmarks import _ssd_ceiling
from benchmarks._ssd_figures import Contestant, Run, Runs, fastest, hits
from decoding.dice import dice_for
from decoding.disco.classifier import Classifier
from decoding.disco.recording import record
from decoding.disco.rules import estimates, rounds_from_everywhere
from decoding.events import Event, Finished, Started
from decoding.measure.comparison import Comparison
from decoding.pair import Pair
from decoding.prices.cost_model import CostModel
from decoding.prices.fit import costs_from
from decoding.prices.fit_ahead import prices_from
from decoding.prices.machine_card import published
from decoding.prompts.prompt import Prompt
from decoding.spec import Choice
from decoding.ssd.accounting import mean_phases
from decoding.ssd.simulation.playing import ANYTIME, BESIDE, IN_TURN, Plan, Simulated
from decoding.ssd.simulation.recording import plan_of, track_of
from decoding.ssd.simulation.simulator import simulate
from decoding.ssd.simulation.track import Track

DEEPEST = 8  # longest draft of any contestant


def tracks(comparison: Comparison, runs: Runs) -> dict[tuple[str, int], Track]:
    """Record once what the draft would propose along every text. Needs dice that fix the texts."""
    prompts = {prompt.id: prompt for prompt in comparison.prompts}
    texts = {(run.sample.prompt, run.sample.repeat): run.sample.tokens for run in next(iter(runs.values()))}
    classifier = _classifier(comparison.pair)
    return {
        (name, repeat): _track(comparison, prompts[name], repeat, text, classifier)
        for (name, repeat), text in texts.items()
    }


def _classifier(pair: Pair) -> Classifier | None:
    return pair.classifier("ours") if pair.classifier_at("ours") else None


@torch.inference_mode()
def _track(
    comparison: Comparison,
    prompt: Prompt,
    repeat: int,
    text: Sequence[int],
    classifier: Classifier | None,
) -> Track:
    pair, sampling, tokens = comparison.pair, comparison.sampling, comparison.tokens(prompt)
    seed, room = comparison.seed(prompt, repeat), sampling.max_new_tokens
    recording = record(
        prompt.id,
        tokens,
        text,
        draft=pair.draft,
        dice=dice_for(sampling, pair.vocab, seed),
        end_tokens=pair.end_tokens,
        max_new_tokens=room,
        tail_depth=DEEPEST + 1,
    )
    said = estimates(classifier, rounds_from_everywhere(recording, DEEPEST + 1)).tolist() if classifier else ()
    return track_of(recording, said)


def simulated(pair: Pair, runs: Runs, texts: Mapping[tuple[str, int], Track]) -> dict[str, Any]:
    """Simulate the same runs from recorded texts and measured costs, then with other models' costs."""
    static = [run.events for racer, found in runs.items() if _is_alone(racer) for run in found]
    beside = [run.events for racer, found in runs.items() if racer.choice.strategy == "ssd" for run in found]
    rows = []
    for racer, found in runs.items():
        strategy = racer.choice.strategy
        if strategy in ("ssd", "ssd-disco"):
            ahead = beside if strategy == "ssd" else [run.events for run in found]
            rows.append(_beside_measured(pair, racer.choice, found, texts, prices_from(static, ahead)))
    best, alone = fastest(runs, "ssd", 2), costs_from(static)
    assert best is not None
    return {
        "label": Simulated.label,
        "beside_measured": rows,
        "ceiling": _ssd_ceiling.ceiling(
            [text.record for text in texts.values()], alone, _ssd_ceiling.beside(alone, beside), _luck(runs)
        ),
        "projected": _projected(pair, best.choice, texts),
    }


def _luck(runs: Runs) -> dict[int, float]:
    """Best hit rate of plain SSD by lookahead."""
    best: dict[int, float] = {}
    for racer, found in runs.items():
        if racer.choice.strategy == "ssd":
            lookahead = int(racer.choice.params["lookahead"])
            best[lookahead] = max(best.get(lookahead, 0.0), hits(found)["hit_rate"] or 0.0)
    return best


def _is_alone(racer: Contestant) -> bool:
    return racer.cores == 1 and racer.choice.strategy in ("autoregressive", "static")


def _beside_measured(
    pair: Pair, choice: Choice, found: Sequence[Run], texts: Mapping[tuple[str, int], Track], prices: CostModel
) -> dict[str, Any]:
    played = simulate(
        [texts[run.sample.prompt, run.sample.repeat] for run in found], _plan(pair, choice), prices, ANYTIME
    )
    measured, simulated = ([_speed(trace) for trace in traces] for traces in (_traces(found), played.traces))
    return {
        "strategy": choice.label,
        "measured": statistics.median(measured),
        "simulated": statistics.median(simulated),
        # Ratios within one text: a sample that something else held up says nothing about the simulation.
        "simulated / measured": statistics.median(s / m for s, m in zip(simulated, measured, strict=True)),
        "hit_rate": hits(found)["hit_rate"],
        "simulated_hit_rate": played.rates["hit_rate"],
        "phases_ms": _phases(_traces(found)),
        "simulated_phases_ms": _phases(played.traces),
    }


def _traces(found: Sequence[Run]) -> list[Sequence[Event]]:
    return [run.events for run in found]


def _speed(trace: Sequence[Event]) -> float:
    """Tokens per second, from the end of both prefills."""
    [started] = (event for event in trace if isinstance(event, Started))
    [finished] = (event for event in trace if isinstance(event, Finished))
    return finished.new_tokens * 1e9 / (finished.end_ns - started.prefill_ns)


def _phases(traces: Sequence[Sequence[Event]]) -> dict[str, float]:
    """Mean seconds of each phase of a round."""
    return {name: 1e3 * seconds for name, seconds in mean_phases(traces).items()}


def _plan(pair: Pair, choice: Choice) -> Plan:
    return plan_of(choice, pair.vocab, _classifier(pair))


def _projected(pair: Pair, choice: Choice, texts: Mapping[tuple[str, int], Track]) -> list[dict[str, Any]]:
    """Simulate these texts and this draft's hits at other models' costs."""
    rows = []
    for card in published().values():
        prices = replace(card.costs, opening=card.costs.draft(1))
        for placement in (IN_TURN, BESIDE, ANYTIME):
            played = simulate(texts.values(), _plan(pair, choice), prices, placement)
            rows.append(
                {
                    "models": card.name,
                    "prices": prices.source,
                    "placement": placement.name,
                    "strategy": choice.label,
                    "tokens_per_s": played.tokens_per_s,
                    "over autoregressive": played.tokens_per_s * prices.verify(1, 1),
                    "hit_rate": played.rates["hit_rate"],
                    "hidden_share": played.rates["hidden_share"],
                }
            )
    return rows
