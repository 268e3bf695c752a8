"""`./drafthouse plan`: which strategy and which settings suit this pair, these prompts and this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from decoding.load import loads
from decoding.measure.summary import so_few
from worker import noise
from worker.terminal.arguments import Bench, count_of, list_of, parser_of, read_bench
from worker.terminal.guarded import guarded

if TYPE_CHECKING:
    from decoding.replay.planning import Prediction, Study
    from worker.terminal.loading import LoadedPair


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
    bench = read_bench(given := parser.parse_args(argv), given.split, drafting="A plan")
    loads(given.load, [])  # refuses what cannot be

    from worker.terminal.studying import loaded

    ready = loaded(bench)
    with closing(ready.pair):
        planned(bench, ready, sorted(given.load))


def planned(bench: Bench, ready: LoadedPair, users: Sequence[int]) -> None:
    study = recorded(bench, ready)
    before = noise.mark(os.getpid())
    if users:
        from worker.terminal.plan_at_load import told_at_load

        print(told_at_load(bench, ready, study, users))
        return
    predictions = predicted(bench, ready, study)
    print(confirmed(bench, ready, predictions))
    print()
    print(elsewhere(predictions))
    if noisy := noise.between(before, noise.mark(os.getpid())):
        print(f"\nNoisy: {noisy} Repeat it on a quiet machine before you rely on these figures.")


def recorded(bench: Bench, ready: LoadedPair) -> Study:
    from decoding.disco.making import Step
    from decoding.replay.planning import study
    from worker.terminal.studying import Steps

    steps, due = Steps(), len(bench.prompts)
    found = study(
        ready.pair, bench.prompts, bench.sampling, tails=True, on_progress=lambda n: steps(Step("recording", n, due))
    )
    steps.close()
    return found


def predicted(bench: Bench, ready: LoadedPair, recorded: Study) -> list[Prediction]:
    """The best setting of each strategy, fastest first."""
    from decoding.disco.making import Step
    from decoding.replay.confirming import best_of_each
    from decoding.replay.planning import predict
    from decoding.replay.planning_ahead import Simulating, planned_ahead, predict_ahead, samples_ahead
    from decoding.replay.probing import probe
    from worker.terminal.studying import Steps

    pair, prompts, sampling = ready.pair, bench.prompts, bench.sampling
    name = "" if pair.classifier_at("") is not None else None
    costs = probe(pair, prompts, sampling, name)
    steps = Steps()
    due = samples_ahead(len(prompts), planned_ahead(sampling, has_classifier=name is not None))
    simulating = Simulating(
        pair,
        prompts,
        sampling,
        recorded,
        costs,
        name,
        on_progress=lambda n: steps(Step("measuring preparation", n, due)),
    )
    classifier = None if name is None else pair.classifier(name)
    predictions = [*predict(recorded, costs, classifier), *predict_ahead(simulating)]
    steps.close()
    return best_of_each(predictions)


def confirmed(bench: Bench, ready: LoadedPair, predictions: Sequence[Prediction]) -> str:
    """A table of promise and truth."""
    from decoding.disco.making import Step
    from decoding.replay.confirming import confirm, to_run
    from worker.terminal.studying import Steps

    steps, due = Steps(), len(to_run(predictions)) * len(bench.prompts)
    rows = confirm(
        ready.pair, bench.prompts, bench.sampling, predictions, on_progress=lambda n: steps(Step("confirming", n, due))
    )
    steps.close()
    lines = [f"{'setting':28} {'predicted':>9} {'measured':>9} {'off by':>7}   95 % interval"]
    for prediction in predictions:
        lines.append(_line(prediction, rows.get(prediction.choice.label)))
    return "\n".join(lines)


def _line(prediction: Prediction, row: Mapping[str, object] | None) -> str:
    words = f"{prediction.choice.label:28} {prediction.speedup:9.2f}"
    gain = row["speedup"] if row else None
    if not isinstance(gain, dict):
        return f"{words} {'':>9} {'':>7}   a bound, not run"
    few = gain["low"] is None
    interval = f"none of {so_few(gain['prompts'])}" if few else f"{gain['low']:.2f} to {gain['high']:.2f}"
    return f"{words} {gain['median']:9.2f} {prediction.speedup / gain['median'] - 1:+7.1%}   {interval}"


def elsewhere(predictions: Sequence[Prediction]) -> str:
    """The same settings in other engines' words."""
    from decoding.replay.planning import elsewhere as translated

    return "\n".join(
        (
            "To set elsewhere (passes cost differently there, so take these as where to start searching):",
            *(f"  {one['engine']}, as {one['of']}:\n    {one['setting']}" for one in translated(predictions)),
        )
    )


def main() -> int:
    from worker.terminal.ending import ended

    return ended(run, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(guarded(main))
