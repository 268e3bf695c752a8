"""The projection against the literature: Figure 6 of "Speculative Speculative Decoding" (arXiv 2603.03251v1).

What the paper publishes goes in: speeds without SSD as prices (the card), and how often a round hits (Figure 3). What
comes out is compared with its bars. Not published, so taken: 5 tokens a round with 6 drafted tokens, hence an
acceptance of 0.885; a lookahead of 7 for SSD, as in the authors' commands; and that the whole budget of 8 branches goes
to the next token after a miss that random tokens answered, as the authors' code allows. Nothing is fitted to SSD's
bars. The figure's text says F = 1: one branch for each accepted count.
"""

from __future__ import annotations

import random

import pytest

from decoding.drafting.fan_outs import count_probabilities
from decoding.drafting.records import Record, RecordedText, Written
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.prices.machine_card import published
from decoding.replay.projecting import prepared_at
from decoding.replay.ssd.simulator import simulate_together
from decoding.ssd.speculator.speculator import plan_for
from decoding.trace.theory import Speculation, critical_batch, fan_out, power_law
from tests.kit.recordings import tokens_per_round

COSTS = published()["llama-70b-1b-h100"].costs
ACCEPTANCE, LOOKAHEAD, ROUNDS = 0.885, 7, 1000
HITS = {"neural": 1 - 0.28, "random": 0.80}  # by what drafted the judged round; F = 1 and F = 8
FIGURE_6 = {  # batch -> tokens/s of each text: fast backup, neural backup, SD
    1: (249, 256, 162),
    2: (244, 214, 158),
    4: (237, 186, 155),
    8: (207, 160, 145),
    16: (170, 135, 130),
}
BACKUPS = {
    "random": SpeculatorSettings(LOOKAHEAD, 8, "1/1/1/1/1/1/1/1+8/0/0/0/0/0/0/0", "random"),
    "neural": SpeculatorSettings(LOOKAHEAD, 8, "uniform", "neural"),
}
FIRST, SECOND, ELSE = 0, 1, 2  # what the draft likes best, next, and what it does not list


def text_of(backup: str, rounds: int, seed: int) -> RecordedText:
    """A text that gives these acceptances and hit rates, whatever is random: it is thrown round by round."""
    dice = random.Random(seed)
    text: list[int] = []
    is_random = False  # whether random tokens are judged in this round
    for _ in range(rounds):
        accepted = 0
        while not is_random and accepted < LOOKAHEAD and dice.random() < ACCEPTANCE:
            accepted += 1
        hits = dice.random() < HITS["random" if is_random else "neural"]
        # After a whole acceptance the first guess is the draft's favourite, after a refusal its second choice.
        guess = FIRST if accepted == LOOKAHEAD or is_random else SECOND
        text += [*[FIRST] * accepted, guess if hits else ELSE]
        is_random = backup == "random" and not hits
    matches = [token == FIRST for token in text]
    listed = (FIRST, SECOND, *range(10, 22))
    return RecordedText(Record.of(matches), written=Written((), text, len(text)), preferred=(listed,) * len(text))


def speed(backup: str, batch: int) -> float:
    """Tokens per second of each text."""
    plan, prices = plan_for(BACKUPS[backup], 10_000), prepared_at(COSTS, batch)
    texts = [text_of(backup, max(187, ROUNDS // batch), seed) for seed in range(batch)]
    played = simulate_together(texts, plan, prices, batch, beside=True, shares_branches=False, looks=False)
    return played.tokens_per_s_device / batch


@pytest.mark.parametrize("batch", [1, 2, 16])
def test_the_bars_are_within_10_percent_and_the_fast_backup_is_better_from_a_batch_of_2_on(batch: int) -> None:
    fast, neural, plain = FIGURE_6[batch]
    by_random, by_model = speed("random", batch), speed("neural", batch)
    assert (by_random, by_model) == (pytest.approx(fast, rel=0.10), pytest.approx(neural, rel=0.10))
    assert (by_random > by_model) is (batch > 1)
    drafting = COSTS.verify(batch, 7 * batch) + 6 * COSTS.draft(batch)
    assert tokens_per_round(ACCEPTANCE, 6) / drafting == pytest.approx(plain, rel=0.01)  # prices were derived from it


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
