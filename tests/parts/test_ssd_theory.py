"""The formulas, against the numbers of the paper."""

from __future__ import annotations

import pytest

from decoding.drafting.fan_outs import count_probabilities
from decoding.trace.theory import Speculation, critical_batch, fan_out, power_law
from tests.kit.recordings import tokens_per_round

BRANCHES = (2, 4, 8, 16, 32, 64, 128)
PUBLISHED = {  # miss rates read off the paper's figure 3, 1B draft; prefactor and exponent fitted to them
    "temperature 0": ((0.229, 0.133, 0.080, 0.053, 0.039, 0.029, 0.025), 0.28, 0.54),
    "temperature 0.7": ((0.316, 0.207, 0.138, 0.092, 0.065, 0.046, 0.035), 0.43, 0.53),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_papers_miss_rates_lie_on_a_power_law_with_a_prefactor(name: str) -> None:
    misses, prefactor, exponent = PUBLISHED[name]
    law = power_law(dict(zip(BRANCHES, misses, strict=True)))
    assert law.prefactor == pytest.approx(prefactor, abs=0.005)
    assert law.exponent == pytest.approx(exponent, abs=0.005)
    fitted = [law.prefactor * branches**-law.exponent for branches in BRANCHES]
    assert fitted == pytest.approx(misses, rel=0.25)


@pytest.mark.parametrize("acceptance", [0.3, 0.8])
def test_theorem_12_is_the_optimum_that_lagrange_multipliers_give(acceptance: float) -> None:
    """At the optimum, one more branch anywhere brings the same: P(count) * F ** -(r + 1) is equal for all counts."""
    shares, chances = fan_out(5, 24.0, acceptance, 0.54), count_probabilities([acceptance] * 5)
    assert sum(shares) == pytest.approx(24)
    gains = [chance * share**-1.54 for chance, share in zip(chances, shares, strict=True)]
    assert gains == pytest.approx([gains[0]] * 6)


def test_a_critical_batch_is_searched_where_backups_hit_differently() -> None:
    """Figure 6 of the paper marks a batch of 2: with one branch for each count, and the whole budget on the next token
    after a fast backup, which 0.8 of the next outcomes hit, its own hit rates give the same."""
    tokens, hits = tokens_per_round(0.885, 7), 1 - 0.28
    neural = Speculation(hits, tokens, tokens, preparing=0.92, backup=0.8)
    fast = Speculation(0.8 / (1 - hits + 0.8), tokens, 1.0, preparing=0.92, backup=0.0)
    assert critical_batch(neural, fast) == 2
