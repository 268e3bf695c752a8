"""Prices of passes that several texts share, as the traces of a comparison show them.

A run at 4 users shows what a joint pass of 4 texts costs. Other numbers of users get interpolated or extended prices.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from decoding.events import Drafted, Event, Started, Verified
from decoding.replay.costs import Costs, rising
from decoding.replay.joint_costs import JointCosts

MOST_USERS = 64
Traces = Sequence[Sequence[Event]]


@dataclass(frozen=True)
class Shared:
    """Costs of passes that several texts share, as the traces of the runs at one load show them."""

    verify: Mapping[int, float]  # by rows of the pass
    draft: float | None  # seconds of one joint step; None if no draft model ran
    rest: float


def shared(users: int, traces: Sequence[Traces]) -> Shared | None:
    """Read the traces of the runs of so many users, one entry a run. Return None if none has two rounds."""
    verify: dict[int, tuple[float, int]] = {}
    rounds = [list(_rounds(run)) for run in traces]
    for of in filter(None, rounds):
        rows = round(users * statistics.mean(verdict.rows for verdict in of))
        verify[rows] = statistics.median(verdict.verifying for verdict in of), len(of)
    every = [verdict for of in rounds for verdict in of]
    steps = [verdict.drafting / verdict.passes for verdict in every if verdict.passes]
    if not every:
        return None
    rest = max(0.0, statistics.median(verdict.rest for verdict in every))
    return Shared(rising(verify), statistics.median(steps) if steps else None, rest)


@dataclass(frozen=True)
class _Round:
    """Seconds of one text's round, and its own rows in the verification."""

    rows: int
    verifying: float
    drafting: float
    passes: int  # of the draft model
    rest: float


def _rounds(traces: Traces) -> Iterator[_Round]:
    """All rounds but the first of each text, whose caches are cold."""
    for trace in traces:
        drafts = {event.round: event for event in trace if isinstance(event, Drafted)}
        for event in trace:
            if isinstance(event, Verified) and event.round > 1:
                draft = drafts.get(event.round)
                drafting = (draft.end_ns - draft.start_ns) * 1e-9 if draft else 0.0
                yield _Round(
                    rows=1 + (len(draft.tokens) if draft else 0),
                    verifying=(event.end_ns - event.start_ns) * 1e-9,
                    drafting=drafting,
                    passes=draft.passes if draft else 0,
                    rest=event.wait_ns * 1e-9 - drafting,
                )


def joint_costs(costs: Costs, at: Mapping[int, Shared], reading: float) -> JointCosts:
    """Prices for 1 to 64 users: those of one user, and those that the loads show. Beyond the last of them, a pass costs
    what its rows cost. `reading` is the draft's time for a token of a prompt."""
    verify = {1: _extended([(rows, costs.verify(rows)) for rows in range(1, len(costs.target))], costs)}
    draft, rest = {1: (costs.draft, 1)}, {1: (costs.round, 1)}
    for users, found in sorted(at.items()):
        verify[users] = _extended(sorted(found.verify.items()), costs)
        if found.draft is not None:
            draft[users] = found.draft, 1
        rest[users] = found.rest, 1
    last = max(verify)
    if last < MOST_USERS:
        verify[MOST_USERS] = verify[last]
        draft.setdefault(MOST_USERS, (draft[max(draft)][0] * costs.verify(MOST_USERS) / costs.verify(max(draft)), 1))
        rest.setdefault(MOST_USERS, (rest[last][0] * MOST_USERS / last, 1))
    prompts = ((0, 0.0), (1000, 1000 * reading))
    return JointCosts(verify, sorted(rising(draft).items()), sorted(rising(rest).items()), prompts)


def _extended(line: Sequence[tuple[float, float]], costs: Costs) -> list[tuple[float, float]]:
    """The line, and beyond its end the price of a row for one user."""
    last, seconds = line[-1]
    return [*line, (last + 1000, seconds + 1000 * costs.row(max(2, len(costs.target) - 1)))]


def reading_cost(alone: Mapping[int, Started], drafting: Mapping[int, Started]) -> float:
    """Seconds in which a draft reads a token of a prompt, from each prompt's samples with and without a draft."""
    both = [prompt for prompt in drafting if prompt in alone and drafting[prompt].prompt_tokens]
    each = [(drafting[p].prefill_ns - alone[p].prefill_ns) * 1e-9 / drafting[p].prompt_tokens for p in both]
    return max(0.0, statistics.median(each)) if each else 0.0
