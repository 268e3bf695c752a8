"""Formulas of the SSD paper as its figures draw them, on outcomes of recorded texts at made-up prices."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from decoding.choice import choose
from decoding.dice.sampling import Sampling
from decoding.papers.bootstrap import Estimate
from decoding.papers.figure import FigurePart
from decoding.papers.figures import base, ssd_speeds, ssd_theory
from decoding.papers.outcomes import Outcomes, total
from decoding.papers.settings import BRANCHES_EACH, TEMPERATURES
from decoding.prices.cost_model import CostModel
from decoding.words import signed
from tests.kit.recordings import expected, lived
from tests.kit.worlds import World

COSTS = CostModel.of_one((0.0, *(1.0 + 0.01 * rows for rows in range(20))), 0.2, 0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def outcomes() -> list[Outcomes]:
    world, sampling = World.of_tables(60, 5), Sampling(max_new_tokens=60)
    texts = [lived(world, choose("autoregressive"), sampling, seed)[0] for seed in range(4)]
    return [expected(world, text, sampling) for text in texts]


def evidence(outcomes: list[Outcomes], step_s: float) -> Any:
    """A machine without a second core. A step over any branches takes `step_s`, a verification about 1 s."""
    return SimpleNamespace(
        greedy=outcomes,
        temperatures=dict.fromkeys(TEMPERATURES, outcomes),
        single=COSTS,
        prices=replace(COSTS, branches=[(1, step_s)]),
        simulated=lambda lookaheads: {lookahead: Estimate(1.0) for lookahead in lookaheads},
        has_second_core=False,
        ran_by_temperature={},
    )


def drawn_by_name(drawn: FigurePart) -> dict[str, dict[float, float]]:
    return {each.name: {point.x: point.y for point in each.points} for each in drawn.series}


def test_theorem_7_lies_between_the_bounds_of_corollary_9_where_misses_add_as_many_tokens_as_hits() -> None:
    """Every token is accepted, so but for the last one every round adds as many; one token of six has no branch."""
    never_wrong = [Outcomes([1.0] * 600, [1 << 20, *[0] * 5] * 100, [0.0] * 600)] * 4
    cheap = drawn_by_name(ssd_theory.draw(evidence(never_wrong, step_s=0.01)))
    for depth in ssd_theory.DEPTHS:
        ours, most, least = (
            cheap[name][depth] for name in ("Theorem 7", "Corollary 9, upper bound", "Corollary 9, lower bound")
        )
        assert 0.98 * least <= ours <= 1.02 * most
    assert any(cheap["Corollary 9, lower bound"][k] < cheap["Corollary 9, upper bound"][k] for k in ssd_theory.DEPTHS)


def test_random_tokens_as_backup_are_drawn_at_the_hit_rate_of_a_text_without_end(outcomes: list[Outcomes]) -> None:
    drawn = ssd_theory.draw(evidence(outcomes, step_s=0.01))
    way = base.Drafting(4, BRANCHES_EACH, is_random=True)
    tally = total(way.tallies(outcomes))
    after_hit, after_miss = 1 - tally.miss_after_model, 1 - tally.miss_after_backup
    hits = after_miss / (1 - after_hit + after_miss)
    assert hits == pytest.approx(tally.hit_rate, abs=0.05) and 0 < hits < 1
    rounds = hits + (1 - hits)  # a hit hides its preparation, and a random backup takes no time
    tokens = hits * tally.tokens_per_hit + (1 - hits)
    points = drawn_by_name(drawn)["Theorem 7, random tokens as backup"]
    assert points[4] == pytest.approx(tokens / rounds / COSTS.verify(1, 5) * COSTS.verify(1, 1))
    assert f"in the long run {100 * hits:.0f} %; these texts have {100 * tally.hit_rate:.0f} %" in drawn.why


def test_figure_4_has_both_fan_outs_and_shows_what_ran_beside_the_formula(outcomes: list[Outcomes]) -> None:
    found = evidence(outcomes, step_s=0.01)
    assert ssd_speeds.by_temperature(found).why.startswith("Nothing is run: this machine has no second core")
    speeds = {0.0: (1.1, 1.2), 0.3: (1.0, 1.1), 0.7: (0.9, 0.9), 1.0: (0.8, 0.72)}
    found.ran_by_temperature = {
        t: {"uniform": Estimate(even), "geometric": Estimate(shaped)} for t, (even, shaped) in speeds.items()
    }
    drawn = ssd_speeds.by_temperature(found)
    named = drawn_by_name(drawn)
    gain = 100 * (named["ours, geometric"][1.0] / named["ours, uniform"][1.0] - 1)
    assert f"{signed(gain)} % at 1, against +0.8 and +4.4 in the paper" in drawn.why
    assert named["ours, uniform, run here"] == {t: even for t, (even, _) in speeds.items()}
    assert named["ours, geometric, run here"] == {t: shaped for t, (_, shaped) in speeds.items()}
    assert "Run here, the geometric fan-out changes the speed by +9.1 % at temperature 0 and −10.0 % at 1." in drawn.why
