"""`./drafthouse plan`: which strategy and which settings suit this pair, these prompts and this machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from decoding.spec import Choice
from worker.terminal.arguments import Bench, parser_of, read_bench

if TYPE_CHECKING:
    from decoding.planning import Prediction
    from worker.terminal.loading import LoadedPair

CONFIRMED = ("static", "heuristic", "threshold", "disco")


def run(argv: Sequence[str]) -> None:
    parser = parser_of(
        "plan",
        "Record a pair on prompts once, price every setting by replay, and run the best of each strategy to see "
        "whether it keeps the promise.",
    )
    parser.add_argument("--split", choices=("train", "validation", "test"), help="only the prompts of this split")
    bench = read_bench(given := parser.parse_args(argv), given.split)

    from worker.terminal.studying import loaded

    ready = loaded(bench)
    predictions = predicted(bench, ready)
    print(confirmed(bench, ready, predictions))
    print()
    print(elsewhere(predictions))


def predicted(bench: Bench, ready: LoadedPair) -> list[Prediction]:
    """The best setting of each strategy, fastest first."""
    from decoding.disco.making import Step
    from decoding.planning import best, predict, probe, study
    from worker.terminal.studying import Steps

    steps, due = Steps(), len(bench.prompts)
    recorded = study(
        ready.pair, bench.prompts, bench.sampling, tails=True, told=lambda n: steps(Step("recording", n, due))
    )
    steps.close()
    has_classifier = ready.pair.classifier_at("") is not None
    costs = probe(ready.pair, bench.prompts, bench.sampling, "" if has_classifier else None)
    found = predict(recorded, costs, ready.pair.classifier("") if has_classifier else None)
    named = {p.choice.strategy for p in found}
    return sorted((best(found, strategy) for strategy in named), key=lambda p: -p.tokens_per_s)


def confirmed(bench: Bench, ready: LoadedPair, predictions: Sequence[Prediction]) -> str:
    """A table of promise and truth."""
    from decoding.comparison import Comparison
    from decoding.disco.making import Step
    from decoding.spec import choose
    from decoding.summary import report
    from worker.terminal.studying import Steps

    choices = [choose("autoregressive"), *(p.choice for p in predictions if p.choice.strategy in CONFIRMED)]
    comparison = Comparison(ready.pair, bench.prompts, choices, bench.sampling)
    comparison.warm_up()
    steps, samples = Steps(), []
    for group in comparison.run():
        samples += group
        steps(Step("confirming", len(samples) // len(choices), len(bench.prompts)))
    steps.close()
    rows = {row["label"]: row for row in report(choices, {c.label: "" for c in choices}, samples)}
    lines = [f"{'setting':28} {'predicted':>9} {'measured':>9}   95 % interval"]
    for prediction in predictions:
        lines.append(_line(prediction, rows.get(prediction.choice.label)))
    return "\n".join(lines)


def _line(prediction: Prediction, row: dict[str, object] | None) -> str:
    words = f"{prediction.choice.label:28} {prediction.speedup:9.2f}"
    gain = row["speedup"] if row else None
    if not isinstance(gain, dict):
        return f"{words} {'':>9}   a bound, not run"
    interval = f"{gain['low']:.2f} to {gain['high']:.2f}" if gain["low"] is not None else "one prompt: none"
    return f"{words} {gain['median']:9.2f}   {interval}"


def elsewhere(predictions: Sequence[Prediction]) -> str:
    """The same settings in other engines' words."""
    by_strategy: dict[str, Choice] = {p.choice.strategy: p.choice for p in predictions}
    lookahead = by_strategy["static"].params["lookahead"]
    threshold = by_strategy["threshold"].params
    return "\n".join(
        (
            "To set elsewhere (passes cost differently there, so take these as where to start searching):",
            f"  transformers   num_assistant_tokens={lookahead}, num_assistant_tokens_schedule='constant', "
            "assistant_confidence_threshold=0",
            f"            or   num_assistant_tokens={threshold['cap']}, num_assistant_tokens_schedule='constant', "
            f"assistant_confidence_threshold={threshold['threshold']:g}",
            f'  vLLM           --speculative-config \'{{"model": "DRAFT", "num_speculative_tokens": {lookahead}}}\'',
            f"  SGLang         --speculative-algorithm STANDALONE --speculative-draft-model-path DRAFT "
            f"--speculative-num-steps {lookahead} --speculative-eagle-topk 1 "
            f"--speculative-num-draft-tokens {int(lookahead) + 1}",
        )
    )


def main() -> int:
    from worker.terminal.ending import ended

    return ended(run, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
