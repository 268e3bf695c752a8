"""Strategies that prepare ahead, for several users at once: the simulator plays their settings along recorded texts, at
costs of joint passes and at prices of preparing, which short runs at that load give."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decoding.load import Load
from decoding.replay.at_load import play
from decoding.replay.confirming import run_all
from decoding.replay.joint_costs import JointCosts, Line, on_line
from decoding.replay.planning import ALONE, static
from decoding.replay.planning_ahead import Simulating, planned_ahead, spread
from decoding.replay.probing import typical
from decoding.replay.texts_at_load import Recorded
from decoding.spec import Choice
from decoding.ssd.simulation.playing import Placement, Plan
from decoding.ssd.simulation.recording import plan_of
from decoding.ssd.simulation.together import Together, simulate_together
from decoding.ssd.simulation.track import Track
from decoding.strategy import Strategy

RUNS = 2  # settings of a grid that run at each load: those with the fewest and the most branches
BACKUPS = ("neural", "ngram")  # a backup that is left open depends on times
YARDSTICK = static(4)  # its prompts take as long as those of a strategy that prepares ahead

Row = Mapping[str, Any]  # of a report


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
        passes = {int(row["params"]["branches"]): _pass_s(row) / drift for row in rows}
        slower = statistics.mean(_slowed(row, costs, users) for row in rows) / drift
        return cls(sorted(passes.items()), max(1.0, slower))

    def simulate(
        self, tracks: Sequence[Track], plan: Plan, costs: JointCosts, users: int, placement: Placement
    ) -> Together:
        pass_s = max(on_line(self.passes, plan.settings.branches), self.passes[0][1] / 2)
        slower = self.slower if placement.beside else 1.0
        verify = {size: [(rows, slower * s) for rows, s in line] for size, line in costs.verify.items()}
        return simulate_together(tracks, plan, dataclasses.replace(costs, verify=verify), users, pass_s, placement)


@dataclass(frozen=True)
class AheadAtLoad:
    simulating: Simulating
    costs: JointCosts

    def predict(self, users: int) -> Iterator[tuple[Choice, float]]:
        """Return settings with their tokens per second, relative to YARDSTICK for as many users."""
        made = self.simulating
        for strategy in planned_ahead(made.sampling, has_classifier=made.classifier_name is not None):
            yield from self._searched(strategy, users)

    def _searched(self, strategy: Strategy, users: int) -> Iterator[tuple[Choice, float]]:
        grid = [choice for choice in self._choices(strategy) if self.simulating.fits(choice)]
        preparing = self._measured(spread(grid, RUNS), users) if grid else None
        if preparing is None:
            return
        plain = [Recorded(track.record, 1) for track in self.simulating.tracks]
        yardstick = play(plain, YARDSTICK.policy, self.costs, users).tokens_per_s_device
        for choice in grid:
            plan = plan_of(choice, self.simulating.pair.vocab, self.simulating.classifier)
            placement = self.simulating.placement(choice)
            found = preparing.simulate(self.simulating.tracks, plan, self.costs, users, placement)
            yield choice, found.tokens_per_s / yardstick

    def _choices(self, strategy: Strategy) -> Iterator[Choice]:
        takes_backup = any(param.name == "backup" for param in strategy.params)
        for backup in BACKUPS if takes_backup else ("",):
            named = {"backup": backup} if backup else {}
            yield from (self.simulating.choice(strategy, {**params, **named}) for params in strategy.grid())

    def _measured(self, choices: Sequence[Choice], users: int) -> Preparing | None:
        """Run settings and autoregressive shortly. None if somebody cancels, or nothing was prepared."""
        made, asked = self.simulating, [choice.at(Load(users)) for choice in (ALONE, *choices)]
        found = run_all(made.pair, typical(made.prompts), made.sampling, asked, cancelled=made.cancelled)
        if made.cancelled():
            return None
        alone, *rows = (found[choice.label] for choice in asked)
        rows = [row for row in rows if _counted(row)]
        return Preparing.of(rows, alone, self.costs, users) if rows else None


def _counted(row: Row) -> list[Mapping[str, Any]]:
    return [hits for sample in row["samples"] if (hits := sample["hits"])]


def _pass_s(row: Row) -> float:
    counted = _counted(row)
    busy_ns: int = sum(hits["busy_ns"] for hits in counted)
    return busy_ns * 1e-9 / sum(int(hits["passes"]) for hits in counted)


def _slowed(row: Row, costs: JointCosts, users: int) -> float:
    """How many times as long as by the costs its verifications took."""
    rounds: int = row["num_target_passes"]
    took_ns: int = sum(sample["verify_ns"] for sample in row["samples"])
    rows = users * (1 + (row["num_draft_tokens"] or 0) / rounds)
    return took_ns * 1e-9 / rounds / costs.verifying(users, round(rows))
