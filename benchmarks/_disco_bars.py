"""DISCO's bars, measured for `bench disco`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from benchmarks._engine_bars import Bar
from benchmarks._ready_pair import ready_pair
from decoding.backends.pair import ModelPair
from decoding.choice import Choice, choose
from decoding.dice.sampling import Sampling
from decoding.disco.classifier import DraftClassifier
from decoding.disco.estimating import estimate_of
from decoding.drafting.source import Chain
from decoding.measure.measurement import Measurement
from decoding.measure.sample import SampleResult
from decoding.measure.schedule import SampleKey
from decoding.measure.speedups import speedup
from decoding.prices.cost_model import CostModel
from decoding.prices.fit import decision_cost
from decoding.prompts.prompt import PromptItem
from decoding.replay import probing
from decoding.replay.planning import CAP, RecordedSet, best_of_kinds, predict, tuned
from decoding.strategies.disco import RULES, Priced
from decoding.trace.events import Drafted, Event, EventSink, Recorder
from decoding.training import making
from decoding.training.making import TrainingStep
from decoding.training.splits import Splits
from worker.terminal.bench import read_bench, read_prompt_file
from worker.terminal.files import whole_file

AUTOREGRESSIVE, HEURISTIC, ORACLE = choose("autoregressive"), choose("heuristic"), choose("oracle", {"cap": CAP})
OURS = "ours"  # name by which the pair holds the classifier


@dataclass(frozen=True)
class Settings:
    """Settings that validation prompts chose."""

    static: Choice
    threshold: Choice
    rules: tuple[Choice, ...]  # DISCO's two rules, the better first

    @property
    def rivals(self) -> list[Choice]:
        """The chosen static lookahead and its neighbours, to reveal a poor choice."""
        chosen = int(self.static.params["lookahead"])
        return [choose("static", {"lookahead": n}) for n in (chosen - 1, chosen, chosen + 1) if n]

    @property
    def all(self) -> list[Choice]:
        return [AUTOREGRESSIVE, *self.rivals, HEURISTIC, self.threshold, *self.rules, ORACLE]


@dataclass
class Run:
    """All settings, side by side on one prompt set."""

    samples: dict[str, list[SampleResult]]
    traces: dict[str, list[Sequence[Event]]]

    def ratio(self, choice: Choice, other: Choice) -> float:
        found = speedup(self.samples[choice.label], self.samples[other.label])
        return found.median if found else float("nan")

    @property
    def queued(self) -> list[Sequence[Event]]:
        """Traces of drafts that were queued without a look at their tokens."""
        looking = ("threshold", "disco", "oracle")
        return [trace for label, of_one in self.traces.items() if not label.startswith(looking) for trace in of_one]

    @property
    def divergent(self) -> int:
        return sum(s.audit.outcome == "divergent" for of_one in self.samples.values() for s in of_one if s.audit)


def chosen_on(validation: RecordedSet, costs: CostModel, classifier: DraftClassifier) -> Settings:
    found = predict(validation, costs, classifier)
    counts = tuned(validation, classifier, {rule: classifier.tuned(rule) for rule in RULES})
    speeds = {
        choose("disco", {"rule": rule, "classifier": OURS}).label: costs.tokens_per_s(of_one, "estimate")
        for rule, of_one in counts.items()
    }
    rules = [choose("disco", {"rule": rule, "classifier": OURS}) for rule in ("priced", "threshold")]
    rules.sort(key=lambda choice: -speeds[choice.label])
    fastest = {each.choice.strategy: each.choice for each in reversed(best_of_kinds(found))}
    return Settings(fastest["static"], fastest["threshold"], tuple(rules))


def predicted(test: RecordedSet, costs: CostModel, classifier: DraftClassifier, settings: Settings) -> dict[str, float]:
    """Predicted speed-up of each setting that was run, by label."""
    baseline = test.play(AUTOREGRESSIVE)
    of_rules = tuned(test, classifier, {rule: classifier.tuned(rule) for rule in RULES})
    speeds = {
        choice.label: costs.speedup(test.play(choice), baseline, choice.spec.usual_source.sees)
        for choice in (*settings.rivals, HEURISTIC, settings.threshold)
    }
    for choice in settings.rules:
        speeds[choice.label] = costs.speedup(of_rules[str(choice.params["rule"])], baseline, "estimate")
    return speeds


def as_it_ran(test: RecordedSet, costs: CostModel, done: Run) -> float:
    """The oracle's speed-up by replay, less what its peeking takes from the draft's caches. That cost is measured on
    this run, since nothing else peeks."""
    peeking = decision_cost(done.traces[ORACLE.label], done.queued)
    paying = dataclasses.replace(costs, decision=peeking)
    return paying.speedup(test.play(ORACLE), test.play(AUTOREGRESSIVE), "estimate")


def run(
    pair: ModelPair, prompts: Sequence[PromptItem], choices: Sequence[Choice], sampling: Sampling, repeats: int
) -> Run:
    done = Run({choice.label: [] for choice in choices}, {choice.label: [] for choice in choices})

    def sink_for(key: SampleKey) -> EventSink:
        recorder = Recorder()
        done.traces[key.choice.label].append(recorder.events)
        return recorder

    comparison = Measurement(pair, prompts, choices, sampling, repeats, sink_for=sink_for)
    comparison.warm_up()
    for sample in comparison.run():
        done.samples[sample.strategy].append(sample)
    return done


class Heedless(Priced):
    """Asks the priced rule after every token and never stops: the extra time of such drafts is the cost of asking."""

    def stops(self, seen: float) -> bool:
        super().stops(seen)
        return False


def asking(pair: ModelPair, prompts: Sequence[PromptItem], sampling: Sampling, lookahead: int) -> float:
    """Share by which a draft of so many tokens takes longer with a decision after each. The text is fixed, so both ways
    have the same rounds; the median over them."""
    comparison, classifier = Measurement(pair, prompts, [AUTOREGRESSIVE], sampling), pair.classifier(OURS)
    ratios = list[float]()
    for turn, prompt in enumerate(prompts):
        heedless = Heedless(classifier.tuned("priced"), lookahead)
        ways = [(heedless, estimate_of(classifier)), (Chain(lookahead), None)]
        order = (0, 1) if turn % 2 else (1, 0)
        times = {way: _times(probing.drafted(comparison, prompt, *ways[way])) for way in order}
        ratios += [asked / unasked for asked, unasked in zip(times[0], times[1], strict=True)]
    return statistics.median(ratios) - 1


def _times(trace: Sequence[Event]) -> list[int]:
    return [event.end_ns - event.start_ns for event in trace if isinstance(event, Drafted)]


def bars_of(
    done: Run,
    elsewhere: Run,
    settings: Settings,
    costs: CostModel,
    asked: float,
    promised: dict[str, float],
    bound: float,
) -> list[Bar]:
    """Bars of one run. `asked` is the share of a draft's time that decisions take; `bound` is the oracle's speed-up if
    its peeking left no cold caches."""
    disco, static = settings.rules[0], settings.static
    gain, least = done.ratio(disco, AUTOREGRESSIVE), done.ratio(static, AUTOREGRESSIVE)
    measured = {choice.label: done.ratio(choice, AUTOREGRESSIVE) for choice in settings.all}
    worst = max(abs(promise / measured[label] - 1) for label, promise in promised.items())
    return [
        Bar(f"{disco.params['rule']} / best static ({static.label})", done.ratio(disco, static), 1.10),
        Bar("share of the gap to the oracle by replay", (gain - least) / (bound - least), 0.5),
        Bar(f"{disco.params['rule']} / heuristic", done.ratio(disco, HEURISTIC), 1.30),
        Bar("a decision, timed alone / a drafted token", costs.decision / costs.draft(1), 0.03, at_most=True),
        Bar("a draft with decisions, longer by", asked, 0.03, at_most=True),
        Bar("replay's worst prediction, off by", worst, 0.05, at_most=True),
        Bar("texts that diverge", done.divergent + elsewhere.divergent, 0, at_most=True),
        Bar("on other prompts, over autoregressive", elsewhere.ratio(disco, AUTOREGRESSIVE), 1.0),
    ]


def measure(
    pair: ModelPair, material: Splits, other: Sequence[PromptItem], sampling: Sampling, repeats: int
) -> dict[str, Any]:
    recorded = making.record(pair, material, sampling, on_progress=say)
    classifier = making.learn(pair, recorded, material, sampling, on_progress=say)
    pair.hold(OURS, classifier)
    validation, test, costs = recorded.validation, recorded.test, CostModel.from_dict(classifier.card["costs"])
    settings = chosen_on(validation, costs, classifier)
    promised = predicted(test, costs, classifier, settings)
    done = run(pair, material.test, settings.all, sampling, repeats)
    promised[ORACLE.label] = as_it_ran(test, costs, done)
    bound = costs.speedup(test.play(ORACLE), test.play(AUTOREGRESSIVE))
    there = [AUTOREGRESSIVE, settings.static, *settings.rules]
    elsewhere = run(pair, other, there, sampling, repeats)
    asked = asking(pair, material.test, sampling, int(settings.static.params["lookahead"]))
    bars = bars_of(done, elsewhere, settings, costs, asked, promised, bound)
    return {
        "sampling": sampling.to_dict(),
        "prompts": {"training": len(material.training), "test": len(material.test), "repeats": repeats},
        "looks_at": classifier.card["looks_at"],
        "auc": classifier.card["metrics"]["auc"],
        "thresholds": classifier.card["thresholds"],
        "costs": costs.for_one(),
        "settings": [
            {"label": c.label, "predicted": promised.get(c.label), "measured": done.ratio(c, AUTOREGRESSIVE)}
            for c in settings.all
        ],
        "elsewhere": [{"label": c.label, "measured": elsewhere.ratio(c, AUTOREGRESSIVE)} for c in there],
        "bars": [{**dataclasses.asdict(bar), "reached": bar.reached} for bar in bars],
    }


def say(step: TrainingStep) -> None:
    print(f"\r\x1b[K{step.phase} {step.done}/{step.due}", end="", flush=True)


def show(result: dict[str, Any], title: str) -> None:
    print(
        f"\r\x1b[K\n{title}: trained on {result['prompts']['training']} prompts, area under the ROC {result['auc']:.3f}"
    )
    costs = result["costs"]
    print(f"  looks at {', '.join(result['looks_at'])}")
    micros = {name: costs[name] * 1e6 for name in ("draft", "decision", "reading")}
    print(f"  verification {costs['target'][1] * 1e6:.0f} µs, drafted token {micros['draft']:.0f} µs, ", end="")
    print(
        f"decision {micros['decision']:.1f} µs, looking at the draft's own probability {micros['reading']:.1f} µs, ",
        end="",
    )
    print(f"one more row {CostModel.from_dict(costs).row() * 1e6:.0f} µs")
    print(f"  {'':44} predicted  measured")
    for row in result["settings"]:
        promise = f"{row['predicted']:9.2f}" if row["predicted"] else f"{'':9}"
        print(f"  {row['label']:44} {promise} {row['measured']:9.2f}")
    for row in result["elsewhere"]:
        print(f"  on other prompts: {row['label']:26} {'':9} {row['measured']:9.2f}")
    for bar in result["bars"]:
        sign = "<=" if bar["at_most"] else ">="
        print(f"  {bar['what']:44} {bar['figure']:6.3f}   {sign} {bar['bar']:<5} {'yes' if bar['reached'] else 'NO'}")


def measure_all(given: argparse.Namespace) -> None:
    limit, given.limit = given.limit, max(given.limit, given.train)
    bench = read_bench(given)
    whole = Splits.of(bench.prompts)
    material = Splits(whole.training[: given.train], whole.validation[:limit], whole.test[:limit])
    other = Splits.of(read_prompt_file(given.other, None, None)).test[:limit]
    with whole_file(given.json) if given.json else nullcontext() as file:
        pair, loaded = ready_pair(bench)
        results = {}
        for title, sampling in (
            ("default sampling", bench.sampling),
            ("greedy", Sampling(max_new_tokens=bench.sampling.max_new_tokens)),
        ):
            results[title] = measure(pair, material, other, sampling, given.repeats)
            show(results[title], title)
        if file:
            json.dump({"hardware": loaded.hardware, "results": results}, file, indent=2)
