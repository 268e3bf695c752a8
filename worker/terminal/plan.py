"""`./drafthouse plan`: which strategy and which settings suit this pair, these prompts and this machine."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from decoding.load import loads
from decoding.measure.summary import so_few
from decoding.strategies import remarks_on
from decoding.words import change
from worker import noise
from worker.llama_server import program
from worker.terminal.bench import Bench, parser_of, read_recorded
from worker.terminal.files import whole_file
from worker.terminal.guarded import guarded
from worker.terminal.parser import BadArguments
from worker.terminal.values import count_of, list_of

if TYPE_CHECKING:
    from decoding.pair import Pair
    from decoding.prices.cost_model import CostModel
    from decoding.replay.confirming import Confirmed
    from decoding.replay.planning import Prediction, Study
    from worker.terminal.loading import LoadedPair
    from worker.terminal.studying import Material


def run(argv: Sequence[str]) -> None:
    parser = parser_of(
        "plan",
        "Record a pair on prompts once, price every setting by replay or, if it prepares ahead, by simulation, and run "
        "the best of each strategy to see whether it keeps the promise.",
    )
    parser.add_argument("--split", choices=("train", "validation", "test"), help="only the prompts of this split")
    parser.add_argument(
        "--load",
        type=list_of(count_of),
        default=[],
        metavar="LIST",
        help="users at once, such as 1,4,16: the best strategy at each, and where speculation stops paying",
    )
    parser.add_argument(
        "--prove",
        action="store_true",
        help="also run the best setting that llama.cpp can be given on llama-server, with and without speculation",
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="write the plan as REST gives it, and the proof; with --load it then also holds the plan for one user",
    )
    bench = read_recorded(given := parser.parse_args(argv), given.split)
    loads(given.load, [])  # refuses what cannot be
    if given.prove and given.load:
        raise BadArguments("--prove is for a plan with one user. Leave out --load, or leave out --prove.")
    if given.prove:
        program()  # refused before the work if there is none

    from worker.terminal.studying import loaded

    with ExitStack() as open_until_done:
        file = open_until_done.enter_context(whole_file(given.json)) if given.json else None
        ready = loaded(bench)
        open_until_done.callback(ready.pair.close)
        planned(bench, ready, sorted(given.load), proves=given.prove, file=file)


def planned(bench: Bench, ready: LoadedPair, users: Sequence[int], *, proves: bool, file: TextIO | None) -> None:
    from decoding.replay.planning_ahead import left_out
    from worker.terminal.studying import Material

    pair, study = ready.pair, recorded(bench, ready)
    before = noise.mark(os.getpid())
    classifier = usable_classifier(pair)
    material = Material(bench, ready, study, measured(bench, ready, classifier), classifier)
    if classifier is not None:
        pair.priced(classifier, material.costs, bench.sampling)
    best: Sequence[Prediction] = ()
    found: dict[str, Any] = {"at_load": None, "misfit": misfit_of(bench, ready), "classifier": classifier}
    found |= {"left_out": left_out(bench.sampling, study), "draft_left_out": pair.draft_left_out}
    for remark in remarks(found):
        print(remark)
    if users:
        from worker.terminal.plan_at_load import planned_at_load

        found["at_load"] = planned_at_load(material, users)
        if file:
            print("\nFor one user:\n")
    if file or not users:
        best, for_one = planned_for_one(material)
        found |= for_one
    noisy = noise.between(before, noise.mark(os.getpid()))
    if noisy:
        print(f"\nNoisy: {noisy} Repeat it on a quiet machine before you rely on these figures.")
    proof = proved(bench, ready, best) if proves else None
    if file:
        hardware = {**ready.hardware(()), "dtype": ready.target.runner.facts.dtype}
        json.dump({**found, "noise": noisy, "hardware": hardware, "proof": proof}, file, indent=1)


def remarks(found: Mapping[str, Any]) -> list[str]:
    """List what to know before the figures: a doubt about the classifier, and the strategies that are left out."""
    missing = [f"Left out: {slug} ({why})." for slug, why in found["left_out"].items()]
    return [*filter(None, [found["misfit"]]), *missing]


def planned_for_one(material: Material) -> tuple[Sequence[Prediction], dict[str, Any]]:
    """Make and print the plan for one user. Return the best setting of each strategy, and the document."""
    from decoding.replay.confirming import best_of_each, repriced
    from decoding.replay.plan_document import document_of, judged
    from decoding.replay.tree_worth import tree_worth

    study, costs, pair = material.study, material.costs, material.ready.pair
    predictions = predicted(material)
    best, trees = best_of_each(predictions), None if study.is_alone else tree_worth(study, costs)
    runs = confirmed(material.bench, material.ready, best)
    classifier = None if material.classifier is None else pair.classifier(material.classifier, material.bench.sampling)
    again = repriced(runs, best, study, costs, classifier)
    found = document_of(best, runs.rows, again, predictions, costs)
    print("\n".join([table(best, runs.rows, again), *remarks_on(prediction.choice.strategy for prediction in best)]))
    if trees:
        print(f"\n{trees.sentence}")
    print(f"\n{found['context']['sentence']}")
    print(f"\n{elsewhere(found)}")
    classifiers = {} if classifier is None else {str(material.classifier): classifier}
    return best, {**found, "trees": trees and trees.to_dict(), "classifiers": judged(study, costs, classifiers)}


def misfit_of(bench: Bench, ready: LoadedPair) -> str:
    """Warn of a classifier that was trained for another sampling. Its prices are measured here."""
    pair = ready.pair
    return "" if usable_classifier(pair) is None else pair.misfit("This plan", "", bench.sampling)


def usable_classifier(pair: Pair) -> str | None:
    """Return the name of the pair's own classifier, if it has one. On a target alone it must know copies."""
    return next(iter(pair.usable([""] if pair.classifier_at("") is not None else [])), None)


def proved(bench: Bench, ready: LoadedPair, best: Sequence[Prediction]) -> dict[str, Any]:
    """Prove the best setting that llama.cpp can be given, and print what came of it."""
    from worker.terminal.proof import prove_and_print

    return prove_and_print(bench, ready.pair, [(prediction.choice, prediction.speedup) for prediction in best])


def recorded(bench: Bench, ready: LoadedPair) -> Study:
    from decoding.disco.making import Step
    from decoding.replay.planning import study
    from worker.terminal.studying import Steps

    steps, due = Steps(), len(bench.prompts)
    found = study(
        ready.pair,
        bench.prompts,
        bench.sampling,
        tails=True,
        trees=True,
        on_progress=lambda n: steps(Step("recording", n, due)),
    )
    steps.close()
    return found


def measured(bench: Bench, ready: LoadedPair, classifier: str | None) -> CostModel:
    """Measure what passes cost here."""
    from decoding.disco.making import Step
    from decoding.replay.probing import probe
    from worker.terminal.studying import Steps

    steps = Steps()

    def on_progress(done: int, due: int) -> None:
        steps(Step("measuring costs", done, due))

    costs = probe(ready.pair, bench.prompts, bench.sampling, classifier, on_progress)
    steps.close()
    return costs


def predicted(material: Material) -> list[Prediction]:
    """Predict the speed of every setting."""
    from decoding.disco.making import Step
    from decoding.replay.planning import predict
    from decoding.replay.planning_ahead import Simulating, has_both_placements, predict_ahead
    from decoding.replay.workload import planned_ahead, samples_ahead
    from worker.terminal.studying import Steps

    pair, prompts, sampling = material.ready.pair, material.bench.prompts, material.bench.sampling
    study, costs, name = material.study, material.costs, material.classifier
    steps = Steps()
    ahead = planned_ahead(sampling, has_classifier=name is not None)
    due = samples_ahead(len(prompts), ahead, has_both_placements=has_both_placements(pair))
    simulating = Simulating(
        pair,
        prompts,
        sampling,
        study,
        costs,
        name,
        on_progress=lambda n: steps(Step("measuring preparation", n, due)),
    )
    classifier = None if name is None else pair.classifier(name, sampling)
    predictions = [*predict(study, costs, classifier), *predict_ahead(simulating)]
    steps.close()
    return predictions


def confirmed(bench: Bench, ready: LoadedPair, predictions: Sequence[Prediction]) -> Confirmed:
    """Run the settings."""
    from decoding.disco.making import Step
    from decoding.replay.confirming import confirm, to_run
    from worker.terminal.studying import Steps

    steps, due = Steps(), len(to_run(predictions)) * len(bench.prompts)
    runs = confirm(
        ready.pair, bench.prompts, bench.sampling, predictions, on_progress=lambda n: steps(Step("confirming", n, due))
    )
    steps.close()
    return runs


def table(
    predictions: Sequence[Prediction], rows: Mapping[str, Mapping[str, Any]], repriced: Mapping[str, float]
) -> str:
    """A table of promise and truth."""
    lines = [f"{'setting':28} {'predicted':>9} {'measured':>9} {'off by':>8} {'repriced':>8}   95 % interval"]
    for prediction in predictions:
        label = prediction.choice.label
        lines.append(_line(prediction, rows.get(label), repriced.get(label)))
    if repriced:
        lines.append("Repriced: off by so much at the prices of these runs. The rest is a machine that changed speed.")
    return "\n".join(lines)


def _line(prediction: Prediction, row: Mapping[str, object] | None, repriced: float | None) -> str:
    words = f"{prediction.choice.label:28} {prediction.speedup:9.2f}"
    gain = row["speedup"] if row else None
    if not isinstance(gain, dict):
        return f"{words} {'':>9} {'':>8} {'':>8}   a bound, not run"
    few, median = gain["low"] is None, gain["ratio"]
    interval = f"none of {so_few(gain['prompts'])}" if few else f"{gain['low']:.2f} to {gain['high']:.2f}"
    again = "" if repriced is None else change(repriced / median, 1)
    return f"{words} {median:9.2f} {change(prediction.speedup / median, 1):>8} {again:>8}   {interval}"


def elsewhere(found: Mapping[str, Any]) -> str:
    """The same settings in other engines' words."""
    return "\n".join(
        (
            "To set elsewhere (passes cost differently there, so take these as where to start searching):",
            *(
                f"  {one['engine']}, as {one['of']}:\n    {one['setting']}"
                + (f"\n    {one['note']}" if one["note"] else "")
                for one in found["elsewhere"]
            ),
        )
    )


def main() -> int:
    from worker.terminal.ending import ended

    return ended(run, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(guarded(main))
