"""From what acceptance alone would give to what was measured, loss by loss."""

from __future__ import annotations

import pytest

from webapp.comparisons.losses import ADVICE, losses


def row(role="ranked", *, tokens, passes, ns, draft_ns=0, verify_ns=0, alone_ns=None):
    sample = {"timed_tokens": tokens, "num_target_passes": passes, "decode_ns": ns,
              "draft_ns": draft_ns, "verify_ns": verify_ns,
              "hits": None if alone_ns is None else {"alone_ns": alone_ns}}  # fmt: skip
    return {"role": role, "samples": [sample]}


ALONE = row("baseline", tokens=100, passes=100, ns=1000, verify_ns=900)


def found(**numbers):
    speculative = row(tokens=100, **numbers)
    return losses(speculative, [ALONE, speculative])


def test_each_step_starts_where_the_one_before_ended_and_the_last_is_what_was_measured():
    told = found(passes=25, ns=500, draft_ns=150, verify_ns=300)
    assert told["ideal"] == pytest.approx(4.0)
    steps = told["steps"]
    assert [step["name"] for step in steps] == ["drafting", "verifying", "the rest"]
    assert [step["from"] for step in steps] == pytest.approx([told["ideal"], steps[0]["to"], steps[1]["to"]])
    assert steps[0]["to"] == pytest.approx(1000 / (250 + 150))
    assert steps[1]["to"] == pytest.approx(1000 / (250 + 150 + 300 - 25 * 9))
    assert steps[-1]["to"] == told["measured"] == pytest.approx(2.0)


def test_the_largest_loss_is_the_one_that_is_advised_on():
    assert found(passes=25, ns=800, draft_ns=500, verify_ns=230)["advice"] == ADVICE["drafting"]
    assert found(passes=25, ns=900, draft_ns=50, verify_ns=800)["advice"] == ADVICE["verifying"]
    assert found(passes=25, ns=900, draft_ns=50, verify_ns=230)["advice"] == ADVICE["the rest"]
    assert found(passes=80, ns=900, draft_ns=50, verify_ns=700)["advice"] == ADVICE["acceptance"]


def test_standing_still_for_a_prepared_draft_is_a_loss_of_its_own():
    told = found(passes=25, ns=900, draft_ns=550, verify_ns=230, alone_ns=50)
    assert [step["name"] for step in told["steps"]] == ["drafting", "verifying", "waiting", "the rest"]
    waiting = told["steps"][2]
    assert waiting["from"] == pytest.approx(1000 / (250 + 50 + 230 - 25 * 9))
    assert waiting["to"] == pytest.approx(1000 / (250 + 50 + 230 - 25 * 9 + 500))
    assert (told["largest"], told["advice"]) == ("waiting", ADVICE["waiting"])


def test_waiting_is_never_more_than_the_time_beside_verifications():
    told = found(passes=25, ns=500, draft_ns=400, verify_ns=300, alone_ns=50)
    assert told["steps"][2]["to"] == pytest.approx(1000 / (250 + 300 - 25 * 9 + 200))


def test_where_nothing_is_lost_nothing_is_advised():
    assert found(passes=25, ns=256, draft_ns=5, verify_ns=226)["advice"] == ""


def test_the_baseline_and_what_was_not_measured_have_none():
    assert losses(ALONE, [ALONE]) is None
    assert found(passes=0, ns=0) is None
