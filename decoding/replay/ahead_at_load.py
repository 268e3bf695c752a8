"""Strategies that prepare ahead, for several users at once: the simulator plays their settings along recorded texts, at
costs of joint passes and at prices of preparing, which short runs at that load give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from decoding.choice import Choice
from decoding.core.load import Load
from decoding.drafting.strategy import Strategy
from decoding.prices.cost_model import CostModel
from decoding.prices.fit_ahead import counted, prepared_in
from decoding.replay.at_load import play
from decoding.replay.confirming import run_all
from decoding.replay.planning import AUTOREGRESSIVE, static
from decoding.replay.planning_ahead import Simulating, spread
from decoding.replay.probing import typical
from decoding.replay.ssd.recording import plan_of
from decoding.replay.ssd.simulator import simulate_together
from decoding.replay.workload import planned_ahead

RUNS = 2  # settings of a grid that run at each load: those with the fewest and the most branches
COPY = "copy"
BACKUPS = ("neural", "ngram", COPY)  # a backup that is left open depends on times
YARDSTICK = static(4)  # on the same texts: only some are simulated


@dataclass(frozen=True)
class AheadAtLoad:
    simulating: Simulating
    costs: CostModel

    def predict(self, users: int) -> Iterator[tuple[Choice, float]]:
        """Return settings with their tokens per second, relative to YARDSTICK for as many users."""
        made = self.simulating
        for strategy in planned_ahead(made.sampling, has_classifier=made.classifier_name is not None):
            yield from self._searched(strategy, users)

    def _searched(self, strategy: Strategy, users: int) -> Iterator[tuple[Choice, float]]:
        grid = [choice for choice in self._choices(strategy) if self.simulating.fits(choice)]
        # Rounds that copy open no branches, so their passes do not tell what branches cost.
        opening = [choice for choice in grid if choice.params.get("backup") != COPY]
        prices = self._measured(spread(opening, RUNS), users) if opening else None
        if prices is None:
            return
        texts = self.simulating.tracks
        yardstick = play(texts, YARDSTICK.sources(), self.costs, users).tokens_per_s_device
        for choice in grid:
            plan = plan_of(choice, self.simulating.pair.vocab, self.simulating.classifier)
            placement = self.simulating.placement(choice)
            found = simulate_together(texts, plan, prices, users, placement)
            yield choice, found.tokens_per_s_device / yardstick

    def _choices(self, strategy: Strategy) -> Iterator[Choice]:
        choices = next((param.choices for param in strategy.params if param.name == "backup"), ())
        for named in [{"backup": backup} for backup in BACKUPS if backup in choices] or [{}]:
            yield from (self.simulating.choice(strategy, {**params, **named}) for params in strategy.grid())

    def _measured(self, choices: Sequence[Choice], users: int) -> CostModel | None:
        """Run settings and autoregressive shortly. None if somebody cancels, or nothing was prepared."""
        made, asked = self.simulating, [choice.at(Load(users)) for choice in (AUTOREGRESSIVE, *choices)]
        found = run_all(made.pair, typical(made.prompts), made.sampling, asked, cancelled=made.cancelled)
        if made.cancelled():
            return None
        undrafted, *rows = (found[choice.label] for choice in asked)
        rows = [row for row in rows if counted(row)]
        return prepared_in(rows, undrafted, self.costs, users) if rows else None
