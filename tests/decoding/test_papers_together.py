"""Runs of several texts at once, for the SSD paper's figures by batch size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from decoding.choice import Choice
from decoding.dice.sampling import Sampling
from decoding.papers import together
from decoding.papers.figure import Point, Series
from decoding.papers.figures import ssd_6_devices, ssd_theorem_17
from decoding.papers.runs import Ran
from decoding.papers.settings import BATCHES, LONGEST_TOGETHER
from decoding.papers.simulation import SimulatedBatches
from decoding.papers.together import MergedRuns
from decoding.prices.cost_model import CostModel
from decoding.replay.planning import study
from decoding.replay.ssd.recording import track_of
from tests.kit.loads import CHEAP, PROMPTS
from tests.kit.pairs import pair


def ran(texts: int, speeds: dict[str, float]) -> Ran:
    """Speeds of the choices of one batch size; those that are not named write 10 tokens/s."""
    labels = [choice.label for choice in together.choices(texts)]
    return Ran({label: {"p1": speeds.get(label, 10.0), "p2": speeds.get(label, 10.0)} for label in labels})


@pytest.mark.parametrize("texts", BATCHES)
def test_every_text_gets_one_branch_for_each_accepted_count_and_every_kind_the_same_lookaheads(texts: int) -> None:
    found = together.choices(texts)
    ahead = [choice for choice in found if choice.spec.prepares_ahead]
    assert {choice.params["branches"] / (int(choice.params["lookahead"]) + 1) for choice in ahead} == {texts}
    assert {choice.params["backup"] for choice in ahead} == {"neural", "random"}
    lookaheads = [choice.params["lookahead"] for choice in found if "lookahead" in choice.params]
    assert sorted(lookaheads) == sorted([*together.LOOKAHEADS] * 3)
    assert {choice.load.concurrency for choice in found} == {texts} and len({c.label for c in found}) == len(found)


def test_the_fastest_of_a_kind_is_taken_at_its_own_batch_size() -> None:
    def label(choice: Choice) -> str:
        return choice.label

    fast, random = together.plain(2)[1], together.ahead(4, "random")[0]
    runs = [ran(2, {label(fast): 30.0}), ran(4, {label(random): 20.0})]
    found = MergedRuns.of(runs)
    assert label(found.plain(2)) == label(fast) and found.plain(4).load.concurrency == 4
    assert found.ratio(found.plain(2), found.undrafted(2)).value == 3.0
    assert label(found.ahead(4)) == label(random)
    assert found.ahead(4, "neural").params["backup"] == "neural"


def test_a_gain_is_over_one_text_without_a_draft() -> None:
    found = MergedRuns.of([ran(1, {"autoregressive": 5.0}), ran(8, {})])
    assert found.gain(found.undrafted(8)).value == 2.0


def test_a_verification_is_compared_with_one_of_a_fixed_lookahead_of_as_many_tokens() -> None:
    plain, ahead = together.plain(8)[1], together.ahead(8, "neural")[1]
    found = MergedRuns(Ran({}, verifying={plain.label: 0.004, ahead.label: 0.006}))
    assert found.slower(ahead) == pytest.approx(1.5)


def test_theorem_17_names_every_batch_size_at_which_random_tokens_are_drawn_faster() -> None:
    def told(*ratios: float) -> str:
        formula, run = (
            Series("ours", "measured", [Point(2**n, y) for n, y in enumerate(ys)]) for ys in ((1.1, 0.9, 0.9), ratios)
        )
        return ssd_theorem_17._why(7.2, formula, formula, [run])

    won = "random tokens win from 2 texts on; by the simulator from 2 texts on; in the runs from 4 texts on"
    assert won in told(1.2, 1.1, 0.9, 0.8)
    assert "in the runs with 2 and 8 texts;" in told(1.2, 0.9, 1.1, 0.8)
    assert "in the runs with 1, 2 and 4 texts;" in told(0.9, 0.9, 0.9, 1.1)
    assert "in the runs at no batch size" in told(1.0, 1.1, 1.2, 1.1)
    assert "b* is 8 texts" in told(1.0)


def test_hits_are_counted_over_all_texts() -> None:
    choice = together.ahead(2, "neural")[0]
    answers = {"tokens": {}, "in_use_tokens": {}, "in_use_ns": {}, "verifying_ns": 1, "preparing_ns": 0}
    counted = [{"answers": {**answers, "drafting_ns": 0, "rounds": {"hit": n, "neural": 2}}} for n in (3, 5)]
    assert MergedRuns(Ran({}, {choice.label: counted})).hit_rate(choice) == pytest.approx(8 / 12)


def test_preparing_costs_what_its_passes_took_in_the_run_less_what_slowed_down_everything() -> None:
    plain, ahead, undrafted = together.plain(2)[1], together.ahead(2, "neural")[1], together.undrafted(2)
    took = {undrafted.label: 2 * CHEAP.verify(2, 2), plain.label: 0.004, ahead.label: 0.006}
    hits = [{"passes": passes, "busy_ns": passes * 8_000_000} for passes in (3, 5)]
    found = MergedRuns(Ran({}, {ahead.label: hits}, verifying=took)).preparing(ahead, CHEAP)
    assert found and found.branches == [(10, pytest.approx(0.004))] and found.slower == pytest.approx(1.5)
    nothing = MergedRuns(Ran({}, {ahead.label: []}, verifying=took))
    assert nothing.preparing(ahead, CHEAP) is None


Prices = Callable[[Choice], CostModel]


@pytest.fixture(scope="module")
def simulated() -> Callable[[Prices], SimulatedBatches]:
    recorded = study(pair(), PROMPTS, Sampling(max_new_tokens=40), tails=True)
    tracks = [*map(track_of, recorded.recordings)]
    return lambda prices: SimulatedBatches(tracks, CHEAP, pair().vocab, prices)


def test_more_devices_prepare_more_branches_in_the_same_time(simulated: Callable[[Prices], SimulatedBatches]) -> None:
    found = simulated(lambda choice: replace(CHEAP, branches=[(10, 0.001)]))
    speeds = [ssd_6_devices._simulated(found.on(devices)).value for devices in (1, 2, 8)]
    assert speeds == sorted(speeds) and speeds[0] < speeds[-1]
    assert speeds[0] == ssd_6_devices._simulated(found).value


def test_a_text_cut_short_is_the_record_of_a_run_with_less_room() -> None:
    whole, short = (study(pair(), PROMPTS, Sampling(max_new_tokens=n), tails=True).recordings for n in (40, 12))
    for long, expected in zip(whole, short, strict=True):
        head = long.head(12)
        assert head.record == expected.record and list(head.tokens) == list(expected.tokens)
        assert track_of(head) == track_of(expected) and head.tails.shape[0] == expected.tails.shape[0]
        assert long.head(99).record == long.record


def test_texts_of_batches_are_short_and_never_longer_than_asked_for() -> None:
    lengths = [together.shortened(Sampling(max_new_tokens=count)).max_new_tokens for count in (20, 500)]
    assert lengths == [20, LONGEST_TOGETHER]
