"""What passes cost, read off traces of live runs: the prices that replay and the priced rule go by. Standard library
only. Taken from the real loop, so that all a round does besides its passes is in them."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from decoding.events import Drafted, Event, Finished, Started, Verified
from decoding.replay import Counts
from decoding.strategies.base import Sight

Durations = dict[tuple[int, bool], list[float]]  # drafted tokens, and whether the first pass has to catch up


@dataclass(frozen=True)
class Rest:
    """What is left of rounds besides drafting and verifying: a draft is also announced, cut and committed."""

    alone: list[float]  # of rounds without a draft
    drafting: list[float]


@dataclass(frozen=True)
class Costs:
    """Seconds on one machine for one pair."""

    target: tuple[float, ...]  # entry n: a verification of n rows, choosing included; entry 0 is not used
    draft: float  # one drafted token, choosing included
    draft_round: float  # what a draft costs besides its tokens, in the rest of its round too
    catch_up: float  # more for a draft that begins with two rows
    round: float  # the rest of a round without one
    decision: float = 0.0  # a classifier's, per drafted token
    reading: float = 0.0  # the same where the draft's own probability decides
    token: float = 0.0  # what a token of the text costs besides all this: noise made in blocks, a sample's cold start

    def verify(self, rows: int) -> float:
        """More rows than were measured cost what the last measured ones suggest."""
        last = len(self.target) - 1
        if rows <= last:
            return self.target[rows]
        slope = max(0.0, (self.target[last] - self.target[last // 2]) / (last - last // 2))
        return self.target[last] + (rows - last) * slope

    def row(self, upto: int = 8) -> float:
        """What one more row adds to a verification, on the whole."""
        return max(0.0, (self.verify(upto) - self.verify(1)) / (upto - 1))

    def seconds(self, counts: Counts, sees: Sight = "nothing") -> float:
        """`sees`: what decides after each drafted token whether to go on."""
        per_token = self.draft + {"confidence": self.reading, "estimate": self.decision}.get(sees, 0.0)
        starts = counts.target_passes - counts.rounds[0]
        return (
            sum(rounds * self.verify(drafted + 1) for drafted, rounds in counts.rounds.items())
            + counts.target_passes * self.round
            + counts.draft_passes * per_token
            + starts * self.draft_round
            + counts.catch_ups * self.catch_up
            + counts.tokens * self.token
        )

    def tokens_per_s(self, counts: Counts, sees: Sight = "nothing") -> float:
        return counts.tokens / self.seconds(counts, sees)

    def speedup(self, counts: Counts, baseline: Counts, sees: Sight = "nothing") -> float:
        """As a comparison says it: the median over samples, each against the baseline on the same prompt."""
        return statistics.median(
            self.seconds(before) / self.seconds(after, sees)
            for before, after in zip(baseline.parts, counts.parts, strict=True)
        )


def costs_from(traces: Iterable[Sequence[Event]]) -> Costs:
    """From samples of autoregressive and of static lookaheads, the more different ones the better."""
    verified: dict[int, list[float]] = defaultdict(list)
    drafted: Durations = defaultdict(list)
    rest = Rest([], [])
    traces = list(traces)
    for trace in traces:
        _read(trace, verified, drafted, rest)
    per_token, per_round = _line(_caught_up(drafted))
    alone = statistics.median(rest.alone or rest.drafting or [0.0])
    late = [value - per_round - per_token * n for (n, behind), values in drafted.items() if behind for value in values]
    costs = Costs(
        target=_filled(_rising({rows: (statistics.median(values), len(values)) for rows, values in verified.items()})),
        draft=per_token,
        draft_round=per_round + max(0.0, statistics.median(rest.drafting or [alone]) - alone),
        catch_up=max(0.0, statistics.median(late)) if late else 0.0,
        round=alone,
    )
    # Medians do not see what comes now and then. What whole samples took beyond them is spread over their tokens.
    left = [_unexplained(trace, costs) for trace in traces if any(isinstance(event, Finished) for event in trace)]
    return dataclasses.replace(costs, token=statistics.median(left)) if left else costs


def drafting_is_clear(traces: Iterable[Sequence[Event]]) -> bool:
    """Whether they show what one more drafted token costs: longer drafts took longer, whatever else the machine did."""
    return _fitted(_caught_up(_drafts(traces)))[0] > 0


def decision_cost(deciding: Iterable[Sequence[Event]], queued: Iterable[Sequence[Event]]) -> float:
    """What deciding costs per drafted token: how much longer drafts take with it than drafts of as many tokens
    without. An oracle that peeks with the clock stopped decides for nothing, but leaves cold caches: that is its price.
    """
    with_it, without = _drafts(deciding), _drafts(queued)
    dearer, tokens = 0.0, 0
    for (count, behind), durations in with_it.items():
        if (count, behind) in without:
            each = statistics.median(durations) - statistics.median(without[count, behind])
            dearer += len(durations) * each
            tokens += len(durations) * count
    return max(0.0, dearer / tokens) if tokens else 0.0


def counted(trace: Iterable[Event]) -> Counts:
    """The passes that one sample took."""
    counts, drafts, behind = Counts(), dict[int, Drafted](), False
    for event in trace:
        if isinstance(event, Drafted):
            drafts[event.round] = event
        elif isinstance(event, Verified):
            count = len(drafts[event.round].tokens) if event.round in drafts else 0
            counts.rounds[count] += 1
            counts.accepted += event.accepted
            counts.catch_ups += behind and count > 0
            behind = event.outcome == "bonus" if count else behind
        elif isinstance(event, Finished):
            counts.tokens = event.new_tokens
    return counts


def _unexplained(trace: Sequence[Event], costs: Costs) -> float:
    """Seconds per token of a sample that its passes do not account for."""
    counts = counted(trace)
    start = next((event.prefill_ns for event in trace if isinstance(event, Started)), 0)
    end = max((event.end_ns for event in trace if isinstance(event, Verified)), default=start)
    return ((end - start) * 1e-9 - costs.seconds(counts)) / max(1, counts.tokens)


def _drafts(traces: Iterable[Sequence[Event]]) -> Durations:
    drafted: Durations = defaultdict(list)
    for trace in traces:
        _read(trace, defaultdict(list), drafted, Rest([], []))
    return drafted


def _caught_up(drafted: Durations) -> dict[int, list[float]]:
    return {n: values for (n, behind), values in drafted.items() if not behind}


def _read(
    trace: Sequence[Event],
    verified: dict[int, list[float]],
    drafted: Durations,
    rest: Rest,
) -> None:
    """Sort one trace's times by what was done in them. The first round is left out: it finds cold caches."""
    drafts = {event.round: event for event in trace if isinstance(event, Drafted)}
    verdicts = [event for event in trace if isinstance(event, Verified)]
    for before, verdict in itertools.pairwise(verdicts):
        draft = drafts.get(verdict.round)
        rows = len(draft.tokens) + 1 if draft else 1
        verified[rows].append((verdict.end_ns - verdict.start_ns) * 1e-9)
        drafting = (draft.end_ns - draft.start_ns) * 1e-9 if draft else 0.0
        (rest.drafting if draft else rest.alone).append(verdict.wait_ns * 1e-9 - drafting)
        if draft:
            behind = before.round in drafts and before.outcome == "bonus"
            drafted[draft.passes, behind].append(drafting)


def _line(measured: Mapping[int, Sequence[float]]) -> tuple[float, float]:
    """Slope and intercept, neither of them negative: where noise makes one so, all time is shared out by count, because
    nothing is drafted for nothing."""
    if not measured:
        return 0.0, 0.0
    slope, intercept = _fitted(measured)
    return (slope, intercept) if slope > 0 and intercept >= 0 else (_each(*_points(measured)), 0.0)


def _fitted(measured: Mapping[int, Sequence[float]]) -> tuple[float, float]:
    """The line that lies best, whatever it says; one count alone is all slope."""
    counts, medians = _points(measured)
    if len(measured) == 1:
        return _each(counts, medians), 0.0
    slope, intercept = statistics.linear_regression(counts, medians)
    return slope, intercept


def _points(measured: Mapping[int, Sequence[float]]) -> tuple[list[int], list[float]]:
    """Each count's median weighs as much as it was measured often, so that a line is best where drafts are."""
    counts = [count for count, values in measured.items() for _ in values]
    medians = [median for values in measured.values() for median in [statistics.median(values)] * len(values)]
    return counts, medians


def _each(counts: Sequence[int], seconds: Sequence[float]) -> float:
    return sum(seconds) / sum(counts)


def _rising(measured: Mapping[int, tuple[float, int]]) -> dict[int, float]:
    """More rows never cost less: where a busy moment makes it look so, neighbours share their mean, weighed by how
    often each was measured."""
    pools: list[tuple[list[int], float, int]] = []
    for rows, (seconds, weight) in sorted(measured.items()):
        members = [rows]
        while pools and pools[-1][1] > seconds:
            before, theirs, count = pools.pop()
            seconds = (theirs * count + seconds * weight) / (count + weight)
            members, weight = before + members, count + weight
        pools.append((members, seconds, weight))
    return {rows: seconds for members, seconds, _ in pools for rows in members}


def _filled(measured: Mapping[int, float]) -> tuple[float, ...]:
    """Row counts that were not seen lie on the line between those that were."""
    known = sorted(measured)
    values = [0.0]
    for rows in range(1, known[-1] + 1):
        low = max((n for n in known if n <= rows), default=known[0])
        high = min(n for n in known if n >= rows)
        share = (rows - low) / (high - low) if high > low else 0.0
        values.append(measured[low] + share * (measured[high] - measured[low]))
    return tuple(values)
