"""`./drafthouse plan --load 1,4,16`: the best strategy for each number of users, the crossover, and what to set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from decoding.disco.making import Step
from decoding.load import Load
from decoding.replay.confirming import run_all
from decoding.replay.joint_probing import measure
from decoding.replay.planning import ALONE, Study
from decoding.replay.planning_at_load import (
    AtLoad,
    Material,
    best_by_strategy,
    crossovers,
    predict_at_load,
    schedule,
)
from decoding.replay.probing import probe
from decoding.serving import Places
from decoding.spec import Choice
from worker.terminal.arguments import Bench
from worker.terminal.loading import LoadedPair
from worker.terminal.studying import Steps

SHOWN = 4  # strategies at each load that are run to confirm the promise


def plan_at_load(bench: Bench, ready: LoadedPair, study: Study, users: Sequence[int]) -> str:
    """Predict, run the best, and print promise and truth."""
    pair = ready.pair
    classifier = pair.classifier("") if pair.classifier_at("") is not None else None
    costs = probe(pair, bench.prompts, bench.sampling, "" if classifier else None)
    joint = measure(pair, Places(pair.target.model, pair.require_draft("A plan").model), max(users), bench.sampling)
    material = Material(study, joint, costs, classifier)
    found = predict_at_load(material, users)
    shown = {count: best_by_strategy(rows)[:SHOWN] for count, rows in found.items()}
    planned = schedule(found)
    rows = _confirmed(bench, ready, [row.choice for best in shown.values() for row in best], users)
    lines = [f"{'setting':28} {'predicted':>9} {'measured':>9} {'off by':>7}   95 % interval"]
    for count, best in shown.items():
        lines += ["", str(Load(count)), *(_line(row, rows.get(row.choice.label)) for row in best)]
    return "\n".join([*lines, "", *_crossed(found), *_elsewhere(planned)])


def _confirmed(
    bench: Bench, ready: LoadedPair, best: Sequence[Choice], users: Sequence[int]
) -> Mapping[str, Mapping[str, Any]]:
    choices = {choice.label: choice for count in users for choice in (ALONE.at(Load(count)), *best)}
    chosen = sorted(choices.values(), key=lambda choice: choice.load)
    steps, due = Steps(), len(chosen) * len(bench.prompts)
    rows = run_all(
        ready.pair, bench.prompts, bench.sampling, chosen, on_progress=lambda n: steps(Step("confirming", n, due))
    )
    steps.close()
    return rows


def _line(row: AtLoad, measured: Mapping[str, Any] | None) -> str:
    words = f"  {row.choice.settings:26} {row.speedup:9.2f}"
    gain = measured["end_to_end"] if measured else None
    if not gain:
        return words
    off = f"{words} {gain['median']:9.2f} {row.speedup / gain['median'] - 1:+7.1%}"
    return off if gain["low"] is None else f"{off}   {gain['low']:.2f} to {gain['high']:.2f}"


def _crossed(found: Mapping[int, Sequence[AtLoad]]) -> list[str]:
    """Say how many users each strategy pays for."""
    crossing = crossovers(found)
    if not crossing:
        return ["No strategy turns from a gain into a loss between these loads."]
    return [f"{strategy} pays for up to about {users:.0f} users at once." for strategy, users in crossing.items()]


def _elsewhere(planned: Choice) -> list[str]:
    exports = [f"  {export.engine}:\n    {export.setting}" for export in planned.spec.exports(planned.params)]
    return ["", f"As a schedule: {planned.label}", "To set elsewhere (start searching from there):", *exports]
