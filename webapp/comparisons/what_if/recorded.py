"""What the traces of a comparison tell of its pair, place by place: would the draft have said there what the target
says, how sure was it, and what did passes cost. No model runs.

Strategies that write the same text meet the same draft in every place of it, so what one of them drafted is known for
all. Where none of them drafted, nothing is known; a replay is then made twice, once for each possibility.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.core.cache import cache

from decoding.public import Costs, Event, Record, Verified, costs_from, drafting_is_clear, from_dict
from webapp.comparisons import trace
from webapp.comparisons.models import Comparison, Sample
from webapp.comparisons.report import devices_in
from webapp.comparisons.what_if.ahead import Ahead, Stood, stood, surer, told
from webapp.comparisons.what_if.places import Places

DRAFTED_BY_THE_PAIR = ("static", "heuristic", "threshold", "disco", "oracle", "ssd")
PRICED = ("autoregressive", "static", "heuristic", "threshold")  # nothing but the pair's passes is in their times
MOST_SAMPLES = 200  # read for one answer; of more, prompts evenly spread over all
KEPT_SECONDS = 3600


@dataclass(frozen=True)
class Recorded:
    prompts: list[Places]
    prompt_count: int  # how many there are in all
    costs: Costs
    widest: int  # rows of the widest verification whose price was measured
    ahead: Ahead | None = None  # None where no SSD ran that could say what it costs
    is_clear: bool = True  # longer drafts took longer, so that their price is more than a share of noise

    @cached_property
    def if_refused(self) -> list[tuple[Places, Record]]:
        return [(places, places.record(hopes=False)) for places in self.prompts]

    @cached_property
    def if_accepted(self) -> list[tuple[Places, Record]]:
        return [(places, places.record(hopes=True)) for places in self.prompts]

    def alone(self, tokens: int) -> float:
        """Seconds that autoregressive takes for so many tokens, at the same prices."""
        return tokens * (self.costs.verify(1) + self.costs.round + self.costs.token)

    @property
    def known(self) -> float:
        """The share of places where some strategy drafted."""
        places = [said for prompt in self.prompts for said in prompt.draftable]
        return sum(said is not None for said in places) / len(places)


def version(comparison: Comparison) -> str:
    """Changes when there is more to read."""
    count = Sample.objects.filter(run__comparison=comparison).finished().count()
    return f"{comparison.pk}:{comparison.job.attempt}:{comparison.job.state}:{count}"


def recorded(comparison: Comparison) -> Recorded | None:
    """None where nothing can be replayed yet. Reading traces is most of the work, so it is kept for other questions."""
    return cache.get_or_set(f"recorded:{version(comparison)}", lambda: _read(comparison), KEPT_SECONDS)


def _read(comparison: Comparison) -> Recorded | None:
    rows = Sample.objects.filter(run__comparison=comparison, repeat=1).finished().select_related("run")
    texts = {
        row.prompt_id: row.numbers for row in rows.filter(run__strategy="autoregressive").order_by("prompt__number")
    }
    few = list(texts)[:: max(1, -(-len(texts) * comparison.runs.count() // MOST_SAMPLES))]
    read = rows.filter(prompt_id__in=few, run__strategy__in={*DRAFTED_BY_THE_PAIR, *PRICED})
    alike = {row.pk: row for row in read if row.numbers["tokens"] == texts[row.prompt_id]["tokens"]}
    room = comparison.sampling["max_new_tokens"]
    prompts = {prompt: _places(texts[prompt], room) for prompt in few if texts[prompt]["tokens"]}
    priced: list[list[Event]] = []
    ahead: list[list[Event]] = []
    where: dict[int, Mapping[int, Stood]] = {}
    for pk, events in trace.whole(alike):
        strategy, prompt = alike[pk].run.strategy, alike[pk].prompt_id
        if strategy in DRAFTED_BY_THE_PAIR and prompt in prompts:
            prompts[prompt].learn(events)
        if strategy in PRICED:
            priced.append([from_dict(event) for event in events])
        if strategy == "ssd":
            ahead.append([from_dict(event) for event in events])
            where[prompt] = surer(where.get(prompt, {}), stood(ahead[-1]))
    seen = {prompt: places for prompt, places in prompts.items() if any(said is not None for said in places.said)}
    if not seen or not (costs := _costs(priced)):
        return None
    found = Recorded([*seen.values()], len(texts), costs, len(costs.target) - 1, is_clear=drafting_is_clear(priced))
    told_of = [(texts[prompt]["tokens"], places, where.get(prompt, {})) for prompt, places in seen.items()]
    return replace(found, ahead=told(told_of, priced, ahead, found.alone, is_beside=_is_beside(comparison)))


def _is_beside(comparison: Comparison) -> bool:
    """Whether the draft of SSD had a place of its own here."""
    stated = comparison.hardware.get("by_strategy", {})
    return any(devices_in(stated.get(run.label, "")) > 1 for run in comparison.runs.all() if run.strategy == "ssd")


def _places(text: Mapping[str, Any], room: int) -> Places:
    length = len(text["tokens"])
    return Places.of(length, length if text["reason"] == "context" else max(room, length), text["reason"] == "eos")


def _costs(priced: Sequence[Sequence[Event]]) -> Costs | None:
    """None where there are no two rounds of a sample to read prices off."""
    if not any(sum(isinstance(event, Verified) for event in events) > 1 for events in priced):
        return None
    costs = costs_from(priced)
    return costs if costs.draft > 0 else None
