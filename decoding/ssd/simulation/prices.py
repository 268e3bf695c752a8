"""Prices of the steps of SSD, measured on traces of live runs. Those of other machines come from machine cards
(`decoding.projecting`). Standard library only."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from decoding.events import Anticipated, Event
from decoding.replay.costs import Costs, costs_from
from decoding.ssd.accounting import Round, rounds


@dataclass(frozen=True)
class Prices:
    """Seconds, and where they come from. Each is a mean, because a run is the sum of its rounds: a median would miss
    what happens now and then, such as making noise for a block of positions at once."""

    source: str
    passes: Costs
    branch_step: tuple[float, ...]  # entry n: one step of n branches; entry 0 is not used
    opening: float  # before the first step: the winner's cache, the row after its last token, the forks
    opening_read: float = 0.0  # the same if that row had been read before
    taking: float = 0.0  # taking a draft that is ready: from the target's verdict to the draft in its hands
    answer: float = 0.0  # any other answer without the model: from the verdict read to the draft sent
    transport: float = 0.0  # one message, one way
    turning: float = 0.0  # from a draft sent to the beginning of the preparation beside it
    start: float = 0.0  # what the first round of a text takes on top: it finds cold caches

    def step(self, branches: int) -> float:
        """A step of so many branches. Beyond the measured numbers it follows the slope of the last ones."""
        last = len(self.branch_step) - 1
        if branches <= last:
            return self.branch_step[branches]
        slope = max(0.0, (self.branch_step[last] - self.branch_step[last // 2]) / (last - last // 2)) if last > 1 else 0
        return self.branch_step[last] + (branches - last) * slope

    def drafting(self, tokens: int) -> float:
        """Drafting so many tokens one after another, while the target waits."""
        return tokens * self.passes.draft + self.passes.draft_round if tokens else 0.0


def prices_from(static: Iterable[Sequence[Event]], ssd: Iterable[Sequence[Event]]) -> Prices:
    """Measure prices on samples of static lookaheads and of SSD."""
    return prices_beside(costs_from(static), ssd)


def prices_beside(alone: Costs, ssd: Iterable[Sequence[Event]]) -> Prices:
    """Measure prices on samples of SSD as it is to be simulated: two models at once may each run slower than alone.
    `alone` gives the price of a verification by its rows. The answers include their messages."""
    seen = _Seen()
    for trace in ssd:
        seen.read(trace)
    judged = [(each.verifying_s, alone.verify(len(each.draft.tokens) + 1)) for each in seen.rounds if each.draft]
    slower = sum(seconds for seconds, _ in judged) / sum(usual for _, usual in judged)
    drafts = [(each.draft, each.working_s) for each in seen.rounds if each.draft]
    # A hit that went on alone is left out: it had some of its tokens already.
    by_model = [(draft.passes, seconds) for draft, seconds in drafts if draft.passes and draft.source != "hit"]
    per_token, per_draft = _line(by_model)
    opening = _mean(seen.opened[False])
    taking = _mean([each.asking_s for each in seen.rounds if each.was_ready])
    others = [each for each in seen.rounds if not each.was_ready]
    found = Prices(
        source="measured here",
        passes=dataclasses.replace(
            alone,
            target=tuple(slower * seconds for seconds in alone.target),
            draft=per_token,
            draft_round=per_draft,
            # The last round's preparation is not in the trace, so in turn its time would look like settling.
            round=_mean([each.settling_s for each in seen.rounds if each.beside or not each.draft]),
        ),
        branch_step=seen.steps(),
        opening=opening,
        opening_read=_mean(seen.opened[True]) or opening,
        taking=taking,
        answer=_mean([each.working_s for each in others if each.draft and not each.draft.passes]) or taking,
        turning=_mean(seen.turnings),
    )
    return dataclasses.replace(found, start=_mean([_more(first, found) for first in seen.firsts]))


class _Seen:
    """Observations of all rounds except each text's first one, which finds cold caches."""

    def __init__(self) -> None:
        self.firsts: list[Round] = []
        self.rounds: list[Round] = []
        self.prepared: list[Anticipated] = []
        self.opened: dict[bool, list[float]] = {False: [], True: []}  # by whether the draft had been read
        self.turnings: list[float] = []

    def read(self, trace: Sequence[Event]) -> None:
        first, *later = rounds(trace)
        self.firsts.append(first)
        self.rounds += later
        for each in later:
            if each.draft and each.beside:
                self.prepared.append(each.beside)
                self.opened[each.is_read].append(each.beside.opening_ns * 1e-9)
                self.turnings.append(each.turning_s)

    def steps(self) -> tuple[float, ...]:
        """Seconds of a step by its branches: all time by all steps. A draft that looks for the verdict makes as many
        steps as there is time for, so times by numbers of steps lie on no line."""
        spent: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for event in self.prepared:
            if event.passes > 1:
                both = spent[sum(event.fanout)]
                both[0] += (event.busy_ns - event.opening_ns) * 1e-9
                both[1] += event.passes - 1
        return _between({branches: seconds / steps for branches, (seconds, steps) in spent.items()})


def _more(first: Round, prices: Prices) -> float:
    """Seconds that a first round took beyond the usual."""
    drafted = len(first.draft.tokens) if first.draft else 0
    usual = prices.drafting(drafted) + prices.passes.verify(drafted + 1)
    return sum(first.phases().values()) - first.preparing_s - usual


def _mean(seconds: Sequence[float]) -> float:
    return statistics.fmean(seconds) if seconds else 0.0


def _line(points: Sequence[tuple[int, float]]) -> tuple[float, float]:
    """Fit seconds per pass, and per draft on top. If no line fits, all time is shared out by passes."""
    if not points:
        return 0.0, 0.0
    if len({passes for passes, _ in points}) > 1:
        slope, besides = statistics.linear_regression(*zip(*points, strict=True))
        if slope > 0 and besides > 0:
            return slope, besides
    return sum(seconds for _, seconds in points) / sum(passes for passes, _ in points), 0.0


def _between(known: dict[int, float]) -> tuple[float, ...]:
    """Interpolate between the numbers of branches that were measured. Fewer branches cost as much as the fewest."""
    if not known:
        return (0.0, 0.0)
    counts = sorted(known)
    found = [known[counts[0]]] * (counts[0] + 1)
    for low, high in itertools.pairwise(counts):
        rise = (known[high] - known[low]) / (high - low)
        found += [known[low] + rise * (n - low) for n in range(low + 1, high + 1)]
    return tuple(found)
