"""How far a classifier's estimates lie from what a run accepted."""

from __future__ import annotations

import random

import pytest

from decoding.choice import choose
from decoding.dice.sampling import Sampling
from decoding.measure.drift import binned, drift
from decoding.measure.sample import sample_from_dict, sample_from_events
from decoding.trace.events import Drafted, Verified
from tests.kit.worlds import World


def judged(offset: float, slope: float, rounds: int = 3000) -> list[tuple[list[float], int]]:
    """Drafts of three tokens whose estimates drift by offset and slope from their true chances."""
    dice, found = random.Random(3), []
    for _ in range(rounds):
        logits = [dice.uniform(-1.5, 3.0) for _ in range(3)]
        chances = [1 / (1 + 2.718281828 ** -(offset + slope * x)) for x in logits]
        fates = [dice.random() < chance for chance in chances]
        estimates = [1 / (1 + 2.718281828**-x) for x in logits]
        found.append((estimates, fates.index(False) if False in fates else 3))
    return found


@pytest.mark.parametrize(("offset", "slope"), [(0.0, 1.0), (-1.0, 0.6), (0.8, 1.5)])
def test_offset_and_slope_of_a_drift_are_found_again(offset: float, slope: float) -> None:
    found = drift(binned(judged(offset, slope)))
    assert found is not None
    assert (found["offset"], found["slope"]) == (pytest.approx(offset, abs=0.1), pytest.approx(slope, abs=0.1))
    assert found["corrected_error"] < 0.03
    assert (found["calibration_error"] > 0.05) is ((offset, slope) != (0.0, 1.0))


def test_bins_of_several_samples_add_up() -> None:
    rounds = judged(-1.0, 0.6, 200)
    together, apart = drift(binned(rounds)), drift([*binned(rounds[:90]), *binned(rounds[90:])])
    assert together is not None and apart is not None
    assert apart == {**together, **{name: pytest.approx(v) for name, v in together.items() if isinstance(v, float)}}


def test_tokens_after_the_first_refusal_do_not_count() -> None:
    assert sum(tokens for _, tokens, *_ in binned([([0.9, 0.8, 0.7], 0), ([0.6, 0.5], 2)])) == 3


def test_a_sample_of_disco_holds_its_estimates_and_one_of_another_strategy_none() -> None:
    for label, has_any in (("disco", True), ("threshold", False)):
        choice = choose(label)
        decoded, recorder = World.of_tables(14, 3).run(choice, [3, 1], Sampling(max_new_tokens=40))
        sample = sample_from_events(
            recorder.events, choice=choice, prompt="p", category="", repeat=0, tokens=decoded.tokens, text=""
        )
        assert bool(sample.estimated) is has_any
        assert sample_from_dict(sample.to_dict()).estimated == sample.estimated
        verdicts = {event.round: event.accepted for event in recorder.events if isinstance(event, Verified)}
        drafts = [event for event in recorder.events if isinstance(event, Drafted)]
        judged_count = sum(min(len(draft.estimate), verdicts[draft.round] + 1) for draft in drafts)
        assert sum(tokens for _, tokens, *_ in sample.estimated) == judged_count
