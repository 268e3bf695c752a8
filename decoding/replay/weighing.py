"""Weighing: a run times a few passes before its first sample, so that rules that stop by price use prices of this very
machine. It happens once, and every sample uses the same prices, so drafts do not depend on the clock."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from decoding.backends.pair import ModelPair
from decoding.core.loop import OnProgress, unheard
from decoding.disco.prices import COPIED, PRICED, Prices, prices_at
from decoding.errors import DrafthouseError
from decoding.measure.measurement import Measurement
from decoding.measure.schedule import SampleKey
from decoding.prices.cost_model import CostModel
from decoding.prices.fit import costs_from
from decoding.prompts.prompt import first_turns
from decoding.replay.planning import AUTOREGRESSIVE
from decoding.replay.probing import drafted, every_length, of_lengths, typical
from decoding.trace.events import Event, Recorder

TOKENS = 96  # of each sample
LENGTHS = (7, 1, 7, 3, 7, 5, 2, 11)  # of drafts. Seven often: what a row costs lies between 1 row and 8
UNDRAFTED_TOKENS = 48  # and of those without a draft
LEAST_TURNS, MOST_TURNS, ENOUGH_S = 4, 12, 1.2  # no further turn begins after so many seconds

Turn = list[Sequence[Event]]


def settle_prices(
    comparison: Measurement,
    known: Mapping[str, Any],
    on_trouble: Callable[[str], None] = lambda sentence: None,
    on_progress: OnProgress = unheard,
) -> dict[str, Any]:
    """Let the classifiers of this comparison use its own prices where they lie far from their cards'. Return all prices
    by the classifier's name, to be stored. `known` are those that the same comparison stored before it was
    interrupted. `on_trouble` gets the reason if nothing can be weighed: a prompt may break the model. `on_progress`
    gets the turns that are weighed, and due."""
    pair = comparison.pair
    names = {choice.classifier or "" for choice in comparison.choices if choice.price_rule}
    if not isinstance(pair, ModelPair):
        return {}
    rules = [PRICED, COPIED] if pair.draft else [COPIED]
    found = {name: Prices.from_dict(known[name]) for name in names if name in known}
    if missing := sorted(names - found.keys()):
        try:
            costs = _weighed(comparison, on_progress)
        except DrafthouseError as error:
            why = "This run did not weigh its own passes, so the prices of the classifiers' cards stay in use."
            on_trouble(f"{why} {error}")
            costs = None
        cards = {name: pair.classifier(name, comparison.sampling).card for name in missing}
        weighed_anew = {name: prices_at(cards[name], *costs, rules) for name in missing} if costs else {}
        found |= {name: prices for name, prices in weighed_anew.items() if prices}
    for name, prices in found.items():
        pair.hold(name, dataclasses.replace(pair.classifier(name), prices=prices))
    return {name: prices.to_dict() for name, prices in found.items()}


def _weighed(comparison: Measurement, on_progress: OnProgress) -> tuple[CostModel, list[CostModel]] | None:
    """Costs by all passes, and by those of each turn; None if no prompt leaves room for so many tokens, or if the run
    was cancelled."""
    sampling = dataclasses.replace(comparison.sampling, max_new_tokens=TOKENS, ignore_eos=True, stop=())
    probe = Measurement(comparison.pair, comparison.prompts, [AUTOREGRESSIVE], sampling, cancelled=comparison.cancelled)
    room = min(runner.context for runner in (probe.models.target, probe.models.draft) if runner) - TOKENS
    readable = [prompt for prompt in first_turns(comparison.prompts) if not probe.refusal(prompt)]
    able = [prompt for prompt in readable if len(probe.tokens(prompt)) <= room]
    if not able:
        return None
    probe.prompts = typical([dataclasses.replace(prompt, max_tokens=None) for prompt in able])
    if probe.is_on_gpu:
        _turn(probe, 0)  # the first passes capture the forms that later ones replay
    turns, began = list[Turn](), time.perf_counter()
    while len(turns) < LEAST_TURNS or (len(turns) < MOST_TURNS and time.perf_counter() - began < ENOUGH_S):
        on_progress(len(turns), max(LEAST_TURNS, len(turns) + 1))
        turns.append(_turn(probe, len(turns)))
        if probe.cancelled():
            return None  # the turn may have ended in the middle
    return costs_from([trace for turn in turns for trace in turn]), [costs_from(turn) for turn in turns]


def _turn(probe: Measurement, number: int) -> Turn:
    """Decode a sample with drafts of every length and one without."""
    prompt, undrafted = probe.prompts[number % len(probe.prompts)], Recorder()
    source = of_lengths(probe, every_length(number, LENGTHS))
    probe.decode(
        SampleKey(AUTOREGRESSIVE, prompt, 0),
        undrafted,
        dataclasses.replace(probe.sampling, max_new_tokens=UNDRAFTED_TOKENS),
    )
    return [drafted(probe, prompt, source), undrafted.events]
