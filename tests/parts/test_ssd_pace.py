"""When the draft stops preparing, goes deeper, and reads on, by a clock that the test sets."""

from __future__ import annotations

import dataclasses
import itertools
import operator
from collections import Counter
from typing import cast

import pytest
import torch

from decoding.core.drafter import Draft
from decoding.dice.sampling import Sampling
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.models.runner import ModelRunner
from decoding.prices.cost_model import CostModel
from decoding.ssd.policy.breadth import AGAIN, TRIALS, TRIED, Breadth
from decoding.ssd.policy.pace import Pace
from decoding.ssd.speculator.speculator import SpeculatorRecipe
from decoding.trace.events import Origin
from tests.kit.runners import Watched
from tests.kit.table import TableRunner
from tests.kit.worlds import Solo, some_classifier, state_of, tables

GREEDY = Sampling()


class Clock:
    now = 0

    def __call__(self) -> int:
        return self.now


def draft(tokens: int, source: Origin = "hit") -> Draft:
    return Draft((1,) * tokens, torch.empty(tokens, 0), 4, "limit", source, 0)


def paced(rounds: int, took: int, step: int, tokens: int = 4) -> tuple[Pace, Clock]:
    """Return a pace after so many rounds alike; the next draft has just been given."""
    clock = Clock()
    pace = Pace(clock)
    for _ in range(rounds):
        pace.note_draft()
        clock.now += took
        pace.note_round(draft(tokens), 3, pace.elapsed_ns())
        pace.note_step(step)
    pace.note_draft()
    return pace, clock


def test_a_step_that_ends_before_the_verdict_is_due_is_taken_and_one_that_would_delay_it_is_not() -> None:
    pace, clock = paced(rounds=5, took=2000, step=500)
    clock.now += 1500
    assert not pace.would_delay(4, saved_ns=0)
    clock.now += 1
    assert pace.would_delay(4, saved_ns=0)


def test_a_verdict_that_is_overdue_may_take_any_time() -> None:
    pace, clock = paced(rounds=5, took=2000, step=500)
    clock.now += 2999
    assert pace.would_delay(4, saved_ns=0)
    clock.now += 1
    assert not pace.would_delay(4, saved_ns=0)


def test_nothing_is_put_off_by_times_that_are_not_known() -> None:
    for pace, clock in (paced(rounds=2, took=2000, step=500), paced(rounds=5, took=2000, step=500)):
        clock.now += 1900
        assert not pace.would_delay(2, saved_ns=0)  # drafts of two tokens were never verified
    pace, clock = paced(rounds=2, took=2000, step=500)
    clock.now += 1900
    assert not pace.would_delay(4, saved_ns=0)


def test_a_token_is_of_use_by_what_it_would_take_alone_but_no_more_than_it_is_worth() -> None:
    pace, _ = paced(rounds=10, took=2000, step=500)  # four tokens each, all hits
    pace.note_drafting(tokens=2, took_ns=600)
    assert pace.token_price == pytest.approx(300 * 4 / 2000)
    assert pace.saved_ns(0.9) == pytest.approx(300)
    assert pace.saved_ns(0.1) == pytest.approx(0.1 * 2000 / 4)


# How many branches pay ------------------------------------------------------------------------------------------------

LIKELY = [0.4, 0.2, 0.1, 0.08, 0.05, 0.04, 0.03, 0.02, 0.02, 0.01, 0.01, 0.01]


def breadth(step: int, row: int, window: int, *, is_known: bool = False) -> Breadth:
    """Return a breadth after rounds with drafts of 4 tokens, 100 ns each. A step takes `step` ns and `row` for each
    branch, and so much time is left for steps."""
    made = Breadth((lambda branches: step + row * branches) if is_known else None)
    for _ in range(TRIALS):
        branches = made.choose(LIKELY, hides=True)
        for _ in range(4):
            made.note_step(branches, step + row * branches)
        made.note_drafting(4, 400)
        made.note_round(4, window)
    return made


@pytest.mark.parametrize("is_known", [True, False], ids=["as in a simulation", "measured"])
@pytest.mark.parametrize(
    ("step", "row", "window", "expected"),
    [(40, 1, 10_000, 12), (100, 10, 600, 4), (100, 100, 350, 1)],
)
def test_as_many_branches_are_opened_as_are_ready_within_the_verification(
    step: int, row: int, window: int, expected: int, is_known: bool
) -> None:
    found = breadth(step, row, window, is_known=is_known)
    assert found.choose(LIKELY, hides=True) == expected


def test_the_first_rounds_of_a_run_try_what_a_step_takes_and_later_ones_now_and_then() -> None:
    made = Breadth()
    assert [made.choose(LIKELY, hides=True) for _ in range(TRIALS)] == [*TRIED, *TRIED]
    assert made.choose(LIKELY, hides=True) == TRIED[0], "no times are known, so there are few"
    made = breadth(100, 10, 600)
    later = [made.choose(LIKELY, hides=True) for _ in range(2 * AGAIN)]
    assert Counter(later) == {4: 2 * AGAIN - 2, TRIED[0]: 1, TRIED[1]: 1}


def test_where_nothing_can_follow_no_number_is_learnt() -> None:
    made = breadth(100, 10, 600)
    before = made.choose(LIKELY, hides=True)
    assert {made.choose([], hides=True) for _ in range(3 * AGAIN)} == {before}


# The steps that it decides on -----------------------------------------------------------------------------------------


def speculator(context: int = 60, vocab: int = 12, hides: bool = True) -> tuple[Solo, Watched]:
    watched = Watched(TableRunner(tables(vocab, 3)[1], context=context, state_of=state_of))
    settings = SpeculatorSettings(lookahead=3, branches=40, fanout="uniform", backup="neural")
    return Solo(cast(ModelRunner, watched), SpeculatorRecipe(settings, GREEDY, vocab, 0, ()), hides), watched


def test_where_time_is_left_the_last_tokens_are_read_and_the_next_preparation_opens_without_a_pass() -> None:
    draws, watched = speculator()
    plain, _ = speculator(hides=False)
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
        watched.fed.clear()
        answer, same = (side.answer(accepted, token, 40) for side in (draws, plain))
        assert answer.source == "hit" and answer.tokens == same.tokens
        assert draws.step() and watched.fed == []
        plain.step()
        assert draws.preparation().fanout == plain.preparation().fanout
        assert draws.preparation().predicted_hit == pytest.approx(plain.preparation().predicted_hit)


def test_a_winner_that_was_not_finished_is_finished_as_if_it_had_been_alone() -> None:
    """The branches' progress does not matter: even the estimates are those of a draft made in one go."""
    for steps in (2, 4):
        runner = TableRunner(tables(12, 3)[1], context=60, state_of=state_of)
        settings = SpeculatorSettings(lookahead=4, branches=60, backup="neural")
        classifier = some_classifier()
        draws = Solo(runner, SpeculatorRecipe(settings, GREEDY, 12, 0, (), classifier))
        drafted = draws.begin([3, 1], 40).tokens
        for _ in range(steps):
            draws.step()
        accepted, token, _ = draws.preparation().branches[-1]
        answer = draws.answer(accepted, token, 40)
        alone = Solo(runner, SpeculatorRecipe(settings, GREEDY, 12, 0, (), classifier))
        plain = alone.begin([3, 1, *drafted[:accepted], token], 40)
        shorter = min(len(answer.tokens), len(plain.tokens))
        assert answer.tokens[:shorter] == plain.tokens[:shorter]
        assert draws.estimate()[:shorter] == pytest.approx(plain.estimates[:shorter])
        assert len(draws.estimate()) == len(answer.tokens)


def test_a_long_winner_is_verified_only_as_far_as_the_classifier_finds_worth_it() -> None:
    """If drafting costs nothing, a token is worth what its row costs to verify: the whole price."""
    costs = CostModel.of_one((0.0, 1.0, 2.0)).for_one()
    classifier = dataclasses.replace(some_classifier(), card={"thresholds": {"priced": 0.5}, "costs": costs})
    runner = TableRunner(tables(12, 3)[1], context=60, state_of=state_of)
    draws = Solo(runner, SpeculatorRecipe(SpeculatorSettings(12, 60, backup="neural"), GREEDY, 12, 0, (), classifier))
    draws.begin([3, 1], 40)
    while draws.step():
        pass
    accepted, token, depth = draws.preparation().branches[-1]
    answer = draws.answer(accepted, token, 40)
    survivals = [*itertools.accumulate(draws.estimate(), operator.mul)]
    assert len(answer.tokens) == len(survivals) < depth and answer.stop == "rule"
    assert survivals[-1] < 0.5 and all(survival >= 0.5 for survival in survivals[:-1])
