"""What the steps of SSD cost: measured on traces of live runs, or taken from what others published. Standard library
only."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from decoding.costs import Costs, costs_from
from decoding.events import Anticipated, Drafted, Event, Verified


@dataclass(frozen=True)
class Prices:
    """Seconds, and where they come from."""

    source: str
    passes: Costs
    branch_step: tuple[float, ...]  # entry n: one step of n branches; entry 0 is not used
    opening: float  # before the first step: the winner's cache, the row after its last token, the forks
    answer: float = 0.0  # a hit, from the verdict read to the draft sent
    transport: float = 0.0  # one message, one way

    def step(self, branches: int) -> float:
        """More branches than were measured cost what the last of them suggest."""
        last = len(self.branch_step) - 1
        if branches <= last:
            return self.branch_step[branches]
        slope = max(0.0, (self.branch_step[last] - self.branch_step[last // 2]) / (last - last // 2)) if last > 1 else 0
        return self.branch_step[last] + (branches - last) * slope

    def drafting(self, tokens: int) -> float:
        """One token after another, while the target waits."""
        return tokens * self.passes.draft + self.passes.draft_round if tokens else 0.0


def prices_from(static: Iterable[Sequence[Event]], ssd: Sequence[Sequence[Event]]) -> Prices:
    """From samples of static lookaheads, and of SSD where it is to be simulated: two models that run at once may each
    run slower than alone, so what can be read off SSD itself is."""
    alone, seen = costs_from(static), _Seen()
    for trace in ssd:
        seen.read(trace)
    slower = statistics.median(s / alone.verify(rows) for rows, times in seen.verified.items() for s in times)
    opening, steps = _steps(seen.prepared)
    drafted = statistics.median(seen.per_token) if seen.per_token else alone.draft
    return Prices(
        source="measured here",
        passes=dataclasses.replace(
            alone,
            target=tuple(slower * seconds for seconds in alone.target),
            draft=drafted,
            draft_round=0.0,
            round=statistics.median(seen.rest),
        ),
        branch_step=steps,
        opening=opening,
        answer=statistics.median(seen.answers) if seen.answers else 0.0,
    )


class _Seen:
    """Seconds by what was done in them. A text's first round is left out: it finds cold caches."""

    def __init__(self) -> None:
        self.verified: dict[int, list[float]] = defaultdict(list)  # by rows
        self.prepared: dict[int, list[tuple[int, float]]] = defaultdict(list)  # by branches: steps, busy
        self.per_token: list[float] = []
        self.answers: list[float] = []  # to a draft that stood still: all messages are in them
        self.rest: list[float] = []

    def read(self, trace: Sequence[Event]) -> None:
        drafts = {event.round: event for event in trace if isinstance(event, Drafted)}
        prepared = {event.round: event for event in trace if isinstance(event, Anticipated)}
        for verdict in trace:
            if isinstance(verdict, Verified) and verdict.round > 1 and verdict.round in drafts:
                draft = drafts[verdict.round]
                self.verified[len(draft.tokens) + 1].append((verdict.end_ns - verdict.start_ns) * 1e-9)
                self.rest.append((verdict.wait_ns - (draft.end_ns - draft.start_ns)) * 1e-9)
                self._answer(draft, prepared.get(verdict.round - 1))
        for event in prepared.values():
            if event.passes > 1 and event.fanout:
                self.prepared[sum(event.fanout)].append((event.passes, event.busy_ns * 1e-9))

    def _answer(self, draft: Drafted, before: Anticipated | None) -> None:
        seconds = (draft.end_ns - draft.start_ns) * 1e-9
        if draft.source == "miss" and draft.passes:
            self.per_token.append(seconds / draft.passes)
        elif draft.source == "hit" and not draft.passes and before and before.idle_ns:
            self.answers.append(seconds)


def _steps(prepared: dict[int, list[tuple[int, float]]]) -> tuple[float, tuple[float, ...]]:
    """What opening takes, and each step by its branches. Where all had as many steps, opening counts as one."""
    openings, slopes = [], {}
    for branches, points in prepared.items():
        if len({steps for steps, _ in points}) > 1 and len(points) > 7:
            slope, intercept = statistics.linear_regression(*zip(*points, strict=True))
            openings.append(max(0.0, intercept + slope))
        else:
            slope = statistics.median(busy / steps for steps, busy in points)
            openings.append(slope)
        slopes[branches] = max(slope, 1e-9)
    if not slopes:
        return 0.0, (0.0, 0.0)
    return statistics.median(openings), _between(slopes)


def _between(known: dict[int, float]) -> tuple[float, ...]:
    """Straight lines between the counts that were measured, and from the least of them down to none."""
    counts = sorted(known)
    found = [known[counts[0]]] * (counts[0] + 1)
    for low, high in itertools.pairwise(counts):
        rise = (known[high] - known[low]) / (high - low)
        found += [known[low] + rise * (n - low) for n in range(low + 1, high + 1)]
    return tuple(found)


def _flat(verify: float, row: float, draft: float, step: float, rows: int = 33) -> tuple[Costs, tuple[float, ...]]:
    """Milliseconds: a verification of one row, what each more row adds, a drafted token, a step of any branches."""
    target = (0.0, *(1e-3 * (verify + row * n) for n in range(rows)))
    return Costs(target, 1e-3 * draft, 0.0, 0.0, 0.0), (0.0, 1e-3 * step, 1e-3 * step)


def _known(source: str, verify: float, row: float, draft: float, step: float, message: float) -> Prices:
    passes, steps = _flat(verify, row, draft, step)
    return Prices(source, passes, steps, opening=1e-3 * draft, answer=0.0, transport=1e-3 * message)


KNOWN = {
    "70B/1B on 4 + 1 H100, as published": _known(
        "arXiv 2603.03251: 54.7 tokens/s alone and 161.8 with six drafted tokens, taken for five tokens a round; what "
        "is left is the draft's. Rows and branches are assumed to cost nothing, a message 0.1 ms.",
        verify=18.28,
        row=0.0,
        draft=2.10,
        step=2.10,
        message=0.1,
    ),
    "70B/1B, with rows that cost": _known(
        "Assumed, not measured: 22 ms for a row, 0.4 % more for each further one, 1.5 ms for a step of the draft.",
        verify=22.0,
        row=0.088,
        draft=1.5,
        step=1.5,
        message=0.1,
    ),
    "100M/11M on one core each": _known(
        "A trial on two cores of an AMD EPYC (Zen 4), bfloat16: 13.4 ms and 2.5 % a row, 1.6 ms a drafted token, "
        "2.44 ms a step of a dozen branches.",
        verify=13.4,
        row=0.335,
        draft=1.6,
        step=2.44,
        message=0.005,
    ),
}
