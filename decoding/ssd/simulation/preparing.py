"""Prices of preparing drafts for several users, measured in runs at that load. Standard library only."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decoding.events import Drafted, Event, Verified
from decoding.replay.costs import Costs
from decoding.replay.joint_costs import JointCosts, Line, on_line
from decoding.ssd.accounting import count
from decoding.ssd.simulation.playing import Placement, Plan
from decoding.ssd.simulation.prices import Prices
from decoding.ssd.simulation.together import Together, Tracked, simulate_together

Row = Mapping[str, Any]  # of a report
Traces = Sequence[Sequence[Event]]


@dataclass(frozen=True)
class Preparing:
    """Prices of preparing for so many users."""

    passes: Line  # (branches, seconds of one joint pass over them)
    slower: float  # how many times as long a verification takes while the draft prepares

    @classmethod
    def of(cls, rows: Sequence[Row], alone: Row, costs: JointCosts, users: int) -> Preparing:
        """Read them from the rows of runs with so many users. `alone` is autoregressive's, from the same minutes: what
        slowed that down slowed all of them down."""
        drift = _slowed(alone, costs, users)
        passes = {int(row["params"]["branches"]): pass_seconds(counted(row)) / drift for row in rows}
        slower = statistics.mean(_slowed(row, costs, users) for row in rows) / drift
        return cls(sorted(passes.items()), max(1.0, slower))

    @classmethod
    def traced(cls, runs: Sequence[tuple[int, Traces]], costs: JointCosts, users: int) -> Preparing | None:
        """Read them from the traces of runs with so many users, each with its branches. `costs` are of the same
        comparison. Return None if nothing was prepared."""
        hits = [(branches, [found for trace in traces if (found := count(trace))]) for branches, traces in runs]
        passes = {branches: pass_seconds(found) for branches, found in hits if any(one["passes"] for one in found)}
        if not passes:
            return None
        slower = statistics.mean(_slowed_in(traces, costs, users) for _, traces in runs)
        return cls(sorted(passes.items()), max(1.0, slower))

    @classmethod
    def alone(cls, prices: Prices, costs: Costs, branches: int) -> Preparing:
        """Take them from runs with one user: a joint pass has as many rows, whichever texts they belong to."""
        slower = prices.passes.verify(2) / costs.verify(2)
        return cls([(branches, prices.step(branches))], max(1.0, slower))

    def simulate(
        self, texts: Sequence[Tracked], plan: Plan, costs: JointCosts, users: int, placement: Placement
    ) -> Together:
        pass_s = max(on_line(self.passes, plan.settings.branches), self.passes[0][1] / 2)
        slower = self.slower if placement.beside else 1.0
        verify = {size: [(rows, slower * s) for rows, s in line] for size, line in costs.verify.items()}
        return simulate_together(texts, plan, dataclasses.replace(costs, verify=verify), users, pass_s, placement)


def counted(row: Row) -> list[Mapping[str, Any]]:
    return [hits for sample in row["samples"] if (hits := sample["hits"])]


def pass_seconds(found: Sequence[Mapping[str, Any]]) -> float:
    """Mean seconds of one pass that prepared, from samples' counts."""
    busy_ns: int = sum(hits["busy_ns"] for hits in found)
    return busy_ns * 1e-9 / sum(int(hits["passes"]) for hits in found)


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
