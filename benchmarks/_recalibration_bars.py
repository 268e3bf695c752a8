"""Recalibration's bars, measured for `bench recalibration`."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from benchmarks._disco_bars import run, say
from benchmarks._engine_bars import Bar
from decoding.disco import training
from decoding.disco.classifier import Classifier
from decoding.disco.designs import USUAL
from decoding.disco.making import Recorded, Step, record
from decoding.disco.prices import about
from decoding.disco.splits import Splits
from decoding.measure.comparison import Comparison
from decoding.pair import Pair
from decoding.prices.cost_model import CostModel
from decoding.prompts.prompt import Prompt
from decoding.replay import probing
from decoding.replay.planning import CAP, HEURISTIC, STATICS, Rows, Study, price_of_a_token, sweep
from decoding.replay.weighing import settle_prices
from decoding.spec import Choice, Sampling, choose
from decoding.strategies.disco import AsTrained, Priced
from decoding.strategy import Policy
from worker.terminal.bench import Bench, read_bench
from worker.terminal.files import whole_file
from worker.terminal.loading import load_pair
from worker.terminal.prompt_files import read_prompt_file

Where = tuple[str, str]  # prompt set, sampling
THRESHOLDS = [choose("threshold", {"threshold": step / 20, "cap": cap}) for step in range(1, 20) for cap in (8, CAP)]
PLAIN = [*STATICS, HEURISTIC, *THRESHOLDS]
SPIN = "while True: pass"
FACTORS = (1.0, 0.25, 4.0)  # of the price of drafting on a card; 1: the right one


@dataclass(frozen=True)
class Trained:
    """A classifier, where it learnt, and its price in tokens."""

    where: Where
    network: str
    classifier: Classifier
    price: float
    busy_price: float  # at prices taken while other processes used the machine

    @property
    def name(self) -> str:
        return f"{', '.join(self.where)}, {self.network}"

    def with_card(self) -> Classifier:
        card = {"thresholds": {"priced": self.price, "threshold": 0.5}}
        return dataclasses.replace(self.classifier, card=card)


@dataclass(frozen=True)
class Cell:
    """One classifier on one kind of text: tokens per second over the best plain rule's."""

    where: Where
    classifier: str
    is_right: bool
    as_trained: float
    recalibrated: float
    busy: float  # recalibrated, with the busy machine's price

    @property
    def kept(self) -> float:
        """Recalibrated over as trained."""
        return self.recalibrated / self.as_trained


@dataclass(frozen=True)
class Spoiled:
    """A classifier whose card has the draft's price times a factor, on its own kind of text. Speeds are relative to
    those at the right price."""

    factor: float
    card_price: float
    used_price: float  # as a run with the true costs finds it
    as_spoiled: float
    used: float
    classifier: Classifier

    @property
    def name(self) -> str:
        return "right" if self.factor == 1.0 else f"card x{self.factor:g}"


def spoiled(of: Trained, recorded: Recorded, costs: CostModel) -> list[Spoiled]:
    estimates = recorded.test.estimates(of.classifier)

    def speed(price: float) -> float:
        return costs.tokens_per_s(recorded.test.count(lambda: Priced(price, CAP), estimates), "estimate")

    def made(factor: float) -> Spoiled:
        wrong = dataclasses.replace(costs, steps={1: [(1, factor * costs.draft(1))]})
        price = price_of_a_token(recorded.validation, wrong, of.classifier)
        card = {"thresholds": {"priced": price, "threshold": 0.5}, "costs": wrong.for_one(), "sweep": shape}
        classifier = dataclasses.replace(of.classifier, card=card)
        used = classifier.at(costs).tuned("priced")
        return Spoiled(factor, price, used, speed(price) / right, speed(used) / right, classifier)

    shape, right = sweep(recorded.validation, costs, of.classifier), speed(of.price)
    return [made(factor) for factor in FACTORS]


def trained(where: Where, recorded: Recorded, costs: CostModel, busy: CostModel) -> list[Trained]:
    parts = [training.label(part.recordings) for part in (recorded.training, recorded.validation)]
    found = []
    for network in USUAL.networks():
        classifier = USUAL.train(network, parts[0], parts[1])
        prices = [price_of_a_token(recorded.validation, each, classifier) for each in (costs, busy)]
        found.append(Trained(where, network.name, classifier, *prices))
    return found


def best_plain(study: Study, costs: CostModel) -> Choice:
    return max(PLAIN, key=lambda choice: costs.tokens_per_s(study.play(choice), choice.policy().sees))


def cell(where: Where, recorded: Recorded, plain: Choice, of: Trained, costs: CostModel) -> Cell:
    test = recorded.test
    estimates: Rows = test.estimates(of.classifier)
    least = costs.tokens_per_s(test.play(plain), plain.policy().sees)

    def speed(policy: Callable[[], Policy]) -> float:
        return costs.tokens_per_s(test.count(policy, estimates), "estimate") / least

    return Cell(
        where,
        of.name,
        where == of.where,
        speed(lambda: AsTrained(of.price, CAP)),
        speed(lambda: Priced(of.price, CAP)),
        speed(lambda: Priced(of.busy_price, CAP)),
    )


@contextlib.contextmanager
def busy_machine() -> Iterator[None]:
    """Keep every core busy with another process."""
    others = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def prices(pair: Pair, prompts: Sequence[Prompt], sampling: Sampling) -> tuple[CostModel, CostModel]:
    """CostModel by the pair's own card if it has one, and as measured on a busy machine."""
    own = pair.classifier_at("")
    with busy_machine():
        busy = probing.probe(pair, prompts, sampling, "" if own else None)
    quiet = CostModel.from_dict(pair.classifier("").card["costs"]) if own else probing.probe(pair, prompts, sampling)
    return quiet, busy


def replayed(
    recordings: Mapping[Where, Recorded], costs: CostModel, busy: CostModel
) -> tuple[list[Cell], list[Trained]]:
    classifiers = [each for where, recorded in recordings.items() for each in trained(where, recorded, costs, busy)]
    cells = []
    for number, (where, recorded) in enumerate(recordings.items(), start=1):
        plain = best_plain(recorded.validation, costs)
        cells += [cell(where, recorded, plain, each, costs) for each in classifiers]
        say(Step("replaying", number, len(recordings)))
    return cells, classifiers


def confirmed(
    pair: Pair,
    prompts: Sequence[Prompt],
    sampling: Sampling,
    plain: Choice,
    classifiers: Mapping[str, Classifier],
) -> list[dict[str, Any]]:
    """Run these classifiers, both ways, beside the best plain rule, after the run has weighed its passes."""
    for name, each in classifiers.items():
        pair.hold(name, each)
    choices = [choose("autoregressive"), plain] + [
        choose("disco", {"classifier": name, "recalibrate": way}) for name in classifiers for way in (True, False)
    ]
    began = time.perf_counter()
    prices = settle_prices(Comparison(pair, prompts, choices, sampling), {})
    say(Step(f"weighing took {time.perf_counter() - began:.1f} s", 1, 1))
    done = run(pair, prompts, choices, sampling, 1)
    return [
        {
            "label": each.label,
            "over_plain": done.ratio(each, plain),
            "price": about(prices.get(str(each.params.get("classifier"))), each.price_rule),
        }
        for each in choices[1:]
    ]


def bars_of(cells: Sequence[Cell], cards: Sequence[Spoiled]) -> list[Bar]:
    right, wrong = ([each for each in cells if each.is_right is is_right] for is_right in (True, False))
    return [
        Bar("wrong classifier / best plain rule, worst", min(each.recalibrated for each in wrong), 0.97),
        Bar("right classifier, busy prices / best plain rule, worst", min(each.busy for each in right), 0.97),
        Bar("right classifier / as trained, worst", min(each.kept for each in right), 0.99),
        Bar("card with the draft 4x too dear or cheap / right card, worst", min(each.used for each in cards), 0.99),
    ]


def measure_all(given: argparse.Namespace) -> None:
    bench = read_bench(given, None, all_splits=True)
    sets = {"code": bench.prompts, "prose": read_prompt_file(given.other, None, None)}
    with whole_file(given.json) if given.json else nullcontext() as file:
        result = _measured(bench, sets, given)
        show(result)
        if file:
            json.dump(result, file, indent=2)


def _measured(bench: Bench, sets: Mapping[str, Sequence[Prompt]], given: argparse.Namespace) -> dict[str, Any]:
    ready = load_pair(dataclasses.replace(bench, prompts=[prompt for each in sets.values() for prompt in each]))
    materials = {name: _some(Splits.of(prompts), given) for name, prompts in sets.items()}
    samplings = {"greedy": Sampling(max_new_tokens=bench.sampling.max_new_tokens), "warm": bench.sampling}
    recordings = {
        (name, how): record(ready.pair, material, sampling, on_progress=say)
        for name, material in materials.items()
        for how, sampling in samplings.items()
    }
    costs, busy = prices(ready.pair, materials["code"].validation, bench.sampling)
    cells, classifiers = replayed(recordings, costs, busy)
    here: Where = ("code", "warm")
    right = next(each for each in classifiers if each.where == here)
    worst = min((each for each in cells if each.where == here), key=lambda each: each.as_trained)
    wrong = next(each for each in classifiers if each.name == worst.classifier)
    plain = best_plain(recordings[here].validation, costs)
    cards = spoiled(right, recordings[here], costs)
    chosen = {"wrong": wrong.with_card(), **{each.name: each.classifier for each in cards}}
    ran = confirmed(ready.pair, materials["code"].test[: given.run], bench.sampling, plain, chosen)
    return {
        "cells": [{**dataclasses.asdict(each), "kept": each.kept} for each in cells],
        "prices": {each.name: [each.price, each.busy_price] for each in classifiers},
        "bars": [{**dataclasses.asdict(bar), "reached": bar.reached} for bar in bars_of(cells, cards)],
        "spoiled": [{name: value for name, value in vars(each).items() if name != "classifier"} for each in cards],
        "ran": {"wrong": wrong.name, "right": right.name, "prompts": given.run, "rows": ran},
        "hardware": dataclasses.asdict(ready.target.runner.facts),
    }


def _some(whole: Splits, given: argparse.Namespace) -> Splits:
    limit = given.limit
    return Splits(whole.training[: given.train], whole.validation[:limit], whole.test[:limit])


def show(result: Mapping[str, Any]) -> None:
    print("\r\x1b[K\nTokens per second over the best plain rule's, by replay on test prompts:")
    print(f"  {'text':14} {'classifier':42} {'as trained':>10} {'recalibrated':>13} {'busy price':>11}")
    for row in result["cells"]:
        figures = f"{row['as_trained']:10.3f} {row['recalibrated']:13.3f} {row['busy']:11.3f}"
        print(
            f"  {', '.join(row['where']):14} {row['classifier']:42} {figures}{'  its own' if row['is_right'] else ''}"
        )
    for row in result["spoiled"]:
        print(
            f"  Card with the draft's price x{row['factor']:g}: a token costs {row['card_price']:.3f}, used "
            f"{row['used_price']:.3f}; speed over the right card's {row['as_spoiled']:.3f}, as used {row['used']:.3f}"
        )
    print(f"\nRun side by side on {result['ran']['prompts']} prompts; wrong: {result['ran']['wrong']}")
    for row in result["ran"]["rows"]:
        price = f"   {row['price']['sentence']}" if row["price"] else ""
        print(f"  {row['label']:56} {row['over_plain']:6.3f}{price}")
    for bar in result["bars"]:
        print(f"  {bar['what']:56} {bar['figure']:6.3f}   >= {bar['bar']:<5} {'yes' if bar['reached'] else 'NO'}")
