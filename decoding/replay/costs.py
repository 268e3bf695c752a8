"""Costs of passes, read from traces of live runs. Replay and the priced rule use them. Standard library only.

Live traces include everything else that a round does, so the costs include it too.
"""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from decoding.events import Drafted, Event, Finished, Started, Verified
from decoding.replay.records import Counts
from decoding.source import Sight
from decoding.strategy import Strategy

Durations = dict[tuple[int, bool], list[float]]  # by drafted tokens and whether the first pass has to catch up


@dataclass(frozen=True)
class Rest:
    """Seconds of rounds besides drafting and verifying: a draft is also announced, cut and committed."""

    alone: list[float]  # in rounds without a draft
    drafting: list[float]


class OwnWork(NamedTuple):
    """Seconds of work that the texts of a batch do not share."""

    token: float = 0.0  # of each drafted token: a look at it, or its place in a tree
    round: float = 0.0  # of each round: growing a tree, or weighing two sources
    late_row: float = 0.0  # of each token beyond the usual that the draft model must read first


@dataclass(frozen=True)
class Costs:
    """Seconds on one machine for one pair."""

    target: tuple[float, ...]  # entry n: a verification of n rows with its choice; entry 0 is not used
    draft: float  # per drafted token, with its choice
    draft_round: float  # per draft besides its tokens, with the rest of its round
    catch_up: float  # extra for a draft whose first pass has two rows
    round: float  # the rest of a round without a draft
    decision: float = 0.0  # a classifier's, per drafted token
    reading: float = 0.0  # of the draft's own probability, per drafted token
    token: float = 0.0  # other costs per generated token: noise that is made in blocks, a sample's cold start
    tree: float = 0.0  # extra for a tree: its passes are not those of a chain
    in_tree: float = 0.0  # and for each of its drafted tokens: its row in the draft's passes, its mask and list
    mixing: float = 0.0  # extra for a round that looks for a copy and weighs it against the draft model

    def verify(self, rows: int) -> float:
        """Seconds to verify so many rows. Beyond the measured rows the last slope continues."""
        last = len(self.target) - 1
        if rows <= last:
            return self.target[rows]
        slope = max(0.0, (self.target[last] - self.target[last // 2]) / (last - last // 2))
        return self.target[last] + (rows - last) * slope

    def row(self, upto: int = 8) -> float:
        """Mean seconds that one more row adds to a verification."""
        return max(0.0, (self.verify(upto) - self.verify(1)) / (upto - 1))

    @property
    def late_row(self) -> float:
        """Seconds that the third and each further row add to a draft pass: for both models the same share of a pass."""
        return self.draft * self.row() / self.verify(1)

    def catching_up(self, rows: int) -> float:
        """Extra seconds of a draft pass of so many rows."""
        return self.catch_up + (rows - 2) * self.late_row if rows > 1 else 0.0

    def looking(self, sees: Sight) -> float:
        """Seconds of one look at a drafted token."""
        return {"confidence": self.reading, "peak": self.reading, "estimate": self.decision}.get(sees, 0.0)

    def own_work(self, strategy: Strategy) -> OwnWork:
        """Seconds of a text's own work under this strategy."""
        if strategy.branches:
            return OwnWork(token=self.in_tree, round=self.tree)
        mixing = self.mixing if strategy.weighs else 0.0
        return OwnWork(token=self.looking(strategy.sees), round=mixing, late_row=self.late_row)

    def seconds(self, counts: Counts, sees: Sight = "nothing") -> float:
        """Predicted seconds. `sees` is what the stop rule looks at after each drafted token."""
        per_token = self.draft + self.looking(sees)
        return (
            sum(rounds * self.verify(drafted + 1) for drafted, rounds in counts.rounds.items())
            + counts.target_passes * self.round
            + counts.draft_passes * per_token
            + counts.drafts * self.draft_round
            + counts.catch_ups * self.catch_up
            + counts.late_rows * self.late_row
            + counts.trees * self.tree
            + counts.in_trees * self.in_tree
            + counts.mixed * self.mixing
            + counts.tokens * self.token
        )

    def tokens_per_s(self, counts: Counts, sees: Sight = "nothing") -> float:
        return counts.tokens / self.seconds(counts, sees)

    def speedup(self, counts: Counts, baseline: Counts, sees: Sight = "nothing") -> float:
        """Predicted speed-up, computed as in a comparison: the baseline's total time over the strategy's."""
        return sum(map(self.seconds, baseline.parts)) / sum(self.seconds(part, sees) for part in counts.parts)


def costs_from(traces: Iterable[Sequence[Event]]) -> Costs:
    """Fit costs to samples of autoregressive and of static lookaheads. More different lookaheads give a better fit."""
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
        target=_filled(rising({rows: (statistics.median(values), len(values)) for rows, values in verified.items()})),
        draft=per_token,
        draft_round=per_round + max(0.0, statistics.median(rest.drafting or [alone]) - alone),
        catch_up=max(0.0, statistics.median(late)) if late else 0.0,
        round=alone,
    )
    # Medians miss rare delays. The time that whole samples took beyond them is spread over their tokens.
    left = [_unexplained(trace, costs) for trace in traces if any(isinstance(event, Finished) for event in trace)]
    return dataclasses.replace(costs, token=statistics.median(left)) if left else costs


def drafting_is_clear(traces: Iterable[Sequence[Event]]) -> bool:
    """Whether the traces show what one more drafted token costs: longer drafts took longer despite other load."""
    return _fitted(_caught_up(_drafts(traces)))[0] > 0


def decision_cost(deciding: Iterable[Sequence[Event]], queued: Iterable[Sequence[Event]]) -> float:
    """Seconds of deciding per drafted token: how much longer drafts take with decisions than drafts of equal length
    without. An oracle that peeks with the clock stopped decides for free, but leaves cold caches: their cost is
    counted."""
    with_it, without = _drafts(deciding), _drafts(queued)
    dearer, tokens = 0.0, 0
    for (count, behind), durations in with_it.items():
        if (count, behind) in without:
            each = statistics.median(durations) - statistics.median(without[count, behind])
            dearer += len(durations) * each
            tokens += len(durations) * count
    return max(0.0, dearer / tokens) if tokens else 0.0


def counted(trace: Iterable[Event]) -> Counts:
    """Count the passes that one sample took."""
    counts, drafts, behind = Counts(), dict[int, Drafted](), False
    for event in trace:
        if isinstance(event, Drafted):
            drafts[event.round] = event
        elif isinstance(event, Verified):
            draft = drafts.get(event.round)
            count = draft.verified if draft else 0
            counts.rounds[count] += 1
            counts.accepted += event.accepted
            if draft and draft.rows:
                counts.trees += 1
                counts.in_trees += count
                counts.branched += count - draft.passes
            if draft and draft.source == "copied":
                counts.copied += count - draft.passes
                counts.copied_rounds += not draft.passes
            else:
                counts.catch_ups += behind and count > 0
                behind = event.outcome == "bonus" if count else behind
        elif isinstance(event, Finished):
            counts.tokens = event.new_tokens
            counts.accepted -= max(0, counts.accepted + counts.target_passes - 1 - event.new_tokens)  # past its end
    return counts


def with_trees(costs: Costs, trees: Iterable[Sequence[Event]]) -> Costs:
    """Add the seconds that rounds with trees took beyond the passes of chains: for each tree and each of its tokens."""
    left: dict[int, list[float]] = defaultdict(list)
    for trace in trees:
        drafts = {event.round: event for event in trace if isinstance(event, Drafted)}
        verdicts = [event for event in trace if isinstance(event, Verified)]
        for before, after in itertools.pairwise(verdicts):
            draft = drafts.get(after.round)
            if draft and draft.rows:
                behind = before.round in drafts and before.outcome == "bonus"
                one = Counts(rounds=Counter([draft.rows]), branched=draft.rows - draft.passes, catch_ups=behind)
                left[draft.rows].append((after.end_ns - before.end_ns) * 1e-9 - costs.seconds(one))
    each, besides = _line(left)
    return dataclasses.replace(costs, tree=besides, in_tree=max(0.0, each))


def with_mixes(costs: Costs, mixes: Iterable[Sequence[Event]], sees: Sight = "nothing") -> Costs:
    """Add the seconds that rounds of a mix of copies and drafts took beyond their passes and looks."""
    left: list[float] = []
    for trace in mixes:
        drafts = {event.round: event for event in trace if isinstance(event, Drafted)}
        late, since = 1, -1  # tokens that the draft model has not read; when the round before ended
        for verdict in (event for event in trace if isinstance(event, Verified)):
            draft = drafts.get(verdict.round)
            count, passes = (draft.verified, draft.passes) if draft else (0, 0)
            rows = late + count - passes if passes else 0
            one = Counts(
                rounds=Counter([count]),
                catch_ups=rows > 1,
                late_rows=max(0, rows - 2),
                copied=count - passes,
                copied_rounds=count > 0 and not passes,
            )
            if since >= 0:
                left.append((verdict.end_ns - since) * 1e-9 - costs.seconds(one, sees))
            since = verdict.end_ns
            late = 1 + (verdict.accepted == count) if passes else late + verdict.accepted + 1
    return dataclasses.replace(costs, mixing=max(0.0, statistics.median(left)) if left else 0.0)


def _unexplained(trace: Sequence[Event], costs: Costs) -> float:
    """Seconds per token of a sample that its passes do not explain."""
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
    """Sort one trace's times by what each was spent on. The first round is left out: its caches are cold."""
    drafts = {event.round: event for event in trace if isinstance(event, Drafted)}
    verdicts = [event for event in trace if isinstance(event, Verified)]
    for before, verdict in itertools.pairwise(verdicts):
        draft = drafts.get(verdict.round)
        rows = draft.verified + 1 if draft else 1
        verified[rows].append((verdict.end_ns - verdict.start_ns) * 1e-9)
        if draft and draft.source == "copied":  # it says nothing of the draft model's passes
            continue
        drafting = (draft.end_ns - draft.start_ns) * 1e-9 if draft else 0.0
        (rest.drafting if draft else rest.alone).append(verdict.wait_ns * 1e-9 - drafting)
        if draft:
            behind = before.round in drafts and before.outcome == "bonus"
            drafted[draft.passes, behind].append(drafting)


def _line(measured: Mapping[int, Sequence[float]]) -> tuple[float, float]:
    """Slope and intercept, neither negative. Where noise makes one negative, the slope takes all time: each
    drafted token costs something."""
    if not measured:
        return 0.0, 0.0
    slope, intercept = _fitted(measured)
    return (slope, intercept) if slope > 0 and intercept >= 0 else (_each(*_points(measured)), 0.0)


def _fitted(measured: Mapping[int, Sequence[float]]) -> tuple[float, float]:
    """Line of best fit, with any sign; with a single count, all time is slope."""
    counts, medians = _points(measured)
    if len(measured) == 1:
        return _each(counts, medians), 0.0
    slope, intercept = statistics.linear_regression(counts, medians)
    return slope, intercept


def _points(measured: Mapping[int, Sequence[float]]) -> tuple[list[int], list[float]]:
    """Points for the fit: each count's median, as often as the count was measured, so that frequent draft lengths fit
    best."""
    counts = [count for count, values in measured.items() for _ in values]
    medians = [median for values in measured.values() for median in [statistics.median(values)] * len(values)]
    return counts, medians


def _each(counts: Sequence[int], seconds: Sequence[float]) -> float:
    return sum(seconds) / sum(counts)


def rising(measured: Mapping[int, tuple[float, int]]) -> dict[int, float]:
    """Make times rise with rows, as they must. Where load makes more rows look cheaper, neighbours share their weighted
    mean."""
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
    """Interpolate row counts that were not measured between those that were."""
    known = sorted(measured)
    values = [0.0]
    for rows in range(1, known[-1] + 1):
        low = max((n for n in known if n <= rows), default=known[0])
        high = min(n for n in known if n >= rows)
        share = (rows - low) / (high - low) if high > low else 0.0
        values.append(measured[low] + share * (measured[high] - measured[low]))
    return tuple(values)
