"""A plan at load: price every setting for each number of users, run the best of each strategy, and say what to set.

The result is plain data, for the terminal and for pages.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from decoding.backends.joint_probing import measure
from decoding.backends.pair import ModelPair
from decoding.choice import Choice
from decoding.core.load import Load
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.drafting.strategy import EngineSetting
from decoding.prices.cost_model import CostModel
from decoding.prompts.prompt import PromptItem
from decoding.replay.ahead_at_load import AheadAtLoad
from decoding.replay.confirming import run_all
from decoding.replay.planning import AUTOREGRESSIVE, RecordedSet
from decoding.replay.planning_ahead import Simulating
from decoding.replay.planning_at_load import (
    PlanInputs,
    PredictionAtLoad,
    best_of_kinds,
    crossovers,
    predict_at_load,
    schedule,
    worth_running,
)
from decoding.replay.workload import SHOWN


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
    joint = measure(pair, max(users), sampling, like=costs)
    asked = None if classifier is None else pair.classifier(classifier, sampling)
    simulating = Simulating(pair, prompts, sampling, study, costs, classifier, cancelled=cancelled)
    ahead = None if study.is_undrafted else AheadAtLoad(simulating, joint)
    found = predict_at_load(PlanInputs(study, joint, asked, ahead), users)
    if cancelled():
        return {}
    best = {count: [_asking(row, classifier or "") for row in best_of_kinds(rows)] for count, rows in found.items()}
    run = worth_running(found, SHOWN)
    chosen = [AUTOREGRESSIVE.at(Load(count)) for count in users]
    chosen += [row.choice for rows in best.values() for row in rows if row.choice.kind in run]
    chosen.sort(key=lambda choice: choice.load)
    due = len(chosen) * len(prompts)
    measured = run_all(
        pair, prompts, sampling, chosen, on_progress=lambda done: on_progress(done, due), cancelled=cancelled
    )
    return document(best, measured, None if study.is_undrafted else schedule(found, measured))


def _asking(row: PredictionAtLoad, classifier: str) -> PredictionAtLoad:
    return dataclasses.replace(row, choice=row.choice.asking(classifier))


def document(
    best: Mapping[int, Sequence[PredictionAtLoad]], measured: Mapping[str, Mapping[str, Any]], planned: Choice | None
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


def _row(users: int, row: PredictionAtLoad, measured: Mapping[str, Any] | None) -> dict[str, Any]:
    """Predicted speed of one setting, and the measured one if it ran: with waiting and reading the prompt."""
    return {
        "users": users,
        "strategy": row.choice.strategy,
        "kind": row.choice.kind,
        "params": dict(row.choice.params),
        "label": row.choice.settings,
        "role": row.choice.spec.role,
        "tokens_per_s_device": row.tokens_per_s_device,
        "speedup": row.speedup,
        "measured": measured["end_to_end"] if measured else None,
        "audit": measured["audit"] if measured else None,
    }
