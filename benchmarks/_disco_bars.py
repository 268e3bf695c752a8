"""Measures the bars of DISCO, for `bench disco`."""

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
from decoding import probing
from decoding.choosing import Look
from decoding.comparison import Comparison, Key
from decoding.costs import Costs, decision_cost
from decoding.disco import making
from decoding.disco.ceiling import ceiling
from decoding.disco.classifier import Classifier
from decoding.disco.making import Material, Step
from decoding.disco.stops import stop_of
from decoding.drafters.base import Draft
from decoding.drafters.rule import DraftStep, StopRule
from decoding.events import Drafted, Event, EventSink, Recorder
from decoding.pair import Pair
from decoding.planning import CAP, Study, best, predict
from decoding.prompts import Prompt
from decoding.spec import Choice, Sampling, choose
from decoding.stopping import FixedLength
from decoding.summary import Sample, speedup
from decoding.verify import Verdict
from worker.terminal.arguments import read_bench, read_prompt_file
from worker.terminal.files import whole_file
from worker.terminal.loading import load_pair

AUTOREGRESSIVE, HEURISTIC, ORACLE = choose("autoregressive"), choose("heuristic"), choose("oracle", {"cap": CAP})
OURS = "ours"  # what the pair calls the classifier


@dataclass(frozen=True)
class Settings:
    """What validation prompts chose."""

    static: Choice
    threshold: Choice
    rules: tuple[Choice, ...]  # DISCO's two, the better first

    @property
    def rivals(self) -> list[Choice]:
        """The chosen static lookahead with its neighbours, so that a poor choice is seen."""
        chosen = int(self.static.params["lookahead"])
        return [choose("static", {"lookahead": n}) for n in (chosen - 1, chosen, chosen + 1) if n]

    @property
    def all(self) -> list[Choice]:
        return [AUTOREGRESSIVE, *self.rivals, HEURISTIC, self.threshold, *self.rules, ORACLE]


@dataclass
class Run:
    """All settings side by side on one prompt set."""

    samples: dict[str, list[Sample]]
    traces: dict[str, list[Sequence[Event]]]

    def ratio(self, choice: Choice, other: Choice) -> float:
        found = speedup(self.samples[choice.label], self.samples[other.label])
        return found.median if found else float("nan")

    @property
    def queued(self) -> list[Sequence[Event]]:
        """Traces of drafts that nobody looked at while they grew."""
        looking = ("threshold", "disco", "oracle")
        return [trace for label, of_one in self.traces.items() if not label.startswith(looking) for trace in of_one]

    @property
    def divergent(self) -> int:
        return sum(s.audit.outcome == "divergent" for of_one in self.samples.values() for s in of_one if s.audit)


def chosen_on(validation: Study, costs: Costs, classifier: Classifier) -> Settings:
    found = predict(validation, costs, classifier)
    said, speeds = validation.estimates(classifier), {}
    for rule, count in (("priced", validation.priced), ("threshold", validation.classified)):
        counts = count(said, classifier.tuned(rule), CAP)
        speeds[choose("disco", {"rule": rule, "classifier": OURS}).label] = costs.tokens_per_s(counts, decides=True)
    rules = [choose("disco", {"rule": rule, "classifier": OURS}) for rule in ("priced", "threshold")]
    rules.sort(key=lambda choice: -speeds[choice.label])
    return Settings(best(found, "static").choice, best(found, "threshold").choice, tuple(rules))


def predicted(test: Study, costs: Costs, classifier: Classifier, settings: Settings) -> dict[str, float]:
    """By label, for the settings that were run."""
    said, baseline = test.estimates(classifier), test.static(0)
    of_rules = {"priced": test.priced, "threshold": test.classified}
    limit = settings.threshold.params
    counts = {
        **{choice.label: test.static(int(choice.params["lookahead"])) for choice in settings.rivals},
        HEURISTIC.label: test.heuristic(int(HEURISTIC.params["initial"])),
    }
    speeds = {label: costs.speedup(of_one, baseline) for label, of_one in counts.items()}
    confident = test.confidence(float(limit["threshold"]), int(limit["cap"]))
    speeds[settings.threshold.label] = costs.speedup(confident, baseline, reads=True)
    for choice in settings.rules:
        rule = str(choice.params["rule"])
        of_one = of_rules[rule](said, classifier.tuned(rule), CAP)
        speeds[choice.label] = costs.speedup(of_one, baseline, decides=True)
    return speeds


def as_it_ran(test: Study, costs: Costs, done: Run) -> float:
    """The oracle's speed-up by replay, with what its peeking takes from the draft's caches. That price is the run's
    own, since nothing else peeks."""
    peeking = decision_cost(done.traces[ORACLE.label], done.queued)
    paying = dataclasses.replace(costs, decision=peeking)
    return paying.speedup(test.oracle(CAP), test.static(0), decides=True)


def run(pair: Pair, prompts: Sequence[Prompt], choices: Sequence[Choice], sampling: Sampling, repeats: int) -> Run:
    done = Run({choice.label: [] for choice in choices}, {choice.label: [] for choice in choices})

    def sink_for(key: Key) -> EventSink:
        recorder = Recorder()
        done.traces[key.choice.label].append(recorder.events)
        return recorder

    comparison = Comparison(pair, prompts, choices, sampling, repeats, sink_for=sink_for)
    comparison.warm_up()
    for group in comparison.run():
        for sample in group:
            done.samples[sample.strategy].append(sample)
    return done


@dataclass
class Heedless:
    """Asks a rule after every token and goes on whatever it says: what such drafts take longer is what asking takes."""

    lookahead: int
    rule: StopRule
    reads = True
    estimates: Sequence[float] = ()

    @property
    def look(self) -> Look | None:
        return self.rule.look

    def should_stop(self, step: DraftStep) -> bool:
        self.rule.should_stop(step)
        return False

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        self.rule.observe(draft, verdict)


def asking(pair: Pair, prompts: Sequence[Prompt], sampling: Sampling, lookahead: int) -> float:
    """By what share a draft of so many tokens takes longer with a decision after each, caches and all. The text is
    fixed, so both ways have the very same rounds: the median over them."""
    comparison, classifier = Comparison(pair, prompts, [AUTOREGRESSIVE], sampling), pair.classifier(OURS)
    ratios = list[float]()
    for turn, prompt in enumerate(prompts):
        ways: list[StopRule] = [
            Heedless(lookahead, stop_of("priced", lookahead, classifier, classifier.tuned("priced"))),
            FixedLength(lookahead),
        ]
        order = (0, 1) if turn % 2 else (1, 0)
        times = {way: _times(probing.ruled(comparison, prompt, ways[way])) for way in order}
        ratios += [asked / unasked for asked, unasked in zip(times[0], times[1], strict=True)]
    return statistics.median(ratios) - 1


def _times(trace: Sequence[Event]) -> list[int]:
    return [event.end_ns - event.start_ns for event in trace if isinstance(event, Drafted)]


def bars_of(
    done: Run, elsewhere: Run, settings: Settings, costs: Costs, asked: float, promised: dict[str, float], bound: float
) -> list[Bar]:
    """`asked` is what decisions take of a whole draft; `bound` what the oracle would bring if its asking the target
    left no cold caches behind."""
    disco, static = settings.rules[0], settings.static
    gain, least = done.ratio(disco, AUTOREGRESSIVE), done.ratio(static, AUTOREGRESSIVE)
    measured = {choice.label: done.ratio(choice, AUTOREGRESSIVE) for choice in settings.all}
    worst = max(abs(promise / measured[label] - 1) for label, promise in promised.items())
    return [
        Bar(f"{disco.params['rule']} / best static ({static.label})", done.ratio(disco, static), 1.10),
        Bar("share of the gap to the oracle by replay", (gain - least) / (bound - least), 0.5),
        Bar(f"{disco.params['rule']} / heuristic", done.ratio(disco, HEURISTIC), 1.30),
        Bar("a decision, timed alone / a drafted token", costs.decision / costs.draft, 0.03, at_most=True),
        Bar("a draft with decisions, longer by", asked, 0.03, at_most=True),
        Bar("replay's worst prediction, off by", worst, 0.05, at_most=True),
        Bar("texts that diverge", done.divergent + elsewhere.divergent, 0, at_most=True),
        Bar("on other prompts, over autoregressive", elsewhere.ratio(disco, AUTOREGRESSIVE), 1.0),
    ]


def measure(
    pair: Pair, material: Material, other: Sequence[Prompt], sampling: Sampling, repeats: int
) -> dict[str, Any]:
    recorded = making.record(pair, material, sampling, told=say)
    classifier = making.learn(pair, recorded, material, sampling, told=say)
    pair.hold(OURS, classifier)
    validation, test, costs = recorded.validation, recorded.test, Costs(**classifier.card["costs"])
    settings = chosen_on(validation, costs, classifier)
    promised = predicted(test, costs, classifier, settings)
    replayed = ceiling(validation, test, costs, classifier)
    done = run(pair, material.test, settings.all, sampling, repeats)
    promised[ORACLE.label] = as_it_ran(test, costs, done)
    there = [AUTOREGRESSIVE, settings.static, *settings.rules]
    elsewhere = run(pair, other, there, sampling, repeats)
    asked = asking(pair, material.test, sampling, int(settings.static.params["lookahead"]))
    bars = bars_of(done, elsewhere, settings, costs, asked, promised, replayed.measured.oracle)
    return {
        "sampling": sampling.to_dict(),
        "prompts": {"training": len(material.training), "test": len(material.test), "repeats": repeats},
        "looks_at": classifier.card["looks_at"],
        "auc": classifier.card["metrics"]["auc"],
        "ablations": classifier.card["ablations"],
        "thresholds": classifier.card["thresholds"],
        "costs": dataclasses.asdict(costs),
        "settings": [
            {"label": c.label, "predicted": promised.get(c.label), "measured": done.ratio(c, AUTOREGRESSIVE)}
            for c in settings.all
        ],
        "elsewhere": [{"label": c.label, "measured": elsewhere.ratio(c, AUTOREGRESSIVE)} for c in there],
        "bars": [{**dataclasses.asdict(bar), "reached": bar.reached} for bar in bars],
        "ceiling": dataclasses.asdict(replayed),
    }


def say(step: Step) -> None:
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
    print(f"one more row {Costs(**costs).row() * 1e6:.0f} µs")
    print(f"  {'':44} predicted  measured")
    for row in result["settings"]:
        promise = f"{row['predicted']:9.2f}" if row["predicted"] else f"{'':9}"
        print(f"  {row['label']:44} {promise} {row['measured']:9.2f}")
    for row in result["elsewhere"]:
        print(f"  on other prompts: {row['label']:26} {'':9} {row['measured']:9.2f}")
    for bar in result["bars"]:
        sign = "<=" if bar["at_most"] else ">="
        print(f"  {bar['what']:44} {bar['figure']:6.3f}   {sign} {bar['bar']:<5} {'yes' if bar['reached'] else 'NO'}")

    show_ceiling(result["ceiling"])


def show_ceiling(found: dict[str, Any]) -> None:
    print("  by replay alone:                     static  heuristic   disco  oracle   disco/static  oracle/static")
    for name in ("measured", "free_decision"):
        show_standing(found[name], found[name]["name"])
    for rows, title in (("by_draft_cost", ""), ("by_draft_cost_free_rows", ", rows free")):
        for standing in found[rows]:
            show_standing(standing, f"drafting at {standing['name']} of a pass{title}")
    for third in found["by_variance"]:
        show_standing(third["standing"], f"oracle's lookahead {third['mean']:.1f} ± {third['deviation']:.1f}")


def show_standing(row: dict[str, Any], name: str) -> None:
    static, disco, oracle = row["static"], row["disco"], row["oracle"]
    print(
        f"  {name:34} {static:5.2f} :{row['lookahead']:<2} {row['heuristic']:7.2f} {disco:7.2f} {oracle:7.2f} "
        f"{disco / static:14.3f} {oracle / static:14.3f}"
    )


def measure_all(given: argparse.Namespace) -> None:
    limit, given.limit = given.limit, max(given.limit, given.train)
    bench = read_bench(given, None, all_splits=True)
    whole = Material.of(bench.prompts)
    material = Material(whole.training[: given.train], whole.validation[:limit], whole.test[:limit])
    other = Material.of(read_prompt_file(given.other, None, None)).test[:limit]
    with whole_file(given.json) if given.json else nullcontext() as file:
        ready = load_pair(bench)
        results = {}
        for title, sampling in (
            ("default sampling", bench.sampling),
            ("greedy", Sampling(max_new_tokens=bench.sampling.max_new_tokens)),
        ):
            results[title] = measure(ready.pair, material, other, sampling, given.repeats)
            show(results[title], title)
        if file:
            json.dump({"hardware": dataclasses.asdict(ready.target.runner.facts), "results": results}, file, indent=2)
