"""Projection onto a card: every strategy at its prices, several texts in step, and the map of the best."""

from __future__ import annotations

import dataclasses
import random

import pytest

from decoding.backends.pair import ModelPair
from decoding.choice import Choice, choose
from decoding.dice.sampling import Sampling
from decoding.drafting.records import Seen
from decoding.prices.cost_model import Context, CostModel
from decoding.prices.machine_card import Card
from decoding.prompts.prompt import PromptItem
from decoding.replay.planning import study
from decoding.replay.projecting import (
    ACCEPTANCES,
    PRICES,
    ProjectionInputs,
    acceptance,
    document,
    priced,
    with_acceptance,
)
from decoding.strategies import STRATEGIES
from tests.kit.pairs import LETTERS, pair
from tests.kit.worlds import some_classifier

pytestmark = pytest.mark.slow
SHARED = Sampling(temperature=1.0, max_new_tokens=40)
PROMPTS = [PromptItem(str(i), "".join(random.Random(i).choices(LETTERS, k=4))) for i in range(8)]
FLAT = CostModel({1: [(1, 1.0)]}, {1: [(1, 0.1)]}, rest=[(1, 0.0)], source="made up")
EVEN = Card("even", "made up", "assumed", 1, 1, FLAT)


@pytest.fixture(scope="module")
def ready() -> tuple[ModelPair, ProjectionInputs]:
    found = pair()
    return found, ProjectionInputs.of(study(found, PROMPTS, SHARED, tails=True), found.vocab, some_classifier())


@pytest.fixture(scope="module")
def few(ready: tuple[ModelPair, ProjectionInputs]) -> ProjectionInputs:
    """Texts of 3 tokens, whose map is drawn in a moment."""
    found, short = ready[0], dataclasses.replace(SHARED, max_new_tokens=3)
    return ProjectionInputs.of(study(found, PROMPTS[:2], short, tails=True), found.vocab, some_classifier())


@pytest.mark.parametrize("wanted", [0.2, 0.5, 0.95])
def test_texts_can_have_another_acceptance(ready, wanted: float) -> None:  # type: ignore[no-untyped-def]
    _, material = ready
    changed = with_acceptance(material.texts, wanted)
    assert acceptance(changed) == pytest.approx(wanted, abs=0.06)
    for text in changed:
        firsts = [listed[0] == token for token, listed in zip(text.written.text, text.preferred, strict=True)]
        assert firsts == [run > 0 for run in text.record.runs]
        assert all(0 <= value <= 1 for at in range(text.tokens) for value in text.seen.row("estimate", at))
    assert [text.written for text in changed] == [text.written for text in material.texts]


def test_a_draft_that_would_end_at_once_has_no_estimate_and_can_have_another_acceptance(ready) -> None:  # type: ignore[no-untyped-def]
    """A projection of texts that end ended with an IndexError."""
    _, material = ready
    text = material.texts[0]
    ends = Seen(lambda sees, at: text.seen.row(sees, at) if at else ())
    [changed] = with_acceptance([dataclasses.replace(text, seen=ends)], 0.9)
    assert 0 < changed.seen.row("estimate", 0)[0] < 1


def test_a_document_says_that_it_is_simulated_has_the_best_in_every_field_and_counts_its_progress(few) -> None:  # type: ignore[no-untyped-def]
    told: list[tuple[str, int, int]] = []
    found = document(few, EVEN, SHARED, on_progress=lambda *step: told.append(step))
    stopped = document(few, EVEN, SHARED, cancelled=lambda: True)
    assert stopped["settings"] == stopped["map"]["fields"] == []
    assert (found["format"], found["label"], found["misfit"]) == ("drafthouse.projection/1", "simulated", "")
    assert Card.from_dict(found["card"]) == EVEN
    for phase in ("projecting", "drawing the map"):
        steps = [(done, due) for name, done, due in told if name == phase]
        assert [done for done, _ in steps] == list(range(1, steps[-1][1] + 1))
    fields = found["map"]["fields"]
    assert [(each["price"], each["acceptance"]) for each in fields] == [(p, a) for a in ACCEPTANCES for p in PRICES]
    for field in fields:
        assert field["speedups"][field["best"]] == max(field["speedups"].values())
    assert next(each for each in fields if each["price"] == 0.6)["speedups"]["static"] < 1
    assert found["map"]["pair"] == {"price": pytest.approx(0.1), "acceptance": acceptance(few.texts)}
    assert priced(EVEN, 0.35).costs.draft(1) == pytest.approx(0.35)
    ranked = {slug for slug, strategy in STRATEGIES.items() if strategy.role == "ranked"}
    ranked |= {"suffix:memory=true", *(f"{slug}:classifier=newest" for slug in ("suffix", "lookup", "hybrid"))}
    kinds = {Choice.of(row).kind for row in found["settings"]}
    assert ranked == kinds - {"autoregressive"} | found["left_out"].keys()
    assert found["left_out"].keys() == {"schedule"} and all(found["left_out"].values())


def test_longer_texts_take_longer_on_a_card_that_says_what_their_context_costs(ready) -> None:  # type: ignore[no-untyped-def]
    _, material = ready
    card = dataclasses.replace(EVEN, costs=dataclasses.replace(FLAT, context=Context(10, 4000, 0.001, 0.0001)))
    assert Card.from_dict(card.to_dict()) == card
    slow, fast = (material.speed(choose("autoregressive"), each, 1) for each in (card, EVEN))
    assert 1 / slow - 1 / fast == pytest.approx(0.001 * (material.context - 10))
    assert EVEN.costs.at(material.context) is EVEN.costs
