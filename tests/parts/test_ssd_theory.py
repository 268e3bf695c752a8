"""The formulas, against the paper's own numbers and against a world played out by dice."""

from __future__ import annotations

import itertools
import random

import pytest

from decoding.drafting.fan_outs import count_probabilities
from decoding.trace.theory import (
    Speculation,
    critical_batch,
    fan_out,
    long_run_hit_rate,
    power_law,
    without_hits,
)
from tests.kit.recordings import tokens_per_round

ROUNDS = 40_000


def played(world: Speculation, batch: int = 1, seed: int = 0) -> float:
    """Tokens per verification time and text, round by round: every text hits or misses, and one miss holds up all."""
    dice = random.Random(seed)
    tokens = time = 0.0
    for _ in range(ROUNDS):
        hits = [dice.random() < world.hit_rate for _ in range(batch)]
        tokens += sum(world.tokens_on_hit if hit else world.tokens_on_miss for hit in hits) / batch
        time += max(1.0, world.preparing) if all(hits) else 1.0 + world.backup
    return tokens / time


WORLDS = {
    "hidden": Speculation(0.8, 4.0, 3.0, preparing=0.7, backup=0.5),
    "late": Speculation(0.6, 4.0, 1.0, preparing=1.4, backup=0.0),
    "never hits": without_hits(3.0, 0.6),
    "always hits": Speculation(1.0, 5.0, 1.0, preparing=0.2, backup=3.0),
}


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("batch", [1, 4])
def test_the_speed_up_is_that_of_a_world_played_out(name: str, batch: int) -> None:
    assert WORLDS[name].speedup(batch) == pytest.approx(played(WORLDS[name], batch), rel=0.01)


@pytest.mark.parametrize("acceptance", [0.0, 0.55, 0.9, 1.0])
def test_tokens_of_a_round_are_those_of_drafts_thrown_by_dice(acceptance: float) -> None:
    dice = random.Random(1)
    lengths = [
        1 + sum(1 for _ in itertools.takewhile(lambda _: dice.random() < acceptance, range(5))) for _ in range(ROUNDS)
    ]
    assert tokens_per_round(acceptance, 5) == pytest.approx(sum(lengths) / ROUNDS, rel=0.01)
    chances = count_probabilities([acceptance] * 5)
    assert sum(chances) == pytest.approx(1)
    assert sum(chance * (count + 1) for count, chance in enumerate(chances)) == pytest.approx(
        tokens_per_round(acceptance, 5)
    )


def test_hits_in_the_long_run_are_those_of_a_chain_played_out() -> None:
    dice = random.Random(2)
    hit, hits = False, 0
    for _ in range(ROUNDS):
        hit = dice.random() < (0.85 if hit else 0.6)
        hits += hit
    assert long_run_hit_rate(0.85, 0.6) == pytest.approx(hits / ROUNDS, abs=0.01)
    assert long_run_hit_rate(0.7, 0.7) == pytest.approx(0.7)  # one drafter for both


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
    after a fast backup, its own hit rates give the same."""
    tokens, hits = tokens_per_round(0.885, 7), 1 - 0.28
    neural = Speculation(hits, tokens, tokens, preparing=0.92, backup=0.8)
    fast = Speculation(long_run_hit_rate(hits, after_miss=0.8), tokens, 1.0, preparing=0.92, backup=0.0)
    assert critical_batch(neural, fast) == 2
