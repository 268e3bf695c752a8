"""SSD's bars, measured for `bench ssd`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import torch
import transformers

from benchmarks import _ssd_figures as figures
from benchmarks._ssd_figures import Contestant, Run, Runs
from benchmarks.ssd import STARTER
from decoding.backends.pair import ModelPair
from decoding.choice import choose
from decoding.dice.sampling import Sampling
from decoding.disco.classifier import DraftClassifier, load_classifier
from decoding.errors import DrafthouseError
from decoding.measure.measurement import Measurement
from decoding.measure.sample import sample_from_events
from decoding.measure.schedule import SampleKey
from decoding.models.checkpoints import load
from decoding.models.devices import set_threads
from decoding.prompts.prompt import PromptItem, read_prompts
from decoding.replay.weighing import settle_prices
from decoding.ssd.transport.draft_process import process_for
from decoding.trace.events import Recorder
from decoding.training.making import make_classifier
from decoding.training.splits import Splits

OURS = "ours"  # name by which the pair holds the classifier
BASE: dict[str, object] = {"lookahead": 4, "branches": 12, "fanout": "geometric", "backup": "auto"}
SWEPT: dict[str, Sequence[object]] = {
    "lookahead": (2, 3, 6, 8),
    "branches": (4, 8, 10, 24),
    "fanout": ("uniform", "measured"),
    "backup": ("neural", "ngram", "random"),
}
DISCO: Sequence[dict[str, object]] = (  # all but the third use lookahead and branches that SSD tries too
    *({"cap": 8, "branches": branches} for branches in (6, 12, 24, 8)),
    *({"cap": 4, "branches": branches} for branches in (8, 12)),
    *({"cap": cap, "branches": 8} for cap in (5, 6)),
)
DEEP = ((5, 8), (6, 8), (8, 6), (8, 8))  # lookahead and branches: the work of these equals that of 4 and 12
FEW = (2, 3, 4, 8)  # branches that the default is compared with
TEMPERATURES = (0.0, 0.3, 0.7, 1.0)
CONSTANTS = (1.0, 0.5, 0.2)


def ssd(**changed: object) -> Contestant:
    return Contestant(choose("ssd", {**BASE, **changed}), 2)


def contestants(is_quick: bool, with_classifier: bool) -> list[Contestant]:
    """Settings to try. SSD varies one setting at a time from the base, and has longer drafts with fewer branches;
    static runs every lookahead, on one core and on both."""
    found = [Contestant(choose("autoregressive"), cores) for cores in (1, 2)]
    lookaheads = (1, 2, 3, 4) if is_quick else range(1, 9)
    found += [Contestant(choose("static", {"lookahead": k}), cores) for cores in (1, 2) for k in lookaheads]
    found.append(ssd())
    swept = {"lookahead": (2, 3)} if is_quick else SWEPT
    found += [ssd(**{name: value}) for name, values in swept.items() for value in values]
    if not is_quick:
        found += [ssd(lookahead=lookahead, branches=branches) for lookahead, branches in DEEP]
    if with_classifier:
        tried = DISCO[1:2] if is_quick else DISCO
        found += [Contestant(choose("ssd-disco", {**params, "classifier": OURS}), 2) for params in tried]
    return found


def by_default(with_classifier: bool) -> list[Contestant]:
    """Return `ssd` and `disco` as they are by default, and the settings that might have been better."""
    found = [Contestant(choose("static", {"lookahead": k}), 1) for k in (1, 2, 3, 4, 5)]
    found.append(Contestant(choose("ssd"), 2))
    found += [
        Contestant(choose("ssd", {"lookahead": k, "branches": branches}), 2) for k in (2, 3, 4) for branches in FEW
    ]
    if with_classifier:
        found.append(Contestant(choose("disco", {"classifier": OURS}), 1))
        found.append(Contestant(choose("ssd-disco", {"classifier": OURS}), 2))
    return found


def luck() -> list[tuple[Sampling, Contestant]]:
    """Sampling and contestants for hit rates by temperature, dice and Saguaro's constant."""
    found = [
        (Sampling(temperature=temperature, dice=dice), ssd(backup="neural"))
        for temperature in TEMPERATURES
        for dice in ("shared", "ratio")
        if temperature or dice == "shared"
    ]
    return found + [(Sampling(temperature=1.0, dice="ratio"), ssd(backup="neural", constant=c)) for c in CONSTANTS[1:]]


def decode(comparison: Measurement, contestant: Contestant, prompt: PromptItem, repeat: int) -> Run:
    set_threads(contestant.cores)
    recorder = Recorder()
    decoded = comparison.decode(SampleKey(contestant.choice, prompt, repeat), recorder)
    sample = sample_from_events(
        recorder.events,
        choice=contestant.choice,
        prompt=prompt.id,
        category=prompt.category,
        repeat=repeat,
        tokens=decoded.tokens,
        text="",
    )
    return Run(sample, recorder.events)


def race(comparison: Measurement, racers: Sequence[Contestant], repeats: int, minutes: float) -> tuple[Runs, int]:
    """Run all contestants on as many prompts as the time allows. Returns the runs and the number of prompts, which is
    printed first."""
    began = time.perf_counter()
    for racer in racers:
        decode(comparison, racer, comparison.prompts[0], 0)  # warm-up, not counted
    per_prompt = (time.perf_counter() - began) * repeats
    count = max(1, min(len(comparison.prompts), int(minutes * 60 / per_prompt)))
    say(f"  {len(racers)} contestants on {count} prompts x {repeats}: about {count * per_prompt / 60:.0f} minutes")
    runs: Runs = {racer: [] for racer in racers}
    for repeat in range(repeats):
        for number, prompt in enumerate(comparison.prompts[:count]):
            turn = (number + repeat) % len(racers)
            for racer in (*racers[turn:], *racers[:turn]):
                runs[racer].append(decode(comparison, racer, prompt, repeat))
    return runs, count


def measure(
    pair: ModelPair, prompts: Mapping[str, Sequence[PromptItem]], sampling: Sampling, given: argparse.Namespace
) -> dict[str, Any]:
    """Try all settings on one part of the prompts, run the fastest on the other. The first part gets 2/3 of the
    time."""
    racers = contestants(given.quick, pair.classifier_at(OURS) is not None)
    sweep = Measurement(pair, prompts["chosen on"], [racer.choice for racer in racers], sampling)
    tried, seen = race(sweep, racers, given.repeats, given.minutes * 2 / 3)
    finalists = figures.finalists(tried)
    final = Measurement(pair, prompts["measured on"], [racer.choice for racer in finalists], sampling)
    runs, count = race(final, finalists, given.repeats, given.minutes / 3)
    set_threads(1)
    return {
        "sampling": sampling.to_dict(),
        "repeats": given.repeats,
        "chosen on": f"{seen} {prompts['chosen on'][0].split or 'unsplit'} prompts",
        "measured on": f"{count} {prompts['measured on'][0].split or 'unsplit'} prompts",
        "sweep": figures.sweep(tried),
        **figures.measured(runs, tried),
    }


def measure_defaults(pair: ModelPair, prompts: Sequence[PromptItem], given: argparse.Namespace) -> dict[str, Any]:
    """Run the defaults beside the settings that might be better, prompt by prompt, in both samplings."""
    suited, results = json.loads((STARTER / "defaults.json").read_text())["sampling"], dict[str, Any]()
    for title, changed in {"default sampling": {}, "greedy": {"temperature": 0.0}}.items():
        say(f"\n{title}")
        sampling = Sampling(max_new_tokens=given.max_new_tokens, **{**suited, **changed})
        ready = with_classifier(pair, prompts, sampling, given)
        racers = by_default(given.classifier is not None)
        comparison = Measurement(ready, prompts, [racer.choice for racer in racers], sampling)
        settle_prices(comparison, {})
        runs, count = race(comparison, racers, given.repeats, given.minutes / 2)
        results[title] = {
            "sampling": sampling.to_dict(),
            "measured on": f"{count} prompts x {given.repeats}",
            **figures.sweep(runs),
            "bars": figures.bars_of_defaults(runs, is_greedy=sampling.is_greedy),
        }
        figures.show_table(results[title], say)
        figures.show_bars(results[title]["bars"], say)
    return results


def measure_luck(pair: ModelPair, prompts: Sequence[PromptItem], given: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure hit rates by sampling. Every sampling decodes a prompt before the next prompt."""
    rows = []
    for sampling, racer in luck():
        sampling = dataclasses.replace(sampling, max_new_tokens=given.max_new_tokens)
        comparison = Measurement(pair, prompts, [racer.choice], sampling)
        pair.begin([racer.choice])
        runs = [decode(comparison, racer, prompt, 0) for prompt in prompts]
        rows.append(
            {
                "temperature": sampling.temperature,
                "dice": sampling.dice,
                "constant": racer.choice.params["constant"],
                **figures.hits(runs),
            }
        )
    return rows


def with_classifier(
    pair: ModelPair, prompts: Sequence[PromptItem], sampling: Sampling, given: argparse.Namespace
) -> ModelPair:
    """Add the given classifier to the pair, or train one for this sampling, if there are enough prompts."""
    classifier: DraftClassifier | None = given.classifier
    if classifier is None and given.train:
        say(f"  training a classifier on {given.train} prompts")
        try:
            classifier = make_classifier(pair, Splits.of(_some(prompts, given.train)), sampling)
        except DrafthouseError as error:
            say(f"  no ssd-disco: {error}")
    if classifier is None:
        return dataclasses.replace(pair, classifier_at=lambda name: None)
    found = dataclasses.replace(pair, classifier_at=lambda name: STARTER)
    found.hold(OURS, classifier)
    return found


def _some(prompts: Sequence[PromptItem], count: int) -> list[PromptItem]:
    """Take `count` prompts for training, and a quarter as many each for validation and test."""
    quota = {"train": count, "validation": max(1, count // 4), "test": max(1, count // 4)}
    return [p for split, most in quota.items() for p in [p for p in prompts if p.split == split][:most]]


def say(line: str) -> None:
    print(line, flush=True)


def measure_all(given: argparse.Namespace, refuse: Callable[[str], NoReturn]) -> None:
    transformers.utils.logging.set_verbosity_error()
    try:
        set_threads(1)
        prompts = _prompts(given)
        given.classifier = load_classifier(given.classifier) if given.classifier else None
        pair = _pair(given)
        pair.begin([ssd().choice])
    except (DrafthouseError, OSError) as error:
        refuse(str(error))
    try:
        if given.defaults:
            document = measure_defaults(pair, prompts["measured on"], given)
        else:
            document = _results(pair, prompts, given)
    finally:
        pair.close()
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(document, indent=2) + "\n")


def _pair(given: argparse.Namespace) -> ModelPair:
    target, draft = load(given.target), load(given.draft)
    return ModelPair(
        target=target.runner,
        draft=draft.runner,
        tokenizer=target.tokenizer,
        end_tokens=frozenset(),  # all texts have equal length
        dtype=torch.float32,
        target_folder=given.target,
        draft_folder=given.draft,
        draft_process=process_for(given.draft, "auto", draft.runner.context),
    )


def _prompts(given: argparse.Namespace) -> dict[str, list[PromptItem]]:
    """All prompts, those to choose settings by and those to measure on. The latter two are the same if prompts have no
    split."""
    every = read_prompts(given.prompts.read_text(), given.prompts.name)
    of = {split: [prompt for prompt in every if prompt.split == split] for split in ("validation", "test")}
    measured = (of["test"] or every)[: given.limit]
    return {"all": every, "chosen on": of["validation"][: given.limit] or measured, "measured on": measured}


def _results(pair: ModelPair, prompts: Mapping[str, Sequence[PromptItem]], given: argparse.Namespace) -> dict[str, Any]:
    facts = pair.target.facts  # type: ignore[attr-defined]
    cores = pair.draft_process.cores if pair.draft_process else None
    say(f"{facts.device_name}; {cores}")
    suited = json.loads((STARTER / "defaults.json").read_text())["sampling"]
    results: dict[str, Any] = {}
    for title, chosen in {"default sampling": suited, "greedy": {}}.items():
        say(f"\n{title}")
        sampling = Sampling(max_new_tokens=given.max_new_tokens, **chosen)
        results[title] = measure(with_classifier(pair, prompts["all"], sampling, given), prompts, sampling, given)
        figures.show(results[title], say)
    say("\nhits by temperature, dice and Saguaro's constant")
    results["hits"] = measure_luck(pair, prompts["measured on"][: 2 if given.quick else 8], given)
    results["bars"] = figures.bars_of_luck(results["hits"])
    figures.show_hits(results["hits"], say)
    figures.show_bars(results["bars"], say)
    return {
        "hardware": {**dataclasses.asdict(facts), "cores": str(cores)},
        "torch": torch.__version__,
        "results": results,
    }
