"""The draft's side of SSD, driven step by step, and what is refused before anything starts."""

from __future__ import annotations

import dataclasses
import itertools
import operator
from dataclasses import replace
from typing import Any, cast

import pytest
import torch

from decoding.backends.registry import build
from decoding.choice import choose, parse_choices
from decoding.dice.sampling import Sampling
from decoding.disco import features
from decoding.disco.classifier import DraftClassifier
from decoding.drafting import fan_outs as fanout
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.errors import OutOfMemory
from decoding.models.runner import ModelRunner
from decoding.prices.cost_model import CostModel
from decoding.ssd.memory import GIB, check_branches
from decoding.ssd.policy.breadth import TRIALS, TRIED
from decoding.ssd.speculator.drawing import DraftedChain, Estimator
from decoding.ssd.speculator.speculator import Question, SpeculatorRecipe
from decoding.ssd.speculator.speculators import Speculators
from decoding.trace.events import Anticipated
from tests.kit.loads import SAMPLINGS
from tests.kit.runners import Watched
from tests.kit.table import TableRunner
from tests.kit.worlds import Solo, World, some_classifier, state_of, tables

pytestmark = pytest.mark.slow
GREEDY = Sampling(max_new_tokens=50)


def speculator(settings: SpeculatorSettings, classifier: DraftClassifier | None = None) -> Solo:
    runner = TableRunner(tables(12, 3)[1], context=60, state_of=state_of)
    return Solo(runner, SpeculatorRecipe(settings, GREEDY, 12, 0, (), classifier))


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_a_verdict_may_come_at_any_moment(steps: int) -> None:
    """An early verdict finds a branch with fewer tokens, or none. The draft given is then the one that would be
    drafted."""
    text = [3, 1]
    draws = speculator(SpeculatorSettings(lookahead=4, branches=60, fanout="uniform", backup="neural"))
    drafted = draws.begin(text, 30).tokens
    for accepted in (4, 0, 2, 4, 1, 3):
        for _ in range(steps):
            draws.step()
        token = (drafted[accepted] + 1) % 12 if accepted < len(drafted) else 7
        accepted = min(accepted, len(drafted))
        text += [*drafted[:accepted], token]
        answer = draws.answer(accepted, token, 30)
        plain = speculator(SpeculatorSettings(lookahead=4, backup="neural")).begin(text, 30)
        assert answer.tokens == plain.tokens[: len(answer.tokens)] and answer.tokens
        torch.testing.assert_close(answer.scores, plain.scores[: len(answer.tokens)])
        assert (answer.origin == "hit") == (steps >= 2)
        drafted = answer.tokens


def test_a_verdict_that_comes_before_anything_is_prepared_finds_nothing_of_the_round_before() -> None:
    """The same outcome comes twice, and the process had no time between."""
    text = [3, 1]
    draws = speculator(SpeculatorSettings(lookahead=4, branches=60, fanout="uniform", backup="neural"))
    drafted = draws.begin(text, 30).tokens
    while draws.step():
        pass
    for origin in ("hit", "miss"):
        token = next(token for token in range(12) if token != drafted[1])
        text += [drafted[0], token]
        answer = draws.answer(1, token, 30)
        assert answer.origin == origin
        assert answer.tokens == speculator(SpeculatorSettings(lookahead=4, backup="neural")).begin(text, 30).tokens
        drafted = answer.tokens


@pytest.mark.parametrize(
    ("text", "branches"),
    [
        ("ssd", None),
        ("ssd:2,fanout=5/4/3", 12),
        ("ssd:4,C=0.5", 12),  # texts must not depend on the clock, and bending follows the number of branches
        ("ssd-disco:6,branches=8", 8),
    ],
)
def test_the_number_of_branches_is_open_unless_something_names_it(text: str, branches: int | None) -> None:
    [choice] = parse_choices(text)
    assert choice.ahead and choice.ahead.branches == branches
    assert parse_choices(choice.label) == [choice]


@pytest.mark.parametrize("name", ["ssd:4,backup=neural,placement=in-turn", "ssd-disco:6,placement=in-turn"])
def test_texts_of_a_run_learn_together_how_many_branches_pay_and_each_round_tells_them(name: str) -> None:
    """The first text of a run tries some numbers, the second does not try them again."""
    [choice], world, memory = parse_choices(name), World.of_tables(40, 2), dict[str, Any]()

    def rows() -> list[int]:
        _, recorder = world.run(lambda parts: build(choice, replace(parts, memory=memory)), [3, 1], GREEDY)
        return [event.pass_rows for event in recorder.events if isinstance(event, Anticipated)]

    assert rows()[:TRIALS] == [*TRIED, *TRIED]
    assert rows()[:TRIALS] != [*TRIED, *TRIED]


def test_a_geometric_fan_out_is_that_of_the_theorem() -> None:
    """The published formula at a = 0.8, r = 0.55, K = 7, 24 branches: 4.2 3.6 3.1 2.7 2.3 2.0 1.8 4.3."""
    assert fanout.geometric(7, 24, 0.8, 0.55) == (4, 4, 3, 3, 2, 2, 2, 4)
    assert fanout.geometric(7, 24, 0.9, 0.55)[-1] == 8


def test_a_token_that_truncation_left_alone_is_estimated_like_any_other() -> None:
    asked = some_classifier()
    unasked = [number for number, name in enumerate(features.NAMES) if name not in features.GLANCE]
    hidden = asked.drafted.hidden.index_fill(1, torch.tensor(unasked), 0.0)
    estimator = Estimator(DraftClassifier(asked.drafted._replace(hidden=hidden)), lambda estimate: estimate)
    scores = torch.tensor([[-torch.inf, 3.0, -torch.inf]])
    told, *_ = estimator.one(DraftedChain(), scores, scores, 1, best=(3.0, -torch.inf))
    looked, *_ = estimator.one(DraftedChain(), scores, scores, 1)
    assert told == pytest.approx(looked, abs=0.01) and 0.0 < told < 1.0


MANY = choose("ssd", {"lookahead": 64, "branches": 512})


def test_more_branches_than_memory_holds_are_refused_with_both_figures() -> None:
    """2 x 4 bytes x 512 branches x 64 tokens x 131,072 scores are 32 GiB."""
    with pytest.raises(OutOfMemory, match=r"ssd:64,branches=512 needs at least 32\.0 GiB .* 31\.0 GiB are free"):
        check_branches(MANY, vocab=1 << 17, free=31 * GIB)
    check_branches(MANY, vocab=1 << 17, free=32 * GIB)
    check_branches(choose("static"), vocab=1 << 17, free=0)


def watched(context: int = 60, vocab: int = 12, hides: bool = True) -> tuple[Solo, Watched]:
    seen = Watched(TableRunner(tables(vocab, 3)[1], context=context, state_of=state_of))
    settings = SpeculatorSettings(lookahead=3, branches=40, fanout="uniform", backup="neural")
    return Solo(cast(ModelRunner, seen), SpeculatorRecipe(settings, GREEDY, vocab, 0, ()), hides), seen


def test_where_time_is_left_the_last_tokens_are_read_and_the_next_preparation_opens_without_a_pass() -> None:
    draws, seen = watched()
    plain, _ = watched(hides=False)
    drafted = draws.begin([3, 1], 40).tokens
    assert plain.begin([3, 1], 40).tokens == drafted
    for accepted in (3, 1, 0, 3):
        while draws.step():
            pass
        while plain.step():
            pass
        assert draws.preparation().branches == plain.preparation().branches
        assert draws.preparation().passes == plain.preparation().passes + 1
        [token] = [t for k, t, _ in draws.preparation().branches if k == accepted][:1]
        seen.fed.clear()
        answer, same = (side.answer(accepted, token, 40) for side in (draws, plain))
        assert answer.origin == "hit" and answer.tokens == same.tokens
        assert draws.step() and seen.fed == []
        plain.step()
        assert draws.preparation().fanout == plain.preparation().fanout
        assert draws.preparation().predicted_hit == pytest.approx(plain.preparation().predicted_hit)


def test_a_long_winner_is_verified_only_as_far_as_the_classifier_finds_worth_it() -> None:
    """If drafting costs nothing, a token is worth what its row costs to verify: the whole price."""
    costs = CostModel.of_one((0.0, 1.0, 2.0)).for_one()
    classifier = dataclasses.replace(some_classifier(), card={"thresholds": {"priced": 0.5}, "costs": costs})
    draws = speculator(SpeculatorSettings(12, 60, backup="neural"), classifier)
    draws.begin([3, 1], 40)
    while draws.step():
        pass
    accepted, token, depth = draws.preparation().branches[-1]
    answer = draws.answer(accepted, token, 40)
    survivals = [*itertools.accumulate(draws.estimate(), operator.mul)]
    assert len(answer.tokens) == len(survivals) < depth and answer.stop == "rule"
    assert survivals[-1] < 0.5 and all(survival >= 0.5 for survival in survivals[:-1])


@torch.inference_mode()
def test_a_batch_that_begins_anew_does_not_go_on_with_the_last_round() -> None:
    """Rounds that follow one another are timed; the pause between two batches is none of them."""
    side, draft = Speculators(), World.of_tables(12, 7).draft
    rounds = []
    for number in range(2):
        side.keep(())
        side.read(number, SpeculatorRecipe(SpeculatorSettings(3, 6), SAMPLINGS["greedy"], 12, 0, ()), [3, 1], draft)
        for verdict in (None, 0):
            side.answer([Question(number, verdict, 0, 20)], 0)
            rounds.append(side.texts[number].batch.round)
    assert [after - before for before, after in itertools.pairwise(rounds)] == [1, 2, 1]
