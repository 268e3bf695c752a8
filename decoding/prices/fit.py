"""Fit: prices of passes, read from traces of live runs. Standard library only.

Live traces include everything else that a round does, so the prices include it too. Prices are medians, which a busy
moment hardly moves; what comes now and then, such as noise for a block of positions, is spread over the tokens.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from decoding.prices.cost_model import Context, CostModel, Counts, Line
from decoding.trace.accounting import Round, rounds
from decoding.trace.events import Event, Finished, Started, Verified

MOST_USERS = 64
FAR = 1000  # rows, or tokens, up to which a slope from elsewhere continues a line

Trace = Sequence[Event]
Values = Mapping[int, Sequence[float]]
Key = TypeVar("Key")


def later_rounds(traces: Iterable[Trace]) -> list[Round]:
    """Read all rounds but the first of each text, whose caches are cold."""
    return [one for trace in traces for one in [*rounds(trace)][1:]]


def _rest(one: Round) -> float:
    """Seconds of a round besides drafting and verifying."""
    return one.verdict.wait_ns * 1e-9 - one.asking_s


# One text -------------------------------------------------------------------------------------------------------------


def costs_from(traces: Sequence[Trace]) -> CostModel:
    """Fit prices to samples of autoregressive and of static lookaheads. More different lookaheads give a better fit."""
    every = later_rounds(traces)
    chains = [one for one in every if not one.is_copied]  # a copy says nothing of the draft model's passes
    per_token, per_round = fitted(_caught_up(chains))
    undrafted = [_rest(one) for one in chains if not one.draft]
    drafting = [_rest(one) for one in chains if one.draft]  # a draft is also announced, cut and committed
    rest = statistics.median(undrafted or drafting or [0.0])
    late = [one.asking_s - per_round - per_token * one.passes for one in chains if one.draft and one.is_behind]
    target = rising(grouped((one.drafted + 1, one.verifying_s) for one in every))
    costs = CostModel(
        {1: target if len(target) > 1 or target[0][0] > 1 else [(0, 0.0), *target]},
        {1: [(1, per_token)]},
        [(1, per_round + max(0.0, statistics.median(drafting or [rest]) - rest))],
        [(1, rest)],
        catch_up=max(0.0, statistics.median(late)) if late else 0.0,
    ).with_late_rows()
    left = [_unexplained(trace, costs) for trace in traces if any(isinstance(event, Finished) for event in trace)]
    return replace(costs, token=statistics.median(left) if left else 0.0, context=_context(traces))


def drafting_is_clear(traces: Iterable[Trace]) -> bool:
    """Whether the traces show what one more drafted token costs: longer drafts took longer despite other load."""
    return _slope(_caught_up(one for one in later_rounds(traces) if not one.is_copied))[0] > 0


def decision_cost(deciding: Iterable[Trace], queued: Iterable[Trace]) -> float:
    """Seconds of deciding per drafted token: how much longer drafts take with decisions than drafts of equal length
    without. An oracle that peeks with the clock stopped decides for free, but leaves cold caches: their cost is
    counted."""
    with_it, without = (
        grouped(
            ((one.passes, one.is_behind), one.asking_s)
            for one in later_rounds(traces)
            if one.draft and not one.is_copied
        )
        for traces in (deciding, queued)
    )
    dearer, tokens = 0.0, 0
    for (count, is_behind), durations in with_it.items():
        if (count, is_behind) in without:
            each = statistics.median(durations) - statistics.median(without[count, is_behind])
            dearer += len(durations) * each
            tokens += len(durations) * count
    return max(0.0, dearer / tokens) if tokens else 0.0


def counted(trace: Trace) -> Counts:
    """Count the passes that one sample took."""
    counts = Counts()
    for one in rounds(trace):
        _note(counts, one, is_tree=one.draft is not None and one.draft.rows > 0)
    for event in trace:
        if isinstance(event, Finished):
            counts.tokens = event.new_tokens
            counts.accepted -= max(0, counts.accepted + counts.target_passes - 1 - event.new_tokens)  # past its end
    return counts


def _note(counts: Counts, one: Round, *, is_tree: bool = False) -> Counts:
    counts.note(one.drafted, one.verdict.accepted, one.passes, one.read, is_tree=is_tree)
    return counts


def with_trees(costs: CostModel, trees: Iterable[Trace]) -> CostModel:
    """Add the seconds that rounds with trees took beyond the passes of chains: for each tree and each of its tokens."""
    left: dict[int, list[float]] = defaultdict(list)
    for one in later_rounds(trees):
        if one.draft and one.draft.rows:
            left[one.drafted].append(one.took_s - costs.seconds(_note(Counts(), one)))
    each, besides = fitted(left)
    return replace(costs, tree=besides, in_tree=max(0.0, each))


def with_mixes(costs: CostModel, mixes: Iterable[Trace], sees: str = "nothing") -> CostModel:
    """Add the seconds that rounds of a mix of copies and drafts took beyond their passes and looks."""
    left = [one.took_s - costs.seconds(_note(Counts(), one), sees) for one in later_rounds(mixes)]
    return replace(costs, mixing=max(0.0, statistics.median(left)) if left else 0.0)


def _context(traces: Iterable[Trace]) -> Context | None:
    """Read what a token of a text adds to the passes after it, if the texts grew to twice their length or differ as
    much. Passes of the same rows are compared."""
    target: dict[int, list[tuple[float, float]]] = defaultdict(list)  # by rows: (tokens, seconds)
    draft: dict[int, list[tuple[float, float]]] = defaultdict(list)  # by passes
    for trace in traces:
        tokens = next((event.prompt_tokens for event in trace if isinstance(event, Started)), 0)
        for number, one in enumerate(rounds(trace) if tokens else ()):
            if number:
                target[one.drafted + 1].append((tokens, one.verifying_s))
            if number and one.passes and not one.is_behind:
                draft[one.passes].append((tokens, one.asking_s / one.passes))
            tokens += one.verdict.accepted + 1
    every = [tokens for points in target.values() for tokens, _ in points]
    return Context(statistics.fmean(every), max(every), _farther(target), _farther(draft)) if every else None


def _farther(groups: Mapping[int, Sequence[tuple[float, float]]]) -> float | None:
    """Slope of the seconds: from the lower half of each group to the upper, by medians, which stalls hardly move. None
    if the upper halves are not twice as far."""
    near = far = rise = run = 0.0
    for points in map(sorted, groups.values()):
        count = len(points) // 2
        low, high = points[:count], points[len(points) - count :]
        if not count:
            continue
        (x1, y1), (x2, y2) = (tuple(map(statistics.median, zip(*half, strict=True))) for half in (low, high))
        near, far = near + count * x1, far + count * x2
        rise, run = rise + count * (y2 - y1) * (x2 - x1), run + count * (x2 - x1) ** 2
    return max(0.0, rise / run) if run and far >= 2 * near else None


def _unexplained(trace: Trace, costs: CostModel) -> float:
    """Seconds per token of a sample that its passes do not explain."""
    counts = counted(trace)
    start = next((event.prefill_ns for event in trace if isinstance(event, Started)), 0)
    end = max((event.end_ns for event in trace if isinstance(event, Verified)), default=start)
    return ((end - start) * 1e-9 - costs.seconds(counts)) / max(1, counts.tokens)


def _caught_up(chains: Iterable[Round]) -> Values:
    return grouped((one.passes, one.asking_s) for one in chains if one.draft and not one.is_behind)


# Several texts --------------------------------------------------------------------------------------------------------


class PricesAtLoad(NamedTuple):
    """Prices of passes that so many texts share, as the runs at one load show them."""

    verify: Line  # (rows of the pass, seconds)
    draft: float | None  # of one joint step; None if no draft model ran
    rest: float


def _at_load(users: int, runs: Iterable[Sequence[Trace]]) -> PricesAtLoad | None:
    """Read the traces of the runs of so many users. Return None if none has two rounds."""
    every = [found for traces in runs if (found := later_rounds(traces))]
    if not every:
        return None
    rows = [round(users * statistics.mean(one.drafted + 1 for one in found)) for found in every]
    verify = grouped((count, one.verifying_s) for count, found in zip(rows, every, strict=True) for one in found)
    steps = [one.asking_s / one.passes for found in every for one in found if one.passes]
    rest = max(0.0, statistics.median(_rest(one) for found in every for one in found))
    return PricesAtLoad(rising(verify), statistics.median(steps) if steps else None, rest)


def with_loads(
    costs: CostModel, runs: Mapping[int, Sequence[Sequence[Trace]]], reading: float
) -> tuple[CostModel, dict[int, int]]:
    """Add prices for up to 64 users: those that the traces of runs at loads show, one entry a run. Beyond the last
    load, a pass costs what its rows cost. `reading` is the draft's time for a token of a prompt. Also return the rows
    of the widest verification that was measured, by users."""
    return joined(costs, {users: found for users, of in runs.items() if (found := _at_load(users, of))}, reading)


def joined(costs: CostModel, loads: Mapping[int, PricesAtLoad], reading: float) -> tuple[CostModel, dict[int, int]]:
    """Add the prices of these loads, as `with_loads` does."""
    per_row = costs.row(many=max(2, costs.widest))

    def extended(line: Line) -> Line:
        """Beyond the end of the line, a row costs what it costs one user."""
        last, seconds = line[-1]
        return [*line, (last + FAR, seconds + FAR * per_row)]

    verify = {1: costs.target[1], **{users: extended(found.verify) for users, found in loads.items()}}
    steps = {1: costs.draft(1), **{users: found.draft for users, found in loads.items() if found.draft is not None}}
    begin = [(1, costs.beginning(1)), *((users, 0.0) for users in sorted(steps) if users > 1)]  # the joint step has it
    rest = {1: costs.fixed(1), **{users: found.rest for users, found in loads.items()}}
    last, drafting = max(verify), max(steps)
    if last < MOST_USERS:
        verify[MOST_USERS] = verify[last] if loads else extended(costs.target[1])
        rest[MOST_USERS] = rest[last] * MOST_USERS / last
    steps.setdefault(MOST_USERS, steps[drafting] * costs.verify(1, MOST_USERS) / costs.verify(1, drafting))
    whole = replace(
        costs,
        target=verify,
        begin=begin,
        steps={int(texts): [(texts, seconds)] for texts, seconds in rising({n: [s] for n, s in steps.items()})},
        rest=rising({n: [s] for n, s in rest.items()}),
        prompts=((0, 0.0), (FAR, FAR * reading)),
    )
    return whole, {1: costs.widest, **{users: int(found.verify[-1][0]) for users, found in loads.items()}}


def reading_cost(undrafted: Mapping[int, Started], drafting: Mapping[int, Started]) -> float:
    """Seconds in which a draft reads a token of a prompt, from each prompt's samples with and without a draft."""
    both = [prompt for prompt in drafting if prompt in undrafted and drafting[prompt].prompt_tokens]
    each = [(drafting[p].prefill_ns - undrafted[p].prefill_ns) * 1e-9 / drafting[p].prompt_tokens for p in both]
    return max(0.0, statistics.median(each)) if each else 0.0


# Lines ----------------------------------------------------------------------------------------------------------------


def fitted(measured: Values, middle: Callable[[Sequence[float]], float] = statistics.median) -> tuple[float, float]:
    """Fit seconds of one more, and seconds besides. Neither is negative: where noise makes one so, each takes an equal
    share of all time, so that nothing looks free."""
    if not measured:
        return 0.0, 0.0
    slope, besides = _slope(measured, middle)
    return (slope, besides) if slope > 0 and besides >= 0 else (_share(_points(measured, middle)), 0.0)


def _slope(measured: Values, middle: Callable[[Sequence[float]], float] = statistics.median) -> tuple[float, float]:
    """Line of best fit, with any sign; with a single count, all time is slope."""
    points = _points(measured, middle)
    if len(measured) == 1:
        return _share(points), 0.0
    slope, besides = statistics.linear_regression(*zip(*points, strict=True))
    return slope, besides


def _points(measured: Values, middle: Callable[[Sequence[float]], float]) -> list[tuple[int, float]]:
    """Points for the fit: each count's middle, as often as the count was measured, so that frequent ones fit best."""
    return [(count, at) for count, values in measured.items() for at in [middle(values)] * len(values)]


def _share(points: Sequence[tuple[int, float]]) -> float:
    return sum(seconds for _, seconds in points) / sum(count for count, _ in points)


def rising(measured: Values) -> list[tuple[float, float]]:
    """Make a line of medians that rises, as it must. Where load makes more look cheaper, neighbours share their
    weighted mean."""
    pools: list[tuple[list[int], float, int]] = []
    for rows, values in sorted(measured.items()):
        members, seconds, weight = [rows], statistics.median(values), len(values)
        while pools and pools[-1][1] > seconds:
            before, theirs, count = pools.pop()
            seconds = (theirs * count + seconds * weight) / (count + weight)
            members, weight = before + members, count + weight
        pools.append((members, seconds, weight))
    return [(rows, seconds) for members, seconds, _ in pools for rows in members]


def grouped(values: Iterable[tuple[Key, float]]) -> dict[Key, list[float]]:
    found: dict[Key, list[float]] = defaultdict(list)
    for key, value in values:
        found[key].append(value)
    return found
