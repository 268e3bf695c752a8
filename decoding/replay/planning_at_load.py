"""Plan at load: price every setting for each number of users, run the best of each kind, and say where speculation
stops paying and what to set in engines that take a schedule. The result is plain data, for the terminal and for pages.

The simulator plays strategies that prepare ahead along recorded texts, at costs of joint passes and at prices of
preparing, which short runs at that load give.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decoding.backends.joint_probing import Probing
from decoding.backends.pair import ModelPair
from decoding.choice import Choice, choose
from decoding.core.load import Load
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.disco.classifier import DraftClassifier
from decoding.disco.copies import judge_if_any
from decoding.drafting.strategy import EngineSetting, Strategy
from decoding.measure.crossover import bracket, crossing
from decoding.prices.cost_model import CostModel
from decoding.prices.fit_ahead import prepared_in
from decoding.prompts.prompt import PromptItem
from decoding.replay.at_load import PlayedRun, play
from decoding.replay.confirming import run_all
from decoding.replay.planning import AUTOREGRESSIVE, Prediction, RecordedSet, best_of_kinds, static
from decoding.replay.planning_ahead import Simulating, spread
from decoding.replay.probing import typical
from decoding.replay.ssd.simulator import simulate_together
from decoding.replay.workload import SHOWN, planned_ahead, settings
from decoding.ssd.speculator.speculator import plan_of
from decoding.strategies import BASELINE
from decoding.strategies import schedule as schedule_strategy
from decoding.strategies import static as static_strategy

RUNS = 2  # settings of a grid that run at each load: those with the fewest and the most branches
COPY = "copy"
BACKUPS = ("neural", "ngram", COPY)  # a backup that is left open depends on times
YARDSTICK = static(4)  # on the same texts: only some are simulated


@dataclass(frozen=True)
class PlanInputs:
    """Recordings and prices that every prediction at load uses."""

    study: RecordedSet
    costs: CostModel
    classifier: DraftClassifier | None = None
    ahead: Simulating | None = None  # for strategies that prepare ahead; None: they are left out

    def run(self, choice: Choice, users: int) -> PlayedRun:
        texts, source = self.study.texts(self.classifier), choice.sources(judge_if_any(self.classifier))
        return play(texts, source, self.costs, users, drafts=choice.spec.needs_draft)

    def prepared(self, users: int) -> Iterator[tuple[Choice, float]]:
        """Return settings of strategies that prepare ahead, and their tokens per second. Only some texts are simulated:
        what YARDSTICK gains on all of them, they gain too."""
        if made := self.ahead:
            simulated = play(made.texts, YARDSTICK.sources(), self.costs, users)
            more = self.run(YARDSTICK, users).tokens_per_s_device / simulated.tokens_per_s_device
            for strategy in planned_ahead(made.sampling, has_classifier=made.classifier_name is not None):
                for choice, speed in _simulated(made, strategy, self.costs, users):
                    yield choice, more * speed


def _simulated(made: Simulating, strategy: Strategy, costs: CostModel, users: int) -> Iterator[tuple[Choice, float]]:
    grid = [choice for choice in _choices(made, strategy) if made.fits(choice)]
    # Rounds that copy open no branches, so their passes do not tell what branches cost.
    opening = [choice for choice in grid if choice.params.get("backup") != COPY]
    if opening and (prices := _prepared_costs(made, spread(opening, RUNS), costs, users)):
        for choice in grid:
            plan = plan_of(choice, made.pair.vocab, made.classifier)
            found = simulate_together(made.texts, plan, prices, users, made.is_beside(choice))
            yield choice, found.tokens_per_s_device


def _choices(made: Simulating, strategy: Strategy) -> Iterator[Choice]:
    choices = next((param.choices for param in strategy.params if param.name == "backup"), ())
    for named in [{"backup": backup} for backup in BACKUPS if backup in choices] or [{}]:
        yield from (made.choice(strategy, {**params, **named}) for params in strategy.grid())


def _prepared_costs(made: Simulating, choices: Sequence[Choice], costs: CostModel, users: int) -> CostModel | None:
    """Run settings and autoregressive shortly. None if somebody cancels, or nothing was prepared."""
    asked = [choice.at(Load(users)) for choice in (AUTOREGRESSIVE, *choices)]
    found = run_all(made.pair, typical(made.prompts), made.sampling, asked, cancelled=made.cancelled)
    if made.cancelled():
        return None
    undrafted, *own = (found[choice.label]["samples"] for choice in asked)
    branches = (choice.ahead.branches if choice.ahead else None for choice in choices)
    return prepared_in(zip(branches, own, strict=True), undrafted, costs, users)


def predict_at_load(material: PlanInputs, users: Sequence[int]) -> dict[int, list[Prediction]]:
    """Predict every setting of every grid for each number of users, fastest first."""
    found: dict[int, list[Prediction]] = {}
    tried = settings(material.classifier, is_undrafted=material.study.is_undrafted, at_load=True)
    choices = [AUTOREGRESSIVE, *tried]
    for count in users:
        undrafted = material.run(AUTOREGRESSIVE, count).tokens_per_s_device
        runs = [(choice, material.run(choice, count).tokens_per_s_device) for choice in choices]
        runs += material.prepared(count)
        rows = [Prediction(choice.at(Load(count)), speed, speed / undrafted) for choice, speed in runs]
        found[count] = sorted(rows, key=lambda row: -row.tokens_per_s)
    return found


def worth_running(found: Mapping[int, Sequence[Prediction]], most: int) -> list[str]:
    """The kinds of choices to confirm: those that come closest to the best at any load. They run at every load, so that
    a crossover can be measured."""
    closest: dict[str, float] = {}
    for rows in found.values():
        ranked = [row for row in best_of_kinds(rows) if row.choice.strategy != BASELINE]
        for row in ranked:
            share = row.speedup / ranked[0].speedup
            closest[row.choice.kind] = max(share, closest.get(row.choice.kind, 0.0))
    return sorted(closest, key=lambda kind: -closest[kind])[:most]


def schedule(found: Mapping[int, Sequence[Prediction]], measured: Mapping[str, Mapping[str, Any]]) -> Choice:
    """The schedule that takes the best fixed lookahead at each load, none where that is no gain: as measured if it ran,
    else as predicted."""
    steps: list[tuple[int, int]] = []
    for users, rows in sorted(found.items()):
        row = next(row for row in rows if row.choice.strategy == static_strategy.STRATEGY.slug)
        ran = measured.get(row.choice.label)
        gain = ran["end_to_end"]["ratio"] if ran else row.speedup
        lookahead = int(row.choice.params["lookahead"]) if gain > 1 else 0
        if steps and steps[-1][1] == lookahead:
            steps.pop()
        steps.append((users, lookahead))
    return choose(schedule_strategy.STRATEGY.slug, {"table": "/".join(f"{users}:{k}" for users, k in steps)})


def crossovers(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each kind of choice that ran, the number of users from which its best setting is a loss. `low` to `high` is
    where the bounds of the 95 % intervals cross 1; None if they do so at none of these loads."""
    kinds = dict.fromkeys(Choice.of(row).kind for row in rows if row["measured"] and row["strategy"] != BASELINE)
    return [{"strategy": kind, **_crossover(kind, rows)} for kind in kinds]


def _crossover(kind: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    own = sorted((row for row in rows if Choice.of(row).kind == kind), key=lambda row: row["users"])
    points = [(row["users"], row["measured"]) for row in own if row["measured"]]
    few = any(gain["low"] is None for _, gain in points)

    def bound(name: str) -> float | None:
        return None if few else crossing([(users, gain[name]) for users, gain in points])

    predicted = crossing([(row["users"], row["speedup"]) for row in own])
    return {**bracket(points), "low": bound("low"), "high": bound("high"), "predicted": predicted, "is_few": few}


def plan_at_load(
    pair: ModelPair,
    prompts: Sequence[PromptItem],
    sampling: Sampling,
    study: RecordedSet,
    costs: CostModel,
    users: Sequence[int],
    classifier: str | None = None,
    *,
    on_progress: Callable[[int, int], None] = lambda done, due: None,
    cancelled: Callable[[], bool] = never,
) -> dict[str, Any]:
    """Make the plan. `classifier` names the one that DISCO asks; `on_progress` gets the samples done and due."""
    joint = Probing(pair, max(users), sampling, pair.caches()).measured(like=costs)
    asked = None if classifier is None else pair.classifier(classifier, sampling)
    simulating = Simulating(pair, prompts, sampling, study, costs, classifier, cancelled=cancelled)
    ahead = None if study.is_undrafted else simulating
    found = predict_at_load(PlanInputs(study, joint, asked, ahead), users)
    if cancelled():
        return {}
    best = {count: [row.asking(classifier or "") for row in best_of_kinds(rows)] for count, rows in found.items()}
    run = worth_running(found, SHOWN)
    chosen = [AUTOREGRESSIVE.at(Load(count)) for count in users]
    chosen += [row.choice for rows in best.values() for row in rows if row.choice.kind in run]
    chosen.sort(key=lambda choice: choice.load)
    due = len(chosen) * len(prompts)
    measured = run_all(
        pair, prompts, sampling, chosen, on_progress=lambda done: on_progress(done, due), cancelled=cancelled
    )
    return document(best, measured, None if study.is_undrafted else schedule(found, measured))


def document(
    best: Mapping[int, Sequence[Prediction]], measured: Mapping[str, Mapping[str, Any]], planned: Choice | None
) -> dict[str, Any]:
    rows = [_row(users, row, measured.get(row.choice.label)) for users, of in best.items() for row in of]
    exports = [*(planned.spec.exports(planned.params) if planned else ()), *_copying(rows)]
    return {
        "users": [*best],
        "rows": rows,
        "crossovers": crossovers(rows),
        "planned": planned.label if planned else None,
        "elsewhere": [dataclasses.asdict(export) for export in exports],
    }


def _copying(rows: Sequence[Mapping[str, Any]]) -> Iterator[EngineSetting]:
    """Export the best setting of each kind that copies from the text, if that is a gain at any load. Engines take one
    setting for all loads."""
    copying: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if (choice := Choice.of(row)).spec.copies_only:
            copying.setdefault(choice.kind, []).append(row)
    for own in copying.values():
        best = max(own, key=_gain)
        if _gain(best) > 1:
            for export in Choice.of(best).spec.exports(best["params"]):
                note = f"{best['label']}, the best for {Load(best['users'])}, without a draft model. {export.note}"
                yield dataclasses.replace(export, note=note.strip())


def _gain(row: Mapping[str, Any]) -> float:
    """Speed-up as measured if it ran, else as predicted."""
    gain: float = row["measured"]["ratio"] if row["measured"] else row["speedup"]
    return gain


def _row(users: int, row: Prediction, measured: Mapping[str, Any] | None) -> dict[str, Any]:
    """Predicted speed of one setting, and the measured one if it ran: with waiting and reading the prompt."""
    return {
        "users": users,
        "strategy": row.choice.strategy,
        "kind": row.choice.kind,
        "params": dict(row.choice.params),
        "label": row.choice.settings,
        "role": row.choice.spec.role,
        "tokens_per_s_device": row.tokens_per_s,
        "speedup": row.speedup,
        "measured": measured["end_to_end"] if measured else None,
        "audit": measured["audit"] if measured else None,
    }
