"""DISCO's bars: a classifier trained here and now against every other way to stop, on prompts not used before.

    ./drafthouse bench disco [--target DIR --draft DIR] [--train 500] [--limit 40] [--repeats 2] [--json FILE]

For the pair's default sampling and for greedy decoding: train on one split, choose every setting on the second by
replay, run all of them side by side on the third. Then the same classifier on prompts of another kind. A figure is the
median over prompts of paired ratios; only such ratios mean anything on a shared machine.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers

from benchmarks.engine import Bar
from decoding import planning
from decoding.checkpoints import load
from decoding.comparison import Comparison, Key, Pair
from decoding.costs import Costs, decision_cost
from decoding.devices import set_threads
from decoding.disco.classifier import Classifier
from decoding.disco.making import Material, Step, make_classifier
from decoding.events import Event, EventSink, Recorder
from decoding.planning import CAP, Study, best, predict, study
from decoding.prompts import Prompt, read_prompts
from decoding.spec import Choice, Sampling, choose
from decoding.summary import Sample, speedup

STARTER = Path(__file__).parents[1] / "starter"
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
        settings.threshold.label: test.confidence(float(limit["threshold"]), int(limit["cap"])),
        ORACLE.label: test.oracle(CAP),
    }
    speeds = {label: costs.speedup(of_one, baseline) for label, of_one in counts.items()}
    for choice in settings.rules:
        rule = str(choice.params["rule"])
        of_one = of_rules[rule](said, classifier.tuned(rule), CAP)
        speeds[choice.label] = costs.speedup(of_one, baseline, decides=True)
    return speeds


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


def bars_of(done: Run, elsewhere: Run, settings: Settings, costs: Costs, promised: dict[str, float]) -> list[Bar]:
    disco, static = settings.rules[0], settings.static
    gain, least, bound = (done.ratio(choice, AUTOREGRESSIVE) for choice in (disco, static, ORACLE))
    queued = [trace for choice in settings.rivals for trace in done.traces[choice.label]]
    decision = decision_cost([trace for rule in settings.rules for trace in done.traces[rule.label]], queued)
    measured = {choice.label: done.ratio(choice, AUTOREGRESSIVE) for choice in settings.all}
    worst = max(abs(promise / measured[label] - 1) for label, promise in promised.items())
    return [
        Bar(f"{disco.params['rule']} / best static ({static.label})", done.ratio(disco, static), 1.10),
        Bar("share of the static-to-oracle gap closed", (gain - least) / (bound - least), 0.5),
        Bar(f"{disco.params['rule']} / heuristic", done.ratio(disco, HEURISTIC), 1.30),
        Bar("a decision / a draft step", decision / costs.draft, 0.03, at_most=True),
        Bar("replay's worst prediction, off by", worst, 0.05, at_most=True),
        Bar("texts that diverge", done.divergent + elsewhere.divergent, 0, at_most=True),
        Bar("on other prompts, over autoregressive", elsewhere.ratio(disco, AUTOREGRESSIVE), 1.0),
    ]


def measure(
    pair: Pair, material: Material, other: Sequence[Prompt], sampling: Sampling, limit: int, repeats: int
) -> dict[str, Any]:
    classifier = make_classifier(pair, material, sampling, told=say)
    pair.hold(OURS, classifier)
    validation = study(pair, material.validation[:limit], sampling, tails=True)
    test = study(pair, material.test[:limit], sampling, tails=True)
    costs = planning.probe(pair, material.validation, sampling, OURS)
    settings = chosen_on(validation, costs, classifier)
    promised = predicted(test, costs, classifier, settings)
    done = run(pair, material.test[:limit], settings.all, sampling, repeats)
    there = [AUTOREGRESSIVE, settings.static, *settings.rules]
    elsewhere = run(pair, other[:limit], there, sampling, repeats)
    return {
        "sampling": sampling.to_dict(),
        "prompts": {"training": len(material.training), "test": len(material.test[:limit]), "repeats": repeats},
        "auc": classifier.card["metrics"]["auc"],
        "ablations": classifier.card["ablations"],
        "thresholds": classifier.card["thresholds"],
        "costs": dataclasses.asdict(costs),
        "settings": [
            {"label": c.label, "predicted": promised.get(c.label), "measured": done.ratio(c, AUTOREGRESSIVE)}
            for c in settings.all
        ],
        "elsewhere": [{"label": c.label, "measured": elsewhere.ratio(c, AUTOREGRESSIVE)} for c in there],
        "bars": [
            {**dataclasses.asdict(bar), "reached": bar.reached}
            for bar in bars_of(done, elsewhere, settings, costs, promised)
        ],
    }


def say(step: Step) -> None:
    print(f"\r\x1b[K{step.phase} {step.done}/{step.due}", end="", flush=True)


def show(result: dict[str, Any], title: str) -> None:
    print(
        f"\r\x1b[K\n{title}: trained on {result['prompts']['training']} prompts, area under the ROC {result['auc']:.3f}"
    )
    costs = result["costs"]
    print(f"  verification {costs['target'][1] * 1e6:.0f} µs, drafted token {costs['draft'] * 1e6:.0f} µs, ", end="")
    print(f"decision {costs['decision'] * 1e6:.0f} µs, one more row {Costs(**costs).row() * 1e6:.0f} µs")
    print(f"  {'':44} predicted  measured")
    for row in result["settings"]:
        promise = f"{row['predicted']:9.2f}" if row["predicted"] else f"{'':9}"
        print(f"  {row['label']:44} {promise} {row['measured']:9.2f}")
    for row in result["elsewhere"]:
        print(f"  on other prompts: {row['label']:26} {'':9} {row['measured']:9.2f}")
    for bar in result["bars"]:
        sign = "<=" if bar["at_most"] else ">="
        print(f"  {bar['what']:44} {bar['figure']:6.3f}   {sign} {bar['bar']:<5} {'yes' if bar['reached'] else 'NO'}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="./drafthouse bench disco", description=__doc__.splitlines()[0])
    parser.add_argument("--target", type=Path, default=STARTER / "pair" / "target")
    parser.add_argument("--draft", type=Path, default=STARTER / "pair" / "draft")
    parser.add_argument("--prompts", type=Path, default=STARTER / "prompts" / "code.jsonl")
    parser.add_argument("--other", type=Path, default=STARTER / "prompts" / "prose.jsonl")
    parser.add_argument("--train", type=int, default=500, help="prompts to train on, at most")
    parser.add_argument("--limit", type=int, default=40, help="prompts to choose on, and prompts to run")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--max-new-tokens", type=int, default=128)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()

    transformers.utils.logging.set_verbosity_error()
    set_threads(given.threads)
    target, draft = load(given.target), load(given.draft)
    dtype = getattr(torch, target.runner.facts.dtype)
    pair = Pair(target.runner, draft.runner, target.tokenizer, target.folder.end_tokens, dtype)
    whole = Material.of(read_prompts(given.prompts.read_text(), given.prompts.name))
    material = Material(whole.training[: given.train], whole.validation[: given.limit], whole.test[: given.limit])
    other = Material.of(read_prompts(given.other.read_text(), given.other.name)).test
    defaults = json.loads((STARTER / "defaults.json").read_text())["sampling"]
    settings = {
        "default sampling": Sampling(max_new_tokens=given.max_new_tokens, **defaults),
        "greedy": Sampling(max_new_tokens=given.max_new_tokens),
    }
    results = {}
    for title, sampling in settings.items():
        results[title] = measure(pair, material, other, sampling, given.limit, given.repeats)
        show(results[title], title)
    if given.json:
        document = {"hardware": dataclasses.asdict(target.runner.facts), "results": results}
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
