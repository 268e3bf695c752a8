"""Several texts at once, run and simulated, for the SSD paper's figures by batch size."""

from __future__ import annotations

from typing import Any

import pytest

from decoding.dice.sampling import Sampling
from decoding.papers import batches
from decoding.papers.batches import Ran
from decoding.replay.planning import study
from tests.kit.loads import CHEAP, PROMPTS
from tests.kit.pairs import pair


def ran(texts: int, speeds: dict[str, float]) -> dict[str, list[dict[str, Any]]]:
    """Samples of the choices of one batch size; those that are not named write 10 tokens/s."""
    labels = [choice.label for choice in batches.choices(texts)]
    return {label: [{"prompt": p, "tokens_per_s": speeds.get(label, 10.0)} for p in ("p1", "p2")] for label in labels}


def test_the_fastest_of_a_kind_is_taken_at_its_own_batch_size() -> None:
    fast, random = batches.plain(2)[1], batches.ahead(4, "random")[0]
    alone = batches.undrafted(1)
    found = Ran(ran(1, {alone.label: 5.0}) | ran(2, {fast.label: 30.0}) | ran(4, {random.label: 20.0}))
    assert found.plain(2) == fast and found.plain(4).load.concurrency == 4
    assert found.ratio(fast, found.undrafted(2)).value == 3.0 and found.gain(fast).value == 6.0
    assert found.ahead(4) == random and found.ahead(4, "neural").params["backup"] == "neural"


def test_speeds_are_compared_prompt_by_prompt_and_preparing_costs_what_its_passes_took() -> None:
    ahead, undrafted = batches.ahead(2, "neural")[1], batches.undrafted(2)
    rounds = {"num_target_passes": 10, "num_draft_tokens": 40, "verify_ns": 600_000_000}
    hits = {"passes": 5, "busy_ns": 40_000_000, "hidden_ns": 0}
    own = [{"prompt": p, "tokens_per_s": speed, "hits": hits} | rounds for p, speed in (("b", 30.0), ("a", 10.0))]
    plain = [{**one, "tokens_per_s": 10.0, "hits": None, "num_draft_tokens": None} for one in reversed(own)]
    slow = [{**one, "verify_ns": 240_000_000} for one in plain]  # CHEAP says 12 ms for each verification
    run = Ran({undrafted.label: slow, ahead.label: own})
    assert run.speeds(ahead) == [10.0, 30.0] and run.ratio(ahead, undrafted).value == 2.0
    found = run.preparing(ahead, CHEAP)
    assert found and found.branches == [(10, pytest.approx(0.004))], "all was twice as slow"
    assert Ran({undrafted.label: slow, ahead.label: plain}).preparing(ahead, CHEAP) is None


def test_a_text_cut_short_is_the_record_of_a_run_with_less_room() -> None:
    whole, short = (study(pair(), PROMPTS, Sampling(max_new_tokens=n), tails=True).recordings for n in (40, 12))
    for long, expected in zip(whole, short, strict=True):
        head = long.head(12)
        assert head.record == expected.record and list(head.tokens) == list(expected.tokens)
        assert head.played == expected.played and head.tails.shape[0] == expected.tails.shape[0]
        assert long.head(99).record == long.record
