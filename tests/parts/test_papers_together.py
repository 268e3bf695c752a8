"""Several texts at once, run and simulated, for the SSD paper's figures by batch size."""

from __future__ import annotations

import pytest

from decoding.dice.sampling import Sampling
from decoding.papers import batches
from decoding.papers.batches import Ran, RunBatches
from decoding.replay.planning import study
from tests.kit.loads import CHEAP, PROMPTS
from tests.kit.pairs import pair


def ran(texts: int, speeds: dict[str, float]) -> Ran:
    """Speeds of the choices of one batch size; those that are not named write 10 tokens/s."""
    labels = [choice.label for choice in batches.choices(texts)]
    return Ran({label: {"p1": speeds.get(label, 10.0), "p2": speeds.get(label, 10.0)} for label in labels})


def test_the_fastest_of_a_kind_is_taken_at_its_own_batch_size() -> None:
    fast, random = batches.plain(2)[1], batches.ahead(4, "random")[0]
    alone = batches.undrafted(1)
    runs = [ran(1, {alone.label: 5.0}), ran(2, {fast.label: 30.0}), ran(4, {random.label: 20.0})]
    found = RunBatches(Ran.merged(runs))
    assert found.plain(2) == fast and found.plain(4).load.concurrency == 4
    assert found.ratio(fast, found.undrafted(2)).value == 3.0 and found.gain(fast).value == 6.0
    assert found.ahead(4) == random and found.ahead(4, "neural").params["backup"] == "neural"


def test_preparing_costs_what_its_passes_took_in_the_run_less_what_slowed_down_everything() -> None:
    plain, ahead, undrafted = batches.plain(2)[1], batches.ahead(2, "neural")[1], batches.undrafted(2)
    took = {undrafted.label: 2 * CHEAP.verify(2, 2), plain.label: 0.004, ahead.label: 0.006}
    hits = [{"passes": passes, "busy_ns": passes * 8_000_000} for passes in (3, 5)]
    run = RunBatches(Ran({}, {ahead.label: hits}, took))
    found = run.preparing(ahead, CHEAP)
    assert run.slower(ahead) == pytest.approx(1.5)  # beside a fixed lookahead of as many tokens
    assert found and found.branches == [(10, pytest.approx(0.004))] and found.slower == pytest.approx(1.5)
    assert RunBatches(Ran({}, {ahead.label: []}, took)).preparing(ahead, CHEAP) is None


def test_a_text_cut_short_is_the_record_of_a_run_with_less_room() -> None:
    whole, short = (study(pair(), PROMPTS, Sampling(max_new_tokens=n), tails=True).recordings for n in (40, 12))
    for long, expected in zip(whole, short, strict=True):
        head = long.head(12)
        assert head.record == expected.record and list(head.tokens) == list(expected.tokens)
        assert head.played == expected.played and head.tails.shape[0] == expected.tails.shape[0]
        assert long.head(99).record == long.record
