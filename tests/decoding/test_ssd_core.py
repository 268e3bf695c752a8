"""SSD in turn: hit or miss, and whatever answers a miss, the text is the target's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from decoding.backends.registry import build
from decoding.choice import Choice, choose, parse_choices
from decoding.dice.sampling import Sampling
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.errors import BadStrategy
from decoding.ssd.policy.breadth import TRIALS, TRIED
from decoding.ssd.transport.messages import SpeculatorRecipe
from decoding.trace.events import Anticipated, Drafted, Event, Verified
from tests.kit.table import TableRunner
from tests.kit.worlds import Solo, World, state_of, tables

GREEDY = Sampling(max_new_tokens=50)


def label(choice: Choice) -> str:
    return choice.label


def drafts_of(events: Sequence[Event]) -> list[Drafted]:
    return [event for event in events if isinstance(event, Drafted)]


# Exactness ------------------------------------------------------------------------------------------------------------


def test_a_draft_is_the_same_whether_it_was_prepared_or_not() -> None:
    """A hit changes when a draft is made, never its tokens, even under ratio dice, where the text depends on it."""
    sampling = Sampling(temperature=1.0, dice="ratio", max_new_tokens=60)
    for seed in range(4):
        world = World.of_tables(12, seed)
        for text in ("ssd:4,backup=neural", "ssd:4,branches=2,backup=neural"):
            assert (
                world.run(parse_choices(text)[0], [3, 1], sampling, seed)[0]
                == (world.run(choose("static", {"lookahead": 4}), [3, 1], sampling, seed)[0])
            )


# What is prepared -----------------------------------------------------------------------------------------------------


def rounds_with_preparation(events: Sequence[Event]) -> list[tuple[Anticipated, Verified, Drafted]]:
    """Return the preparation of a round, its outcome, and the next draft."""
    prepared = {event.round: event for event in events if isinstance(event, Anticipated)}
    verdicts = {event.round: event for event in events if isinstance(event, Verified)}
    return [
        (prepared[draft.round - 1], verdicts[draft.round - 1], draft)
        for draft in drafts_of(events)
        if draft.round - 1 in prepared
    ]


def test_the_predicted_hit_rate_is_near_the_measured_one() -> None:
    for text in ("ssd:4,backup=neural", "ssd:4,fanout=measured,backup=neural", "ssd:4,fanout=uniform,branches=6"):
        hits, predicted = [], []
        for seed in range(8):
            sampling = Sampling(temperature=1.0, max_new_tokens=200)
            _, recorder = World.of_tables(40, seed, noise=1.0).run(parse_choices(text)[0], [3, 1], sampling, seed)
            found = rounds_with_preparation(recorder.events)
            hits += [draft.source == "hit" for _, _, draft in found]
            predicted += [prepared.predicted_hit for prepared, _, _ in found]
        assert sum(predicted) / len(hits) == pytest.approx(sum(hits) / len(hits), abs=0.1)


def test_shared_dice_tell_the_draft_what_the_target_may_say() -> None:
    """With dice of its own the target answers a refusal with the token that the draft finds least likely."""
    rates = {}
    for dice in ("shared", "ratio"):
        found = []
        for seed in range(10):
            sampling = Sampling(temperature=1.0, dice=dice, max_new_tokens=100)  # type: ignore[arg-type]
            _, recorder = World.of_tables(200, seed, noise=0.5).run(
                choose("ssd", {"backup": "neural"}), [3, 1], sampling, seed
            )
            found += [draft.source == "hit" for _, _, draft in rounds_with_preparation(recorder.events)]
        rates[dice] = sum(found) / len(found)
    assert rates["shared"] > 1.5 * rates["ratio"]


# A speculator alone ---------------------------------------------------------------------------------------------------


def speculator(settings: SpeculatorSettings) -> Solo:
    runner = TableRunner(tables(12, 3)[1], context=60, state_of=state_of)
    return Solo(runner, SpeculatorRecipe(settings, GREEDY, 12, 0, ()))


def test_it_answers_before_it_prepares_and_prepares_one_step_at_a_time() -> None:
    draws = speculator(SpeculatorSettings(lookahead=3, branches=8, backup="neural"))
    first = draws.begin([3, 1], 20)
    assert (len(first.tokens), first.source, draws.preparation().branches) == (3, "fresh", ())
    depths = []
    while draws.step():
        depths.append({depth for _, _, depth in draws.preparation().branches})
    assert depths == [set(), {1}, {2}, {3}]
    assert draws.preparation().passes == 4 and not draws.step()


@pytest.mark.parametrize("steps", range(6))
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
        assert (answer.source == "hit") == (steps >= 2)
        drafted = answer.tokens


def test_a_verdict_that_comes_before_anything_is_prepared_finds_nothing_of_the_round_before() -> None:
    """The same outcome comes twice, and the process had no time between."""
    text = [3, 1]
    draws = speculator(SpeculatorSettings(lookahead=4, branches=60, fanout="uniform", backup="neural"))
    drafted = draws.begin(text, 30).tokens
    while draws.step():
        pass
    for source in ("hit", "miss"):
        token = next(token for token in range(12) if token != drafted[1])
        text += [drafted[0], token]
        answer = draws.answer(1, token, 30)
        assert answer.source == source
        assert answer.tokens == speculator(SpeculatorSettings(lookahead=4, backup="neural")).begin(text, 30).tokens
        drafted = answer.tokens


# What may be asked ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ssd:k=3,fanout=5/4/3", "which has 3 entries where a lookahead of 3 has 4"),
        ("ssd:k=2,branches=12,fanout=5/4/2", "which adds up to 11 where branches is 12"),
        ("ssd:k=2,fanout=5/4/3+5/4/2", "which adds up to 11 where branches is 12"),
        ("ssd:k=2,fanout=0/0/0", "which adds up to 0"),
        ("ssd:k=2,fanout=5/4/3+12/0", "which has 2 entries where a lookahead of 2 has 3"),
        ("ssd:k=2,fanout=5/4/3+5/4/3+5/4/3", "more than two lists"),
        ("ssd:k=2,fanout=5/-4/11", "neither uniform, geometric, measured nor a list"),
        ("ssd:fanout=square", "neither uniform, geometric, measured nor a list"),
        ("ssd:C=0", "outside"),
        ("ssd:C=1.5", "outside"),
        ("ssd:constant=nan", "outside"),
        ("ssd:branches=0", "outside 1 to 512"),
        ("ssd:branches=many", "which is neither a whole number nor auto"),
        ("ssd:backup=lucky", "not one of auto, by-batch, neural, ngram, random, copy, copy-or-random"),
        ("ssd:k=4,lookahead=4", "lookahead twice"),
        ("ssd:placement=there", "not one of"),
        ("ssd-disco:fanout=uniform", "no parameter 'fanout'"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(text: str, sentence: str) -> None:
    with pytest.raises(BadStrategy, match=sentence):
        parse_choices(text)


@pytest.mark.parametrize(
    ("text", "branches"),
    [
        ("ssd", None),
        ("ssd:4,branches=auto", None),
        ("ssd:4,branches=8", 8),
        ("ssd:2,fanout=5/4/3", 12),
        ("ssd:4,C=0.5", 12),  # texts must not depend on the clock, and bending follows the number of branches
        ("ssd-disco", None),
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


def test_the_command_line_may_spell_parameters_short() -> None:
    [choice] = parse_choices("ssd:k=3,fanout=5/4/3/0+12/0/0/0,backup=ngram,C=0.5")
    assert choice.label == "ssd:3,fanout=5/4/3/0+12/0/0/0,backup=ngram,constant=0.5"
    assert parse_choices(choice.label) == [choice]
