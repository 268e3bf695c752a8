"""Prices of preparing drafts for several users, measured in runs at that load: there both models share the memory, and
one question asks for the drafts of all texts. Standard library only."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from decoding.events import Drafted, Event, Verified
from decoding.replay.costs import Costs
from decoding.replay.joint_costs import JointCosts, Line
from decoding.ssd.accounting import answers_of, count
from decoding.ssd.answers import MODEL
from decoding.ssd.policy.breadth import RUNGS
from decoding.ssd.simulation.playing import Placement, Plan
from decoding.ssd.simulation.prices import Prices
from decoding.ssd.simulation.together import FREE, Beside, Together, Tracked, simulate_together

Counted = Mapping[str, Any]  # counts of a sample
Row = Mapping[str, Any]  # of a report
Traces = Sequence[Sequence[Event]]


@dataclass(frozen=True)
class Preparing:
    """Prices of preparing for so many users."""

    passes: Line  # (branches, seconds of one joint pass over them)
    beside: Beside = FREE  # what it costs to have the draft in a process of its own

    @classmethod
    def of(cls, rows: Sequence[Row], alone: Row, costs: JointCosts, users: int) -> Preparing:
        """Read them from the rows of runs with so many users. `alone` is autoregressive's, from the same minutes: what
        slowed that down slowed all of them down."""
        drift = _slowed(alone, costs, users)
        runs = [(_branches_in(row), counted(row), _slowed(row, costs, users) / drift) for row in rows]
        return cls.measured(runs, costs, users, drift)

    @classmethod
    def traced(cls, runs: Sequence[tuple[int | None, Traces]], costs: JointCosts, users: int) -> Preparing | None:
        """Read them from the traces of runs with so many users, each with its branches, None where their number was
        left open. `costs` are of the same comparison. Return None if nothing was prepared."""
        hits = [(n, [*filter(None, map(count, traces))], _slowed_in(traces, costs, users)) for n, traces in runs]
        prepared = [run for run in hits if any(one["passes"] for one in run[1])]
        return cls.measured(prepared, costs, users) if prepared else None

    @classmethod
    def measured(
        cls,
        runs: Sequence[tuple[int | None, Sequence[Counted], float]],
        costs: JointCosts,
        users: int,
        drift: float = 1.0,
    ) -> Preparing:
        """Take the counts of runs, each with its branches and how many times as long as alone its verifications took.
        `drift` is how much slower everything was than by the costs."""
        passes = {branches or _rows_of(found): pass_seconds(found) / drift for branches, found, _ in runs}
        slower = max(1.0, statistics.mean(slowed for _, _, slowed in runs))
        working = statistics.mean(_working(found) for _, found, _ in runs)
        answering = statistics.mean(_answering(found, costs, users, drift) for _, found, _ in runs)
        return cls(sorted(passes.items()), Beside(slower, _delay(slower, working), answering))

    @classmethod
    def alone(cls, prices: Prices, costs: Costs, branches: int | None) -> Preparing:
        """Take them from runs with one user: a joint pass has as many rows, whichever texts they belong to."""
        slower = max(1.0, prices.passes.verify(2) / costs.verify(2))
        passes = [(n, prices.step(n)) for n in (RUNGS if branches is None else [branches])]
        return cls(passes, Beside(slower, _delay(slower, 1.0), prices.answer))

    def simulate(
        self,
        texts: Sequence[Tracked],
        plan: Plan,
        costs: JointCosts,
        users: int,
        placement: Placement,
        devices: int = 1,
    ) -> Together:
        """Play the texts. Each of several devices for the draft prepares as many branches as the plan says, in the same
        time; one of them drafts after misses."""
        branches = plan.settings.branches and devices * plan.settings.branches
        wider = replace(plan, settings=replace(plan.settings, branches=branches))
        passes = [(devices * rows, seconds) for rows, seconds in self.passes]
        return simulate_together(texts, wider, costs, users, passes, placement, self.beside)


def counted(row: Row) -> list[Counted]:
    return [hits for sample in row["samples"] if (hits := sample["hits"])]


def pass_seconds(found: Sequence[Counted]) -> float:
    """Mean seconds of one pass that prepared, from samples' counts."""
    busy_ns: int = sum(hits["busy_ns"] for hits in found)
    return busy_ns * 1e-9 / sum(int(hits["passes"]) for hits in found)


def _branches_in(row: Row) -> int | None:
    branches = row["params"]["branches"]
    return None if isinstance(branches, str) else int(branches)


def _rows_of(found: Sequence[Counted]) -> float:
    """Mean rows of a pass that prepared."""
    rows, preparations = (sum(int(hits[name]) for hits in found) for name in ("rows", "preparations"))
    return rows / max(1, preparations)


def _working(found: Sequence[Counted]) -> float:
    """Share of the verifications in which the draft worked too; all of it where earlier versions did not count that."""
    verifying: int = answers_of(found).verifying_ns
    return min(1.0, sum(one["hidden_ns"] for one in found) / verifying) if verifying else 1.0


def _delay(slower: float, working: float) -> float:
    """Seconds that a verification takes longer for each second in which the draft works, if it takes so many times as
    long while the draft works for this share of it. More than one second would have another cause."""
    return min(1.0, (1 - 1 / slower) / working) if working else 1.0


def _answering(found: Sequence[Counted], costs: JointCosts, users: int, drift: float) -> float:
    """Seconds from a question to its answer, less those in which the model drafts. Texts wait for one another's drafts,
    which come independently."""
    answers = answers_of(found)
    if not (rounds := answers.rounds.total()):
        return 0.0
    drafts = answers.stepping or answers.rounds[MODEL]  # older samples count misses alone
    drafting = 0.0
    if drafts:
        share = drafts / rounds
        any_drafts = 1 - (1 - share) ** users
        drafting = any_drafts * costs.drafted(users * share / any_drafts, answers.steps / drafts)
    return max(0.0, answers.answering_ns * 1e-9 / rounds / drift - drafting)


def _slowed(row: Row, costs: JointCosts, users: int) -> float:
    """How many times as long as by the costs its verifications took."""
    rounds: int = row["num_target_passes"]
    took_ns: int = sum(sample["verify_ns"] for sample in row["samples"])
    return _ratio(took_ns / rounds, (row["num_draft_tokens"] or 0) / rounds, costs, users)


def _slowed_in(traces: Traces, costs: JointCosts, users: int) -> float:
    verdicts = [event for trace in traces for event in trace if isinstance(event, Verified) and event.round > 1]
    drafted = sum(event.verified for trace in traces for event in trace if isinstance(event, Drafted))
    rounds = sum(isinstance(event, Verified) for trace in traces for event in trace)
    took_ns = statistics.median(event.end_ns - event.start_ns for event in verdicts)
    return _ratio(took_ns, drafted / rounds, costs, users)


def _ratio(took_ns: float, drafted: float, costs: JointCosts, users: int) -> float:
    return took_ns * 1e-9 / costs.verifying(users, round(users * (1 + drafted)))
