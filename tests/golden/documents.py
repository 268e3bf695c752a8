"""Answers of replay, plan, simulation, what-if and projection about recorded texts, at prices that are fixed here.

Each is a table: a row is a setting, or one of its answers. They are kept whole, so that a difference can be read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from decoding.choice import Choice, choose, parse_choices
from decoding.dice.sampling import Sampling
from decoding.papers.evidence import Evidence
from decoding.papers.figures import FIGURES
from decoding.papers.shelf import Shelf
from decoding.prices.cost_model import CostModel
from decoding.prices.fit import PricesAtLoad, joined
from decoding.prices.machine_card import Card
from decoding.replay import planning_at_load
from decoding.replay.confirming import document_of
from decoding.replay.planning import RecordedSet, best_of_kinds, predict, study
from decoding.replay.planning_at_load import PlanInputs, predict_at_load, schedule
from decoding.replay.projecting import ProjectionInputs, project
from decoding.replay.ssd.simulator import simulate as simulate_ahead
from decoding.replay.ssd.simulator import simulate_together
from decoding.replay.what_if.places import TracedText
from decoding.replay.what_if.simulation import AheadPrices, RecordedComparison, simulate
from decoding.ssd.speculator.speculator import plan_of
from decoding.strategies import STRATEGIES
from decoding.trace.events import Prompted
from tests.golden import live
from tests.kit.pairs import pair, prompts
from tests.kit.worlds import JOINT as AT_LOAD
from tests.kit.worlds import World, some_classifier

Rows = dict[str, Any]

NEW = 40
SAMPLINGS = {
    "greedy": Sampling(max_new_tokens=NEW),
    "shared": Sampling(temperature=0.9, dice="shared", max_new_tokens=NEW, repetition_penalty=1.2),
}
COSTS = CostModel.of_one((0.0, 10.0, 10.5, 11.0, 12.0), 2.0, 0.5, 0.3, 0.2, decision=0.1, reading=0.05, token=0.01)
FULL = dataclasses.replace(COSTS, tree=0.3, in_tree=0.05, mixing=0.2)
BRANCHES = [(1, 2.0), (2, 2.1), (3, 2.3), (4, 2.6)]
PRICES = dataclasses.replace(COSTS, branches=BRANCHES, opening=2.2, opening_read=0.4, transport=0.05, taking=0.01)
PLACEMENTS = {"one device, in turn": False, "two devices, anytime drafting": True}
USERS = (1, 4)
JOINT = dataclasses.replace(
    FULL,
    **{name: getattr(AT_LOAD, name) for name in ("target", "steps", "begin", "rest", "prompts")},
    branches=[(4, 0.002), (12, 0.003)],
)
RAN = "static:4,tree:2/11/1,ssd:4,branches=6,backup=neural,placement=in-turn"  # what what-if knows the texts from
ASKED = (
    "static:2,static:7,heuristic,threshold:0.4,oracle:5,lookup,lookup:4,ngram=3,suffix,"
    "suffix:0.05,cap=6,suffix:memory=true,hybrid,best-source,tree,tree:rows=16,depth=6,tree:3/21/1"
)
ASKED_AHEAD = (
    "ssd:2,branches=3,backup=neural,ssd:4,branches=12,backup=neural,ssd:4,branches=8,backup=copy,ssd:3,backup=neural"
)
NOT_DRAWN = {"disco-speedups", "disco-sweep", "disco-transfer", "ssd-speedups", "ssd-7-engines", "ssd-5"}
CARD = Card(
    "made up",
    "for tests",
    "assumed",
    target_devices=1,
    draft_devices=1,
    costs=CostModel(
        {texts: [(texts, 1.0), (8 * texts, 1.4), (64 * texts, 4.0)] for texts in (1, 4)},
        {texts: [(texts, 0.1), (8 * texts, 0.12), (64 * texts, 0.3)] for texts in (1, 4)},
        rest=[(1, 0.01)],
        transport=0.01,
        decision=0.002,
        mixing=0.001,
    ),
)


@cache
def recorded(name: str) -> RecordedSet:
    return study(pair(), prompts(8), SAMPLINGS[name], tails=True)


def counts(name: str) -> Rows:
    """Passes that a replay counts of each setting of the live cases."""
    found, classifier = recorded(name), some_classifier()
    choices = [
        one for one in parse_choices(live.LABELS) if one.spec.can_replay and not one.spec.usual_source.prices_rounds
    ]
    rows = {}
    for choice in (one for one in choices if not one.needs_likelihoods):
        counted = found.play(choice, classifier, FULL)
        rows[choice.label] = {name: value for name, value in dataclasses.asdict(counted).items() if name != "parts"}
        rows[choice.label]["rounds"] = {str(drafted): counted.rounds[drafted] for drafted in sorted(counted.rounds)}
    return rows


def planned(name: str) -> Rows:
    """Predicted tokens per second and speed-up of every setting of every grid, and the document's best ones."""
    predictions = predict(recorded(name), FULL, some_classifier())
    rows: Rows = {row.choice.label: [row.tokens_per_s, row.speedup] for row in predictions}
    document = document_of(best_of_kinds(predictions), {}, [], FULL)
    rows |= {f"best {each['label']}": each for each in document["settings"]}
    return rows | {f"elsewhere {number}": each for number, each in enumerate(document["elsewhere"])}


def planned_at_load(name: str) -> Rows:
    material = PlanInputs(recorded(name), JOINT, some_classifier())
    found = predict_at_load(material, USERS)
    rows: Rows = {row.choice.label: [row.tokens_per_s, row.speedup] for of in found.values() for row in of}
    best = {users: best_of_kinds(of) for users, of in found.items()}
    document = planning_at_load.document(best, {}, schedule(found, {}))
    rows |= {f"best {each['label']} for {each['users']}": each for each in document.pop("rows")}
    return rows | document


def played_at_load(name: str) -> Rows:
    """Passes and times of the rounds of each setting of the live cases, for 4 users."""
    material = PlanInputs(recorded(name), JOINT, some_classifier())
    rows = {}
    for choice in parse_choices(live.LABELS):
        if choice.spec.can_replay and not choice.needs_likelihoods:
            run = material.run(choice, 4)
            rounds = [one for request in run.requests for one in request.rounds]
            drafted, passes = (sum(getattr(one, what) for one in rounds) for what in ("drafted", "passes"))
            accepted, ends = sum(one.accepted for one in rounds), [request.end for request in run.requests]
            rows[choice.label] = [len(rounds), drafted, accepted, passes, sum(ends), max(ends)]
    return rows


def ahead(name: str) -> Rows:
    """Rates of every SSD setting of the grids, simulated for one text at each placement, and for 4 texts."""
    found, classifier = recorded(name), some_classifier()
    texts, rows = found.texts(classifier)[:4], Rows()
    for choice in ahead_settings():
        decides = None if choice.classifier is None else classifier
        plan = plan_of(choice, pair().vocab, decides)
        for name, is_beside in PLACEMENTS.items():
            played = simulate_ahead(texts, plan, PRICES, is_beside)
            rows[f"{choice.label} {name}"] = [played.tokens_per_s_device, played.hit_rate]
        if choice.params["backup"] != "auto":  # it follows a clock that texts share
            together = simulate_together(texts, plan, JOINT, 4, beside=True)
            rows[f"{choice.label} for 4"] = [together.tokens_per_s_device, together.hit_rate]
    return rows


def ahead_settings() -> Iterator[Choice]:
    for strategy in STRATEGIES.values():
        if strategy.prepares_ahead:
            yield from (choose(strategy.slug, params) for params in strategy.grid())


def what_if(name: str, users: int) -> Rows:
    """Answers about settings that did not run, from the traces of those that did."""
    found = traced(name)
    rows = {}
    for choice in parse_choices(f"{ASKED},{ASKED_AHEAD}"):
        answer = simulate(found, choice, users)
        rows[choice.label] = {
            "ratio": answer.ratio,
            "interval": answer.interval,
            "possible": answer.possible,
            "unmeasured": answer.unmeasured,
            "acceptance": answer.mean_acceptance_length,
            "passes": [answer.num_target_passes, answer.num_draft_passes],
            "hits": answer.hit_rate,
        }
    return rows | {"known": found.known}


@cache
def traced(name: str) -> RecordedComparison:
    """Recordings as what-if reads them from the traces of RAN, of six texts."""
    texts = [_traced_text(number, SAMPLINGS[name]) for number in range(6)]
    prices = joined(FULL, {4: PricesAtLoad([(4, 12.0), (20, 16.0)], 3.0, 0.5)}, reading=0.01)
    return RecordedComparison(texts, len(texts), *prices, ahead=AheadPrices(PRICES, is_beside=True))


def _traced_text(number: int, sampling: Sampling) -> TracedText:
    prompt = [3, 1, number, 3, 1]
    world = World.of_tables(live.VOCAB, number, noise=0.9)
    tokens = world.run(choose("autoregressive"), prompt, sampling, number)[0].tokens
    places = TracedText.of(len(tokens), NEW, False, tokens=tokens)
    places.learn([Prompted(tuple(prompt), 0)])
    for choice in parse_choices(RAN):
        events = world.run(choice, prompt, sampling, number)[1].events
        places.learn(events, has_branches=choice.spec.prepares_ahead)
    return places


def projected(name: str, draft_devices: int) -> Rows:
    found, card = recorded(name), dataclasses.replace(CARD, draft_devices=draft_devices)
    material = ProjectionInputs.of(found, pair().vocab, some_classifier(), most=120)
    rows: Rows = {f"{row['label']} for {row['batch']}": row for row in project(material, card)}
    return rows | material.left_out()


def figures(name: str) -> Rows:
    """Our points of the papers' figures: of those that neither run nor train, which depends on the machine."""
    ready = pair()
    ready.hold("", some_classifier())
    ready.classifier_at = lambda name: Path()
    asked = [dataclasses.replace(each, category="ab"[number % 2]) for number, each in enumerate(prompts(8))]
    evidence = Evidence(ready, asked, SAMPLINGS[name], Shelf())
    evidence.costs = evidence.single = FULL
    evidence.joint, evidence.prices = AT_LOAD, PRICES
    return {
        f"{slug} {each.name}": [dataclasses.astuple(point) for point in each.points]
        for slug, figure in FIGURES.items()
        if slug not in NOT_DRAWN
        for each in figure.draw(evidence).series
    }


def cases() -> Iterator[tuple[str, Callable[[], Rows]]]:
    for name in SAMPLINGS:
        for what in (counts, planned, played_at_load, ahead):
            yield f"{what.__name__.replace('_', ' ')}, {name}", partial(what, name)
        for users in USERS:
            yield f"what if for {users}, {name}", partial(what_if, name, users)
        yield f"projected with 1 draft devices, {name}", partial(projected, name, 1)
    yield "projected with 0 draft devices, shared", partial(projected, "shared", 0)
    yield "planned at load, shared", partial(planned_at_load, "shared")
    yield "figures, shared", partial(figures, "shared")
