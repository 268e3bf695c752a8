"""Planning at load: the best settings for each number of users, where speculation stops paying, and what to set in
engines that take a schedule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from decoding.choice import Choice, choose, planned
from decoding.core.load import Load
from decoding.disco.classifier import DraftClassifier
from decoding.disco.copies import judge_if_any
from decoding.disco.judging import CopyJudge
from decoding.measure.crossover import bracket, crossing
from decoding.prices.cost_model import CostModel
from decoding.replay.ahead_at_load import YARDSTICK, AheadAtLoad
from decoding.replay.at_load import PlayedRun, play
from decoding.replay.planning import AUTOREGRESSIVE, RecordedSet, Rows
from decoding.strategies import BASELINE
from decoding.strategies import schedule as schedule_strategy
from decoding.strategies import static as static_strategy


@dataclass(frozen=True)
class PredictionAtLoad:
    """Predicted speed of one setting at one load."""

    choice: Choice  # with its load
    tokens_per_s_device: float
    speedup: float  # over autoregressive at the same load


@dataclass(frozen=True)
class PlanInputs:
    """Recordings and prices that every prediction at load uses."""

    study: RecordedSet
    costs: CostModel
    classifier: DraftClassifier | None = None
    ahead: AheadAtLoad | None = None  # strategies that prepare ahead; None: they are left out

    @cached_property
    def judge(self) -> CopyJudge | None:
        """The classifier's judge of copies; None if it knows nothing about them."""
        return judge_if_any(self.classifier)

    def run(self, choice: Choice, users: int, estimates: Rows = ()) -> PlayedRun:
        texts = self.study.texts(self.study.shown(choice.sees, estimates))
        return play(texts, choice.sources(self.judge), self.costs, users, drafts=choice.spec.needs_draft)

    def prepared(self, users: int) -> Iterator[tuple[Choice, float]]:
        """Return settings of strategies that prepare ahead, and their tokens per second."""
        if self.ahead:
            yardstick = self.run(YARDSTICK, users).tokens_per_s_device
            yield from ((choice, speed * yardstick) for choice, speed in self.ahead.predict(users))


def predict_at_load(material: PlanInputs, users: Sequence[int]) -> dict[int, list[PredictionAtLoad]]:
    """Predict every setting of every grid for each number of users, fastest first. Bounds are left out: an oracle peeks
    at each text alone."""
    estimates = material.study.estimates(material.classifier) if material.classifier else ()
    found: dict[int, list[PredictionAtLoad]] = {}
    for count in users:
        undrafted = material.run(AUTOREGRESSIVE, count).tokens_per_s_device
        runs = [(choice, material.run(choice, count, estimates).tokens_per_s_device) for choice in _settings(material)]
        runs += material.prepared(count)
        rows = [PredictionAtLoad(choice.at(Load(count)), speed, speed / undrafted) for choice, speed in runs]
        found[count] = sorted(rows, key=lambda row: -row.tokens_per_s_device)
    return found


def _settings(material: PlanInputs) -> Iterator[Choice]:
    yield AUTOREGRESSIVE
    for choice in planned():
        spec, asked = choice.spec, material.judge if choice.judges_copies else material.classifier
        lacks = (choice.classifier is not None and asked is None) or (spec.needs_draft and material.study.is_undrafted)
        if spec.can_replay and spec.role == "ranked" and not lacks and material.study.tells(choice):
            yield choice


def best_of_kinds(rows: Sequence[PredictionAtLoad]) -> list[PredictionAtLoad]:
    """The fastest setting of each kind, in the order of `rows`."""
    fastest: dict[str, PredictionAtLoad] = {}
    for row in rows:
        fastest.setdefault(row.choice.kind, row)
    return [*fastest.values()]


def worth_running(found: Mapping[int, Sequence[PredictionAtLoad]], most: int) -> list[str]:
    """The kinds of choices to confirm: those that come closest to the best at any load. They run at every load, so that
    a crossover can be measured."""
    closest: dict[str, float] = {}
    for rows in found.values():
        ranked = [row for row in best_of_kinds(rows) if row.choice.strategy != BASELINE]
        for row in ranked:
            share = row.speedup / ranked[0].speedup
            closest[row.choice.kind] = max(share, closest.get(row.choice.kind, 0.0))
    return sorted(closest, key=lambda kind: -closest[kind])[:most]


def schedule(found: Mapping[int, Sequence[PredictionAtLoad]], measured: Mapping[str, Mapping[str, Any]]) -> Choice:
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
