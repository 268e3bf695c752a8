"""Prices come from the real loop: every number of rows is timed, on prompts that stand for all."""

from __future__ import annotations

import itertools

from decoding.dice.sampling import Sampling
from decoding.disco.estimating import estimate_of
from decoding.prompts.prompt import PromptItem
from decoding.replay import probing
from decoding.replay.probing import Timed, TimedRule
from decoding.strategies.disco import Priced
from decoding.trace.events import Drafted
from tests.kit.pairs import pair
from tests.kit.worlds import World, some_classifier, stopped_by


def test_every_number_of_rows_from_1_to_24_is_timed() -> None:
    prompts = [PromptItem(f"p{i}", "ab" * (i + 1)) for i in range(3)]
    costs = probing.probe(pair(), prompts, Sampling(temperature=1.0, max_new_tokens=120))
    assert costs.widest == 24
    assert all(after >= before > 0 for (_, before), (_, after) in itertools.pairwise(costs.target[1]))
    assert costs.decision == 0 < costs.reading


def test_prompts_stand_for_all_by_their_length() -> None:
    prompts = [PromptItem(str(length), "x" * length) for length in (800, 100, 400, 200, 700, 300, 600, 500)]
    assert [prompt.id for prompt in probing.typical(prompts)] == ["200", "400", "600", "800"]
    assert [prompt.id for prompt in probing.typical(prompts[:2])] == ["100", "800"]


def test_a_rule_that_is_timed_drafts_as_ever_and_every_token_is_answered_for() -> None:
    world, sampling = World.of_tables(14, 3, noise=0.9), Sampling(max_new_tokens=40)
    alone = world.run(stopped_by("priced", 8, some_classifier(), 0.3), [3, 1], sampling)[1].events
    rule = TimedRule(lambda: Priced(0.3, 8), lambda: estimate_of(some_classifier()))
    timed = world.run(lambda parts: Timed(rule), [3, 1], sampling)[1].events
    drafts = [event.tokens for event in timed if isinstance(event, Drafted)]
    assert drafts == [event.tokens for event in alone if isinstance(event, Drafted)]
    assert len(rule.first) == len(drafts) and len(rule.later) == sum(len(tokens) - 1 for tokens in drafts)
