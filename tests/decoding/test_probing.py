"""Prices come from the real loop: every number of rows is timed, on prompts that stand for all."""

from __future__ import annotations

import pytest

from decoding import probing
from decoding.costs import Costs
from decoding.probing import EveryLength
from decoding.prompts import Prompt
from decoding.replay import Record, Static, replay
from decoding.spec import Sampling
from tests.decoding.test_comparison import pair


def test_every_number_of_rows_from_1_to_24_is_timed() -> None:
    prompts = [Prompt(f"p{i}", "ab" * (i + 1)) for i in range(3)]
    costs = probing.probe(pair(), prompts, Sampling(temperature=1.0, max_new_tokens=120))
    assert len(costs.target) == 25
    assert all(after >= before > 0 for before, after in zip(costs.target[1:], costs.target[2:], strict=False))
    assert costs.decision == 0


@pytest.mark.parametrize("turn", range(5))
def test_a_sample_has_drafts_of_every_length(turn: int) -> None:
    rule, seen = EveryLength(turn), []
    for _ in probing.LENGTHS:
        seen.append(rule.lookahead)
        rule.observe(None, None)  # type: ignore[arg-type]
    assert sorted(seen) == sorted(probing.LENGTHS)


def test_prompts_stand_for_all_by_their_length() -> None:
    prompts = [Prompt(str(length), "x" * length) for length in (800, 100, 400, 200, 700, 300, 600, 500)]
    assert [prompt.id for prompt in probing.typical(prompts)] == ["200", "400", "600", "800"]
    assert [prompt.id for prompt in probing.typical(prompts[:2])] == ["100", "800"]


def test_an_oracles_drafts_find_cold_caches_after_every_token() -> None:
    costs = Costs((0.0, 1.0, 1.0, 1.0, 1.0), draft=0.1, draft_round=0.05, catch_up=0.0, round=0.0)
    counts = replay([Record.of([True, True, False, True, True, False, True])], lambda i: Static(3))
    starts = counts.target_passes - counts.rounds[0]
    extra = costs.seconds(counts, peeks=True) - costs.seconds(counts)
    assert extra == pytest.approx(0.05 * (counts.draft_passes - starts))
