"""The decisions of SSD, by policies that see no model, at times that the test sets."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from decoding.dice.verify import Draft
from decoding.drafting.fan_outs import ChosenOutcomes
from decoding.drafting.ssd_settings import SpeculatorSettings, WantedBackup
from decoding.replay.ssd.simulator import SimulatedDraft
from decoding.ssd.policy.breadth import AGAIN, TRIALS, TRIED, Breadth
from decoding.ssd.policy.pace import Pace
from decoding.ssd.policy.ssd_policy import Plan, SsdPolicy, TokenPrices
from decoding.ssd.policy.together import AGAIN as AGAIN_OF_MISSES
from decoding.ssd.policy.together import Misses, shared_out
from decoding.trace.events import Origin

pytestmark = pytest.mark.slow
END = 9


def policy(backup: WantedBackup = "neural", prices: TokenPrices | None = None) -> SsdPolicy:
    settings = SpeculatorSettings(lookahead=4, branches=6, backup=backup)
    return SsdPolicy(Plan(settings, prices, lambda seed, text, count: [len(text), END, 1][:count]), {END})


def test_branches_are_final_when_they_are_done_or_would_not_grow_unless_they_are_too_long_to_verify_whole() -> None:
    decides = policy(prices=TokenPrices(waiting=0.5, beside=0.4))
    assert not decides.is_final(3, is_done=False) and decides.is_final(3, is_done=True)
    assert decides.is_final(4, is_done=False)
    assert 0.8**11 < 0.4 / 4 < 0.8**10
    assert decides.is_final(10, is_done=True) and not decides.is_final(11, is_done=True)
    assert policy().is_final(11, is_done=True)  # nobody can be asked


def test_a_backup_drafts_up_to_its_first_end_token_and_leaves_what_it_does_not_know_to_the_model() -> None:
    decides = policy("auto")
    decides.read([1, 2, 3, END, 4, 1, 2])
    assert decides.backup_tokens("ngram", 3) == [3, END]
    assert decides.backup_tokens("random", 3) == [7, END]
    assert not decides.backup_tokens("neural", 3)
    decides.read([1, 2, 3])
    assert not decides.backup_tokens("ngram", 3)


def test_a_backup_copies_what_is_sure_as_the_text_grows() -> None:
    decides = policy("copy")
    decides.read([5, 5, 1, 2])
    decides.read([1, 2, 3, END, 4, 1, 2])
    assert decides.after_a_miss(4) == ("copy", [3, END])
    decides.text += [8]
    decides.learn_round(SimulatedDraft((), "miss", "copy", 0, None), 0, [8], took_ns=1000)
    assert decides.after_a_miss(4) == ("neural", ()), "nothing has followed 8 yet"


def test_no_branch_is_opened_where_a_sure_copy_will_bring_as_many_tokens() -> None:
    settings = SpeculatorSettings(lookahead=2, branches=6, backup="copy")
    guesses = [[50, 51, 52] for _ in range(3)]
    chosen = []
    for text in ([*range(30), *range(20)], [*range(50)]):
        decides = SsdPolicy(Plan(settings))
        decides.read(text)
        chosen.append(decides.choose(SimulatedDraft((20, 21), "hit", "", 0, None), (), guesses))
    sure, unknown = chosen
    assert sure.outcomes == () and sure.predicted_hit == 0.0
    assert len(unknown.outcomes) > 3


def test_the_first_step_is_never_put_off() -> None:
    now_ns = 0
    decides = SsdPolicy(Plan(SpeculatorSettings(backup="neural")), clock_ns=lambda: now_ns)
    draft = SimulatedDraft((1, 2), "hit", "", 0, None)
    for _ in range(5):
        decides.pace.note_draft()
        now_ns += 1000
        decides.learn_round(draft, 0, [3], decides.pace.elapsed_ns())
        decides.pace.note_step(400)
    decides.pace.note_draft()
    now_ns += 900
    assert decides.puts_off_step(drafted=2, depth=1, is_done=True)
    assert not decides.puts_off_step(drafted=2, depth=0, is_done=False)


class Clock:
    now = 0

    def __call__(self) -> int:
        return self.now


def draft(tokens: int, origin: Origin = "hit") -> Draft:
    return Draft((1,) * tokens, torch.empty(tokens, 0), 4, "limit", origin, 0)


def paced(rounds: int, took: int, step: int, tokens: int = 4) -> tuple[Pace, Clock]:
    """Return a pace after so many rounds alike; the next draft has just been given."""
    clock = Clock()
    pace = Pace(clock)
    for _ in range(rounds):
        pace.note_draft()
        clock.now += took
        pace.note_round(draft(tokens), 3, pace.elapsed_ns())
        pace.note_step(step)
    pace.note_draft()
    return pace, clock


def test_a_step_that_ends_before_the_verdict_is_due_is_taken_and_one_that_would_delay_it_is_not() -> None:
    pace, clock = paced(rounds=5, took=2000, step=500)
    clock.now += 1500
    assert not pace.would_delay(4, saved_ns=0)
    clock.now += 1
    assert pace.would_delay(4, saved_ns=0)
    assert not pace.would_delay(2, saved_ns=0), "drafts of two tokens were never verified"
    clock.now += 1499
    assert not pace.would_delay(4, saved_ns=0), "it is overdue, so it may take any time"


def test_a_token_is_of_use_by_what_it_would_take_alone_but_no_more_than_it_is_worth() -> None:
    pace, _ = paced(rounds=10, took=2000, step=500)  # four tokens each, all hits
    pace.note_drafting(tokens=2, took_ns=600)
    assert pace.token_price == pytest.approx(300 * 4 / 2000)
    assert pace.saved_ns(0.9) == pytest.approx(300)
    assert pace.saved_ns(0.1) == pytest.approx(0.1 * 2000 / 4)


LIKELY = [0.4, 0.2, 0.1, 0.08, 0.05, 0.04, 0.03, 0.02, 0.02, 0.01, 0.01, 0.01]


def breadth(step: int, row: int, window: int, *, is_known: bool = False) -> Breadth:
    """Return a breadth after rounds with drafts of 4 tokens, 100 ns each. A step takes `step` ns and `row` for each
    branch, and so much time is left for steps."""
    made = Breadth((lambda branches: step + row * branches) if is_known else None)
    for _ in range(TRIALS):
        branches = made.choose(LIKELY, hides=True)
        for _ in range(4):
            made.note_step(branches, step + row * branches)
        made.note_drafting(4, 400)
        made.note_round(4, window)
    return made


@pytest.mark.parametrize(
    ("step", "row", "window", "expected", "is_known"),
    [(40, 1, 10_000, 12, True), (100, 10, 600, 4, False), (100, 100, 350, 1, False)],
)
def test_as_many_branches_are_opened_as_are_ready_within_the_verification(
    step: int, row: int, window: int, expected: int, is_known: bool
) -> None:
    found = breadth(step, row, window, is_known=is_known)
    assert found.choose(LIKELY, hides=True) == expected


def test_the_first_rounds_of_a_run_try_what_a_step_takes_and_later_ones_now_and_then() -> None:
    made = Breadth()
    assert [made.choose(LIKELY, hides=True) for _ in range(TRIALS)] == [*TRIED, *TRIED]
    assert made.choose(LIKELY, hides=True) == TRIED[0], "no times are known, so there are few"
    made = breadth(100, 10, 600)
    later = [made.choose(LIKELY, hides=True) for _ in range(2 * AGAIN)]
    assert Counter(later) == {4: 2 * AGAIN - 2, TRIED[0]: 1, TRIED[1]: 1}


def test_where_nothing_can_follow_no_number_is_learnt() -> None:
    made = breadth(100, 10, 600)
    before = made.choose(LIKELY, hides=True)
    assert {made.choose([], hides=True) for _ in range(3 * AGAIN)} == {before}


def chosen(*values: float) -> ChosenOutcomes:
    outcomes = tuple((number % 2, number) for number in range(len(values)))
    return ChosenOutcomes(outcomes, sum(values), (0, 0), values)


def test_the_likeliest_outcomes_of_all_texts_get_the_rows() -> None:
    asked = {"sure": (0.8, 0.1, 0.05), "open": (0.3, 0.25, 0.2), "lost": (0.02, 0.01)}
    granted = shared_out({text: chosen(*values) for text, values in asked.items()}, 4)
    assert {text: found.values for text, found in granted.items()} == {
        "sure": (0.8,),
        "open": (0.3, 0.25, 0.2),
        "lost": (),
    }
    assert granted["open"].outcomes == ((0, 0), (1, 1), (0, 2)) and granted["open"].fanout == (2, 1)
    assert granted["open"].predicted_hit == pytest.approx(0.75)


def after_rounds(hits: int, neural: float, ngram: float, *, waited: int) -> Misses:
    """Return what was learnt from 40 misses of each backup, which adds so many tokens, and from hits that add 4.
    Verifying takes 1,000 ns."""
    made = Misses()
    for name, rounds, tokens in (("hit", hits, 4.0), ("neural", 40, neural), ("ngram", 40, ngram)):
        for number in range(rounds):
            share = int(tokens * (number + 1)) - int(tokens * number)
            made.note_round(name, share, 1_000, waited if name == "neural" else 0)
    return made


@pytest.mark.parametrize(("ngram", "better"), [(3.9, "ngram"), (1.1, "neural")])
def test_the_better_backup_answers_a_miss_and_the_other_now_and_then(ngram: float, better: str) -> None:
    made = after_rounds(320, 4.0, ngram, waited=500)
    used = [made.choose() for _ in range(2 * AGAIN_OF_MISSES)]
    assert used.count(better) == len(used) - 2, "the other answers one of 16"
