"""Why a strategy is not faster: runs made by hand, in which the time of every cause is known."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from decoding.choice import Choice, choose
from decoding.core.load import Load
from decoding.measure import passes, why
from decoding.measure.sample import SampleResult, Timing, sample_from_dict, sample_from_events
from decoding.measure.spent import BOUND, CAUSES, is_behind, rounds_behind
from decoding.measure.summary import report
from decoding.measure.why import WITH_PROMPTS, Texts
from decoding.strategies import BASELINE
from decoding.trace.events import Anticipated, Drafted, Event, Finished, Reported, Started, Verified
from decoding.words import change, percent, signed

TOKENS = (1, 2, 3, 4, 5, 6, 7, 8)
ROW = 100  # ns: a verification of one row
PREFILL = 1_000
ALONE, STATIC, LONG, AHEAD = (
    choose(BASELINE, {}), choose("static", {"lookahead": 2}), choose("static", {"lookahead": 4}), choose("ssd", {}),
)  # fmt: skip


class Trace:
    """Rounds one after another, each with the times that it is told."""

    def __init__(self) -> None:
        self.events: list[Event] = [Started(3, PREFILL)]
        self.now, self.round, self.text = PREFILL, 0, 0

    def play(
        self, drafted: int, accepted: int, drafting: int = 0, other: int = 0, verify: int = ROW,
        shared: dict[str, int] | None = None, **more: str,
    ) -> Trace:  # fmt: skip
        self.round += 1
        began, asked = self.now, self.now + drafting + other
        if drafted:
            tokens = tuple(range(drafted))
            draft = (self.round, self.text, drafted, tokens, (0.5,) * drafted, (), more.get("stop", "limit"))
            passes = 0 if more.get("source") == "hit" else drafted
            self.events.append(Drafted(*draft, more.get("source", "fresh"), passes, began, began + drafting,
                                       more.get("backup", "")))  # fmt: skip
        outcome = "bonus" if accepted == drafted else "correction"
        self.events.append(Verified(self.round, accepted, 9, outcome, asked - began, asked, asked + verify,
                                    **(shared or {})))  # fmt: skip
        self.now, self.text = asked + verify, self.text + accepted + 1
        return self

    def sample(self, choice: Choice, tokens: tuple[int, ...] = TOKENS) -> SampleResult:
        trace = [*self.events, Finished("length", len(tokens), self.now)]
        return sample_from_events(trace, choice=choice, prompt="p", category="", repeat=1, tokens=tokens, text="")


def alone() -> SampleResult:
    trace = Trace()
    for _ in TOKENS:
        trace.play(0, 0, other=20)
    return trace.sample(ALONE)


def static() -> Trace:
    """Rounds end at tokens 3 (too early: the draft had token 3), 4 (refused at once), 7 (right) and 8."""
    trace = Trace().play(2, 2, drafting=40, other=5, verify=130)
    trace.play(2, 0, drafting=40, other=5, verify=130)
    return trace.play(2, 2, drafting=40, other=5, verify=130).play(0, 0, other=5)


def long() -> Trace:
    """Another lookahead along the same text. It shows that the draft has token 3, and not token 7."""
    return Trace().play(4, 3, drafting=80, verify=160).play(4, 2, drafting=80, verify=160).play(0, 0)


def found(*samples: SampleResult, choices: tuple[Choice, ...] = (ALONE, STATIC, LONG)) -> dict[str, dict]:
    rows = report(choices, {choice.label: "" for choice in choices}, samples)
    return {row["label"]: row["why"] for row in rows}


def ns(why: dict) -> dict[str, int]:
    return {step["name"]: round(step["seconds"] * 1e9) for step in why["steps"]}


def test_each_cause_of_a_run_made_by_hand_has_its_own_bar():
    told = found(alone(), static().sample(STATIC), long().sample(LONG))["static:2"]
    assert told["bound"] == pytest.approx(8e9 / (3 * ROW))  # at tokens 4, 7 and 8
    assert ns(told) == {"drafting": 100, "early": ROW, "rejected": 20, "width": 3 * 30, "overhead": 4 * 5}
    assert told["measured"] == pytest.approx(8e9 / (3 * ROW + 100 + ROW + 20 + 90 + 20))
    assert told["end_to_end"] == pytest.approx(8e9 / (PREFILL + 3 * ROW + 100 + ROW + 20 + 90 + 20))
    assert (told["row_ns"], told["unknown"], told["refusal"]) == (ROW, 0, "")
    assert told["baseline"] == pytest.approx(1e9 / 120)


def test_a_stop_at_which_no_strategy_drafted_is_counted_as_unknown_and_said():
    told = found(alone(), static().sample(STATIC))["static:2"]
    assert told["unknown"] == 2 and ns(told)["early"] == 2 * ROW
    assert "No strategy drafted at 2 of the stops" in told["sentence"]


def test_where_nothing_could_be_copied_the_bound_verifies_too():
    lookup = choose("lookup", {})
    copied = Trace().play(3, 3, drafting=1, source="copied", stop="match").play(0, 0).play(2, 2, source="copied")
    told = found(alone(), copied.sample(lookup), choices=(ALONE, lookup))[lookup.label]
    assert told["bound"] == pytest.approx(8e9 / (3 * ROW)) and told["unknown"] == 0


def test_what_ssd_missed_and_waited_for_is_apart_from_the_price_of_drafting():
    trace = Trace().play(2, 2, drafting=40)
    trace.play(2, 2, drafting=3, source="hit").play(2, 0, drafting=25, source="miss", backup="ngram").play(0, 0)
    told = found(alone(), trace.sample(AHEAD), choices=(ALONE, AHEAD))[AHEAD.label]
    assert ns(told) == {"drafting": 40, "early": 2 * ROW, "rejected": 0, "misses": 25 + ROW, "waits": 3, "width": 0,
                        "overhead": 0}  # fmt: skip


def test_time_in_which_the_draft_finishes_its_step_is_waiting():
    trace = Trace().play(1, 1, drafting=10)
    asked = trace.now
    trace.events.append(Anticipated(1, ((1, 9, 1),), 0.9, PREFILL + 10, asked + 15, busy_ns=100))
    trace.play(1, 1, drafting=20, source="hit")
    told = found(alone(), trace.sample(AHEAD, TOKENS[:4]), choices=(ALONE, AHEAD))[AHEAD.label]
    assert ns(told)["waits"] == 20 and ns(told)["drafting"] == 10


def test_the_largest_loss_is_the_one_that_is_advised_on():
    slow = Trace().play(2, 2, drafting=300).play(2, 0, drafting=300).play(2, 2, drafting=300).play(0, 0)
    told = found(alone(), slow.sample(STATIC), long().sample(LONG))["static:2"]
    assert told["largest"] == "drafting" and why.ADVICE["drafting"] in told["sentence"]
    refused = Trace()
    for _ in TOKENS:
        refused.play(2, 0, drafting=10)
    assert found(alone(), refused.sample(STATIC))["static:2"]["largest"] == BOUND


def test_a_run_that_cannot_be_divided_says_why():
    mine = static().sample(STATIC)
    assert found(alone(), mine)["autoregressive"]["refusal"] == why.NO_DRAFTS
    assert found(alone())["static:2"]["refusal"] == why.NOTHING_FINISHED
    assert found(mine)["static:2"]["refusal"] == why.NO_PRICE
    old = {name: value for name, value in mine.to_dict().items() if name != "spent"}
    assert found(alone(), sample_from_dict(old))["static:2"]["refusal"] == why.NOT_KEPT
    server = [Started(3, PREFILL), Reported(new_tokens=8), Finished("length", 8, PREFILL + 500)]
    far = sample_from_events(server, choice=STATIC, prompt="p", category="", repeat=1, tokens=TOKENS, text="")
    assert found(alone(), far)["static:2"]["refusal"] == why.NO_ROUNDS


# Under load -----------------------------------------------------------------------------------------------------------

FOUR = Load(concurrency=4)
CROWD, AMONG = ALONE.at(FOUR), STATIC.at(FOUR)


def crowd() -> SampleResult:
    """Autoregressive among four texts: a pass takes 200 ns, and the one that reads a prompt for another 500."""
    trace = Trace()
    for number in range(len(TOKENS)):
        trace.play(
            0, 0, other=20, verify=500 if number == 3 else 200, shared={"texts": 4, "prompt_rows": 64 * (number == 3)}
        )
    return trace.sample(CROWD)


def among() -> Trace:
    """The same rounds as `static`. Before the second a draft reads a prompt, whose pieces the pass before it has read,
    and in the third the others draft longer."""
    trace = Trace().play(2, 2, drafting=40, other=5, verify=430, shared={"texts": 4, "prompt_rows": 9})
    trace.play(2, 0, drafting=40, other=65, verify=230, shared={"texts": 4, "prompts_ns": 60})
    trace.play(2, 2, drafting=40, other=35, verify=230, shared={"texts": 4, "held_ns": 30})
    return trace.play(0, 0, other=25, verify=230, shared={"texts": 4, "held_ns": 20})


def test_under_load_what_others_take_has_its_own_bars():
    queued = replace(among().sample(AMONG), timing=Timing(queued_ns=700))
    told = found(crowd(), queued, long().sample(LONG.at(FOUR)), choices=(CROWD, AMONG, LONG.at(FOUR)))[AMONG.label]
    assert told["bound"] == pytest.approx(8e9 / (3 * 200)) and told["row_ns"] == 200
    assert ns(told) == {"drafting": 100, "early": 200, "rejected": 20, "others": 50, "prompts": 60 + 200,
                        "width": 4 * 30, "overhead": 4 * 5}  # fmt: skip
    assert told["passes"] == [{"texts": 4, "ns": 230}] and WITH_PROMPTS not in told["sentence"]
    always = Trace().play(2, 2, drafting=40, verify=430, shared={"texts": 4, "prompt_rows": 9}).sample(AMONG)
    assert WITH_PROMPTS in found(crowd(), always, choices=(CROWD, AMONG))[AMONG.label]["sentence"]
    assert told["measured"] == pytest.approx(8e9 / queued.decode_ns)
    assert told["with_prompt"] == pytest.approx(8e9 / (queued.decode_ns + PREFILL))
    assert told["end_to_end"] == pytest.approx(8e9 / (queued.decode_ns + PREFILL + 700))


def test_the_rounds_behind_a_bar_add_up_to_it():
    mine, other = among(), long().sample(LONG.at(FOUR))
    sample = mine.sample(AMONG)
    told = found(crowd(), sample, other, choices=(CROWD, AMONG, LONG.at(FOUR)))[AMONG.label]
    for_prompts = partial(passes.by_prompts, line=passes.usual(passes.of([sample])))
    ends = Texts([sample, other]).ends(sample)
    rounds = list(rounds_behind(mine.events, ends, told["row_ns"], for_prompts))
    expected = {BOUND: {2, 3, 4}, "early": {1}, "rejected": {2}, "drafting": {1, 2, 3}, "others": {3, 4},
                "prompts": {1, 2}, "width": {1, 2, 3, 4}, "overhead": {1, 2, 3, 4}}  # fmt: skip
    for cause in (BOUND, *CAUSES):
        behind = {each.round.verdict.round: each.ns[cause] for each in rounds if is_behind(each, cause)}
        assert set(behind) == expected.get(cause, set()), cause
        assert sum(behind.values()) == (3 * 200 if cause == BOUND else ns(told).get(cause, 0)), cause


def test_a_share_stands_before_its_sign_and_a_loss_has_a_minus() -> None:
    assert (percent(0.614), percent(0.614, 1), percent(0)) == ("61 %", "61.4 %", "0 %")
    assert (change(1.071, 1), change(0.966, 1), change(0.8)) == ("+7.1 %", "\u22123.4 %", "\u221220 %")
    assert (signed(2), signed(-0.5, 2)) == ("+2.0", "\u22120.50")
