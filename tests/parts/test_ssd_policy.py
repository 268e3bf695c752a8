"""The decisions of SSD, by a policy that sees no model."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from decoding.drafting.ssd_settings import SpeculatorSettings, WantedBackup
from decoding.replay.ssd.playing import SimulatedDraft
from decoding.ssd.policy.ssd_policy import Plan, SsdPolicy, TokenPrices
from decoding.trace.events import Backup

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


@pytest.mark.parametrize(("name", "instead"), [("copy", ("neural", ())), ("copy-or-random", ("random", [8, END]))])
def test_a_backup_copies_what_is_sure_as_the_text_grows(
    name: WantedBackup, instead: tuple[Backup, Sequence[int]]
) -> None:
    settings = SpeculatorSettings(lookahead=4, backup=name)
    decides = SsdPolicy(Plan(settings, random_tokens=lambda seed, text, count: [len(text), END]), {END})
    decides.read([5, 5, 1, 2])
    decides.read([1, 2, 3, END, 4, 1, 2])
    assert decides.after_a_miss(4) == ("copy", [3, END])
    decides.text += [8]
    decides.learn_round(SimulatedDraft((), "miss", "copy", 0, None), 0, [8], took_ns=1000)
    assert decides.after_a_miss(4) == instead, "nothing has followed 8 yet"


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
