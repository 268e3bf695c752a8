"""Several texts at once, run and simulated, for the SSD paper's figures by batch size."""

from __future__ import annotations

from dataclasses import replace

import pytest

from decoding.dice.sampling import Sampling
from decoding.papers import batches
from decoding.papers.batches import Ran, RunBatches, SimulatedBatches
from decoding.papers.figure import Point, Series
from decoding.papers.figures import ssd_batches
from decoding.replay.planning import study
from decoding.replay.ssd.recording import plan_of, track_of
from tests.kit.loads import CHEAP, PROMPTS
from tests.kit.pairs import pair


def ran(texts: int, speeds: dict[str, float]) -> Ran:
    """Speeds of the choices of one batch size; those that are not named write 10 tokens/s."""
    labels = [choice.label for choice in batches.choices(texts)]
    return Ran({label: {"p1": speeds.get(label, 10.0), "p2": speeds.get(label, 10.0)} for label in labels})


def test_every_text_gets_one_branch_for_each_accepted_count_and_every_kind_the_same_lookaheads() -> None:
    found = batches.choices(8)
    ahead = [choice for choice in found if choice.spec.prepares_ahead]
    assert {choice.params["branches"] / (int(choice.params["lookahead"]) + 1) for choice in ahead} == {8}
    lookaheads = [choice.params["lookahead"] for choice in found if "lookahead" in choice.params]
    assert sorted(lookaheads) == sorted([*batches.LOOKAHEADS] * 3)
    assert {choice.load.concurrency for choice in found} == {8} and len({c.label for c in found}) == len(found)


def test_the_fastest_of_a_kind_is_taken_at_its_own_batch_size() -> None:
    fast, random = batches.plain(2)[1], batches.ahead(4, "random")[0]
    alone = batches.undrafted(1)
    runs = [ran(1, {alone.label: 5.0}), ran(2, {fast.label: 30.0}), ran(4, {random.label: 20.0})]
    found = RunBatches(Ran.merged(runs))
    assert found.plain(2) == fast and found.plain(4).load.concurrency == 4
    assert found.ratio(fast, found.undrafted(2)).value == 3.0 and found.gain(fast).value == 6.0
    assert found.ahead(4) == random and found.ahead(4, "neural").params["backup"] == "neural"


def test_theorem_17_names_every_batch_size_at_which_random_tokens_are_drawn_faster() -> None:
    def told(*ratios: float) -> str:
        formula, run = (
            Series("ours", "measured", [Point(2**n, y) for n, y in enumerate(ys)]) for ys in ((1.1, 0.9, 0.9), ratios)
        )
        return ssd_batches._why_of_backups(7.2, formula, formula, run)

    won = "random tokens win from 2 texts on; by the simulator from 2 texts on; in the runs from 4 texts on"
    assert won in told(1.2, 1.1, 0.9, 0.8) and "b* is 8 texts" in told(1.0)
    assert "in the runs with 1, 2 and 4 texts;" in told(0.9, 0.9, 0.9, 1.1)
    assert "in the runs at no batch size" in told(1.0, 1.1, 1.2, 1.1)


def test_hits_are_counted_over_all_texts() -> None:
    choice = batches.ahead(2, "neural")[0]
    answers = {"tokens": {}, "verifying_ns": 1, "preparing_ns": 0}
    counted = [{"answers": {**answers, "drafting_ns": 0, "rounds": {"hit": n, "neural": 2}}} for n in (3, 5)]
    assert RunBatches(Ran({}, {choice.label: counted})).hit_rate(choice) == pytest.approx(8 / 12)


def test_preparing_costs_what_its_passes_took_in_the_run_less_what_slowed_down_everything() -> None:
    plain, ahead, undrafted = batches.plain(2)[1], batches.ahead(2, "neural")[1], batches.undrafted(2)
    took = {undrafted.label: 2 * CHEAP.verify(2, 2), plain.label: 0.004, ahead.label: 0.006}
    hits = [{"passes": passes, "busy_ns": passes * 8_000_000} for passes in (3, 5)]
    run = RunBatches(Ran({}, {ahead.label: hits}, took))
    found = run.preparing(ahead, CHEAP)
    assert run.slower(ahead) == pytest.approx(1.5)  # beside a fixed lookahead of as many tokens
    assert found and found.branches == [(10, pytest.approx(0.004))] and found.slower == pytest.approx(1.5)
    assert RunBatches(Ran({}, {ahead.label: []}, took)).preparing(ahead, CHEAP) is None


def test_more_devices_prepare_more_branches_in_the_same_time() -> None:
    tracks = [*map(track_of, study(pair(), PROMPTS, Sampling(max_new_tokens=40), tails=True).recordings)]
    priced = replace(CHEAP, branches=[(10, 0.001)])
    found = SimulatedBatches(tracks, CHEAP, lambda c: plan_of(c, pair().vocab, None), lambda _: priced)
    speeds = [ssd_batches.over_plain(found.on(devices)).value for devices in (1, 2, 8)]
    assert speeds == sorted(speeds) and speeds[0] < speeds[-1]


def test_a_text_cut_short_is_the_record_of_a_run_with_less_room() -> None:
    whole, short = (study(pair(), PROMPTS, Sampling(max_new_tokens=n), tails=True).recordings for n in (40, 12))
    for long, expected in zip(whole, short, strict=True):
        head = long.head(12)
        assert head.record == expected.record and list(head.tokens) == list(expected.tokens)
        assert track_of(head) == track_of(expected) and head.tails.shape[0] == expected.tails.shape[0]
        assert long.head(99).record == long.record
