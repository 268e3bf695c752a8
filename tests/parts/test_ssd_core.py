"""SSD in turn: a speculator alone, fan-outs and guesses, and what is refused before anything starts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch

from decoding.backends.pair import ModelPair
from decoding.backends.registry import build
from decoding.choice import choose, parse_choices
from decoding.dice.sampling import Sampling
from decoding.disco import features
from decoding.disco.classifier import DraftClassifier
from decoding.disco.echoes import Echoes
from decoding.drafting import fan_outs as fanout
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.errors import BadStrategy, OutOfMemory
from decoding.ssd.memory import GIB, check_branches
from decoding.ssd.policy.breadth import TRIALS, TRIED
from decoding.ssd.speculator.drawing import DraftedChain, Estimator
from decoding.ssd.speculator.speculator import SpeculatorRecipe
from decoding.ssd.transport.draft_process import Cores, DraftProcess
from decoding.trace.events import Anticipated
from tests.kit.table import TableRunner
from tests.kit.worlds import Solo, World, some_classifier, state_of, tables

GREEDY = Sampling(max_new_tokens=50)


# A speculator alone ---------------------------------------------------------------------------------------------------


def speculator(settings: SpeculatorSettings) -> Solo:
    runner = TableRunner(tables(12, 3)[1], context=60, state_of=state_of)
    return Solo(runner, SpeculatorRecipe(settings, GREEDY, 12, 0, ()))


@pytest.mark.parametrize("steps", [0, 1, 3, 5])
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
        ("ssd:k=2,fanout=5/4/3+5/4/2", "which adds up to 11 where branches is 12"),
        ("ssd:k=2,fanout=0/0/0", "which adds up to 0"),
        ("ssd:k=2,fanout=5/4/3+5/4/3+5/4/3", "more than two lists"),
        ("ssd:k=2,fanout=5/-4/11", "neither uniform, geometric, measured nor a list"),
        ("ssd:k=4,lookahead=4", "lookahead twice"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(text: str, sentence: str) -> None:
    with pytest.raises(BadStrategy, match=sentence):
        parse_choices(text)


@pytest.mark.parametrize(
    ("text", "branches"),
    [
        ("ssd", None),
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


def test_a_geometric_fan_out_is_that_of_the_theorem() -> None:
    """The published formula at a = 0.8, r = 0.55, K = 7, 24 branches: 4.2 3.6 3.1 2.7 2.3 2.0 1.8 4.3."""
    assert fanout.geometric(7, 24, 0.8, 0.55) == (4, 4, 3, 3, 2, 2, 2, 4)
    assert fanout.geometric(7, 24, 0.9, 0.55)[-1] == 8


def test_a_token_that_truncation_left_alone_is_estimated_like_any_other() -> None:
    asked = some_classifier()
    unasked = [number for number, name in enumerate(features.NAMES) if name not in features.QUICK]
    hidden = asked.drafted.hidden.index_fill(1, torch.tensor(unasked), 0.0)
    estimator = Estimator(DraftClassifier(asked.drafted._replace(hidden=hidden)), lambda estimate: estimate)
    scores = torch.tensor([[-torch.inf, 3.0, -torch.inf]])
    told, *_ = estimator.one(DraftedChain(), scores, scores, 1, Echoes(), best=(3.0, -torch.inf))
    looked, *_ = estimator.one(DraftedChain(), scores, scores, 1, Echoes())
    assert told == pytest.approx(looked, abs=0.01) and 0.0 < told < 1.0


MANY = choose("ssd", {"lookahead": 64, "branches": 512})


def test_more_branches_than_memory_holds_are_refused_with_both_figures() -> None:
    """2 x 4 bytes x 512 branches x 64 tokens x 131,072 scores are 32 GiB."""
    with pytest.raises(OutOfMemory, match=r"ssd:64,branches=512 needs at least 32\.0 GiB .* 31\.0 GiB are free"):
        check_branches(MANY, vocab=1 << 17, free=31 * GIB)
    check_branches(MANY, vocab=1 << 17, free=32 * GIB)
    check_branches(choose("static"), vocab=1 << 17, free=0)


class Vast(TableRunner):
    """A draft with a vocabulary that no machine has room for 32,768 rows of."""

    def __init__(self) -> None:
        super().__init__(torch.zeros(3, 3))
        self.vocab_size = 1 << 40


def test_nothing_is_started_where_one_of_the_strategies_cannot_run() -> None:
    with DraftProcess(partial(TableRunner, torch.zeros(3, 3)), Cores(2)) as process:
        pair = ModelPair(Vast(), Vast(), None, frozenset(), torch.float32, draft_process=process)  # type: ignore[arg-type]
        with pytest.raises(OutOfMemory, match="Use fewer branches"):
            pair.begin([choose("ssd", {"placement": "in-turn", "branches": 1, "lookahead": 1}), MANY])
        assert process.pid is None
