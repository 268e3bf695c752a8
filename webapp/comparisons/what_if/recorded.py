"""What the traces of a comparison tell of its pair, place by place: would the draft have said there what the target
says, how sure was it, and what did passes cost. No model runs.

Strategies that write the same text meet the same draft in every place of it, so what one of them drafted is known for
all. Where none of them drafted, nothing is known; a replay is then made twice, once for each possibility.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.core.cache import cache

from decoding.costs import Costs, costs_from
from decoding.events import Event, Verified, from_dict
from decoding.replay import Policy, Record
from webapp.comparisons import trace
from webapp.comparisons.models import Comparison, Sample

DRAFTED_BY_THE_PAIR = ("static", "heuristic", "threshold", "disco", "oracle")
PRICED = ("autoregressive", "static", "heuristic", "threshold")  # nothing but the pair's passes is in their times
MOST_SAMPLES = 200  # read for one answer; of more, prompts evenly spread over all
KEPT_SECONDS = 3600


@dataclass
class Places:
    """One prompt's text, and what was seen of the draft along it."""

    room: int  # the most tokens the text might have had
    has_ended: bool  # its last token is an end token
    said: list[bool | None]  # at each token: did the draft say the same; None where none was asked
    confidence: list[float]  # its own probability of what it said
    tails: dict[int, Sequence[float]] = field(default_factory=dict)  # how sure it was after a token that was refused
    ends: set[int] = field(default_factory=set)  # refused tokens after which it came to an end of its own

    @classmethod
    def of(cls, length: int, room: int, has_ended: bool) -> Places:
        return cls(room, has_ended, [None] * length, [1.0] * length)

    @property
    def draftable(self) -> list[bool | None]:
        """The last token of a full text is the target's: there is no room for a draft and it."""
        return self.said[: self.room - 1]

    def learn(self, events: Iterable[Mapping[str, Any]]) -> None:
        start, draft = 0, None
        for event in events:
            if event["event"] == "drafted":
                draft = event
            elif event["event"] == "verified":
                if draft is not None:
                    self._learn(start, draft["confidence"], event["accepted"], draft["stop"] == "eos")
                start, draft = start + event["accepted"] + 1, None

    def _learn(self, start: int, confidence: Sequence[float], accepted: int, ended: bool) -> None:
        for at, value in zip(range(start, len(self.said)), confidence[: accepted + 1], strict=False):
            self.said[at], self.confidence[at] = at < start + accepted, value
        tail, miss = confidence[accepted + 1 :], start + accepted
        if accepted < len(confidence) and len(tail) >= len(self.tails.get(miss, ())):
            self.tails[miss] = tail
            if ended:
                self.ends.add(miss)

    def record(self, hopes: bool) -> Record:
        """`hopes`: whether a token that nobody drafted would have been accepted."""
        matches = [hopes if said is None else said for said in self.said]
        tails = {miss: len(self.tails[miss]) for miss in self.ends}
        return Record.of(matches, self.room, tails, self.has_ended)


@dataclass
class UntilUnsure(Policy):
    """Drafts until a token that the draft held less likely than the threshold. Past what was drafted it is taken to
    stop at once, or never: whichever is wanted."""

    places: Places
    record: Record
    threshold: float
    cap: int
    hopes: bool

    def length(self, start: int) -> int:
        miss = start + self.record.runs[start]
        seen = [*self.places.confidence[start : miss + 1], *self.places.tails.get(miss, ())][: self.cap]
        for drafted, confidence in enumerate(seen, 1):
            if confidence < self.threshold:
                return drafted
        return max(1, len(seen)) if self.hopes else self.cap


@dataclass(frozen=True)
class Recorded:
    prompts: list[Places]
    prompt_count: int  # how many there are in all
    costs: Costs
    widest: int  # rows of the widest verification whose price was measured

    @cached_property
    def if_refused(self) -> list[tuple[Places, Record]]:
        return [(places, places.record(hopes=False)) for places in self.prompts]

    @cached_property
    def if_accepted(self) -> list[tuple[Places, Record]]:
        return [(places, places.record(hopes=True)) for places in self.prompts]

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
    for pk, events in trace.whole(alike):
        strategy, prompt = alike[pk].run.strategy, alike[pk].prompt_id
        if strategy in DRAFTED_BY_THE_PAIR and prompt in prompts:
            prompts[prompt].learn(events)
        if strategy in PRICED:
            priced.append([from_dict(event) for event in events])
    seen = [places for places in prompts.values() if any(said is not None for said in places.said)]
    if not seen or not (costs := _costs(priced)):
        return None
    return Recorded(seen, len(texts), costs, len(costs.target) - 1)


def _places(text: Mapping[str, Any], room: int) -> Places:
    length = len(text["tokens"])
    return Places.of(length, length if text["reason"] == "context" else max(room, length), text["reason"] == "eos")


def _costs(priced: Sequence[Sequence[Event]]) -> Costs | None:
    """None where there are no two rounds of a sample to read prices off."""
    if not any(sum(isinstance(event, Verified) for event in events) > 1 for events in priced):
        return None
    costs = costs_from(priced)
    return costs if costs.draft > 0 else None
