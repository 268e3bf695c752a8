"""CostModel that are read off traces."""

from __future__ import annotations

import dataclasses
import itertools
import json
import time
from collections.abc import Sequence
from functools import partial

import pytest

from decoding.backends.joint_probing import LOOKAHEADS, Probing
from decoding.choice import choose, parse_choices
from decoding.dice.sampling import Sampling
from decoding.disco.estimating import estimate_of
from decoding.drafting.records import RecordedText
from decoding.drafting.source import Chain
from decoding.papers.evidence import prices_of
from decoding.prices.cost_model import CostModel, on_line
from decoding.prices.fit import costs_from, counted, decision_cost
from decoding.prompts.prompt import PromptItem
from decoding.replay import probing
from decoding.replay.player import replay
from decoding.replay.probing import Timed, TimedRule
from decoding.strategies.disco import Priced
from decoding.trace.accounting import rounds
from decoding.trace.events import Drafted, Event, Finished, Started, Verified
from decoding.trace.timing import Clock
from tests.kit.pairs import pair
from tests.kit.recordings import CAP, NEW, SAMPLINGS, recorded, world
from tests.kit.runners import Watched
from tests.kit.worlds import World, some_classifier, stopped_by


def runs(*lookaheads: int, **how: int) -> list[list[Event]]:
    """Traces of static lookaheads, 0 for none, at fixed prices."""
    made, found = world(), list[list[Event]]()
    for lookahead in lookaheads:
        choice = choose("static", {"lookahead": lookahead}) if lookahead else choose("autoregressive")
        found.append(timed(made.run(choice, [3, 1], SAMPLINGS[0])[1].events, **how))
    return found


def test_costs_are_read_off_traces_and_price_what_was_counted() -> None:
    """Traces made with known prices give those prices back, and a replay at them gives the traces' own length."""
    traces = runs(0, 1, 2, 4, 6, 9)
    costs = costs_from(traces)
    assert [round(costs.verify(1, n) * 1e6) for n in (1, 2, 5, 7, 10)] == [1010, 1020, 1050, 1070, 1100]
    assert round(costs.draft(1) * 1e6) == 200 and round(costs.beginning(1) * 1e6) == 50
    assert round(costs.catch_up * 1e6) == 30 and round(costs.fixed(1) * 1e6) == 7
    spent = next(e.end_ns for e in reversed(traces[3]) if isinstance(e, Verified)) * 1e-9
    priced = costs.seconds(replay([RecordedText(recorded(world(), SAMPLINGS[0]).record)], partial(Chain, 4)))
    assert priced == pytest.approx(spent, rel=1e-6)


def test_of_strategies_that_prepare_ahead_come_the_prices_beside_and_of_the_others_those_alone() -> None:
    choices, traces = parse_choices("autoregressive,static:2,ssd:4"), runs(0, 2, 4)
    found = prices_of(choices, {choice.label: [trace] for choice, trace in zip(choices, traces, strict=True)})
    assert found["alone"] == costs_from(traces[:2]).for_one() != costs_from(traces[2:]).for_one()


@pytest.mark.parametrize("label", ["static:4", "threshold:0.4", "hybrid"])
def test_a_trace_says_how_many_rows_the_drafts_passes_had(label: str) -> None:
    world = World.of_tables(8, 7, noise=0.8)
    draft = world.draft = Watched(world.draft)
    _, recorder = world.run(*parse_choices(label), [3, 1, 3, 1, 2], Sampling(max_new_tokens=60))
    told = [rows for one in rounds(recorder.events) if one.passes for rows in (one.read, *[1] * (one.passes - 1))]
    assert draft.fed[1:] == told  # behind the prompt


def test_the_rest_of_a_round_costs_more_where_there_is_a_draft_to_tell_of() -> None:
    """A round without a draft is nearly all verification: the median of both would make the target alone look slow."""
    costs = costs_from([*runs(0), *runs(1, 2, 4, telling=80_000)])
    assert round(costs.fixed(1) * 1e6) == 7 and round(costs.beginning(1) * 1e6) == 50 + 80


def test_what_comes_now_and_then_is_spread_over_the_tokens() -> None:
    """Noise is made for 32 positions in one go: no median sees it, and every sample pays for it."""
    assert costs_from(runs(0, 2, 5, now_and_then=4_000_000)).token * 1e6 == pytest.approx(4_000 / NEW, abs=1)


def test_a_decision_costs_what_a_draft_of_as_many_tokens_takes_longer() -> None:
    deciding = world().run(stopped_by("threshold", CAP, some_classifier(), 0.5), [3, 1], SAMPLINGS[0])[1].events
    for per_token, seconds in ((215_000, 15e-6), (200_000, 0.0)):
        assert decision_cost([timed(deciding, per_token)], runs(1, 2, 3, 4, 8)) == pytest.approx(seconds, abs=1e-9)


def test_a_busy_moment_does_not_make_more_rows_cheaper() -> None:
    def verified(number: int, cost: int) -> Verified:
        return Verified(number, 0, 1, "correction", 0, number * 10_000, number * 10_000 + cost)

    def drafted(number: int, count: int) -> Drafted:
        return Drafted(number, 1, count, (1,) * count, (), (), "limit", "fresh", count, 0, 100)

    spent = {0: 1_000, 1: 3_000, 2: 2_000, 3: 4_000}  # drafted tokens -> ns; two rows met a busy moment
    trace: list[Event] = [verified(0, 9_000)]  # the first round is not counted
    for number, (count, cost) in enumerate(spent.items(), start=1):
        trace += [*([drafted(number, count)] if count else []), verified(number, cost)]
    assert [round(costs_from([trace]).verify(1, rows) * 1e9) for rows in (1, 2, 3, 4)] == [1_000, 2_500, 2_500, 4_000]


# The model -----------------------------------------------------------------------------------------------------------


def test_beyond_the_known_points_prices_go_on_and_noise_makes_none_free() -> None:
    line = [(2, 0.004), (4, 0.006), (8, 0.008), (16, 0.012)]
    assert [on_line(line, at) for at in (3, 16, 20)] == pytest.approx([0.005, 0.012, 0.014])
    assert on_line([(2, 0.004), (4, 0.006), (8, 0.006), (16, 0.001)], 18) == 0.001
    assert [on_line(line, at) for at in (1, 0)] == pytest.approx([0.003, 0.002])
    assert on_line([(8, 0.010), (9, 0.020)], 1) == 0.005
    assert on_line([(1, 0.007)], 99) == 0.007


def test_between_two_numbers_of_texts_a_pass_has_as_many_rows() -> None:
    """A pass costs 8 ms, 1 ms a text, and 1 ms each row from the sixth on: no line by the rows of each text."""
    costs = CostModel(
        {n: [(rows, 0.008 + 0.001 * n + 0.001 * max(0, rows - 5)) for rows in (1, 5, 40)] for n in (2, 6)}
    )
    assert costs.verify(4, 8) == pytest.approx(0.015)
    assert costs.verify(2, 8) == pytest.approx(0.013)


def test_prices_are_read_as_they_were_written() -> None:
    """Cards of classifiers, prices of runs and plans are plain data in databases and files."""
    one = CostModel.of_one((0.0, 1.0, 1.5, 2.0), 0.2, 0.1, 0.05, 0.02, decision=0.01, mixing=0.03)
    old = {"target": [0.0, 1.0, 1.5, 2.0], "draft": 0.2, "draft_round": 0.1, "catch_up": 0.05, "round": 0.02}
    old |= {"decision": 0.01, "reading": 0.0, "token": 0.0, "tree": 0.0, "in_tree": 0.0, "mixing": 0.03}
    assert one.for_one() == old and CostModel.from_dict(json.loads(json.dumps(old))) == one
    ahead = dataclasses.replace(one, branches=[(1, 0.3), (2, 0.4)], opening=0.6)
    stored = CostModel.from_dict(json.loads(json.dumps(ahead.to_dict())))
    assert (stored.prepare(2), stored.opening, stored.for_one()) == (0.4, 0.6, old)


# Context -------------------------------------------------------------------------------------------------------------


def long_text(prompt: int, rounds: int = 12) -> list[Event]:
    """Verifications of 1 ms and 1 µs for each token before them, two of three with a draft of 2 tokens of 0.1 ms each
    and 0.1 µs for each token."""
    events, now, context = list[Event]([Started(prompt, 0)]), 0, prompt
    for number in range(1, rounds + 1):
        free, each = now, 100_000 + 100 * context
        if number % 3:
            now += 2 * each
            events.append(Drafted(number, context, 2, (1, 1), (), (), "limit", "fresh", 2, free, now))
        asked, now = now, now + 1_000_000 + 1_000 * context
        events.append(Verified(number, 0, 1, "correction", asked - free, asked, now))
        context += 1
    return events


def test_texts_of_two_lengths_tell_what_a_longer_one_costs() -> None:
    costs = costs_from([long_text(100), long_text(400)])
    assert costs.knows_context and costs.context and costs.context.tokens == pytest.approx(256.5, abs=2)
    far = dataclasses.replace(costs, target={**costs.target, 4: [(4, 2e-3)]}).at(2000)
    assert far.verify(1, 1) == pytest.approx(3e-3, rel=0.02) and far.draft(1) == pytest.approx(3e-4, rel=0.05)
    assert far.verify(4, 4) - 2e-3 == pytest.approx(4 * (2000 - costs.context.tokens) * 1e-6)
    assert far.at(2000) is far
    assert CostModel.from_dict(costs.for_one()).at(2000).verify(1, 3) == pytest.approx(far.verify(1, 3))
    assert "1,000 tokens more add 1.00 ms" in costs.about_context["sentence"]


# Traces --------------------------------------------------------------------------------------------------------------


def timed(events: Sequence[Event], per_token: int = 200_000, now_and_then: int = 0, telling: int = 0) -> list[Event]:
    """The same rounds at fixed prices, in nanoseconds."""
    drafts = {e.round: e for e in events if isinstance(e, Drafted)}
    out: list[Event] = [Started(2, 0)]
    now, behind = now_and_then, False
    for verdict in (e for e in events if isinstance(e, Verified)):
        free, draft = now, drafts.get(verdict.round)
        now += 7_000
        if draft:
            now += telling
            begin, now = now, now + 50_000 + per_token * draft.passes + 30_000 * behind
            out.append(dataclasses.replace(draft, start_ns=begin, end_ns=now))
            behind = verdict.outcome == "bonus"
        rows = len(draft.tokens) + 1 if draft else 1
        begin, now = now, now + 1_000_000 + 10_000 * rows
        out.append(dataclasses.replace(verdict, wait_ns=begin - free, start_ns=begin, end_ns=now))
    return [*out, Finished("length", counted(events).tokens, now)]


def test_every_number_of_rows_from_1_to_24_is_timed() -> None:
    prompts = [PromptItem(f"p{i}", "ab" * (i + 1)) for i in range(3)]
    costs = probing.probe(pair(), prompts, Sampling(temperature=1.0, max_new_tokens=120))
    assert costs.widest == 24
    assert all(after >= before > 0 for (_, before), (_, after) in itertools.pairwise(costs.target[1]))
    assert costs.decision == 0 < costs.reading and costs.draft(1) > 0


def test_every_number_of_texts_is_timed_with_each_lookahead() -> None:
    ready = pair()
    costs = Probing(ready, 2, Sampling(max_new_tokens=20), ready.caches()).measured()
    rows = {texts: [count for count, _ in line] for texts, line in costs.target.items()}
    assert rows == {texts: [texts * (lookahead + 1) for lookahead in LOOKAHEADS] for texts in (1, 2)}


def test_a_clock_stands_while_the_work_is_not_the_strategys_own() -> None:
    clock = Clock()
    began, since = clock.now(), time.perf_counter_ns()
    with clock.stopped():
        with clock.stopped():
            pass
        inside = time.perf_counter_ns()
        until = inside + 1_000_000
        while (now := time.perf_counter_ns()) < until:
            pass
    assert clock.now() - began <= time.perf_counter_ns() - since - (now - inside)


def test_prompts_stand_for_all_by_their_length() -> None:
    prompts = [PromptItem(str(length), "x" * length) for length in (800, 100, 400, 200, 700, 300, 600, 500)]
    assert [prompt.id for prompt in probing.typical(prompts)] == ["200", "400", "600", "800"]
    assert [prompt.id for prompt in probing.typical(prompts[:2])] == ["100", "800"]


def test_a_rule_that_is_timed_drafts_as_ever_and_every_token_is_answered_for() -> None:
    world, sampling = World.of_tables(14, 3, noise=0.9), Sampling(max_new_tokens=40)
    alone = world.run(stopped_by("priced", 8, some_classifier(), 0.3), [3, 1], sampling)[1].events
    rule = TimedRule(lambda: Priced(0.3, 8), lambda: estimate_of(some_classifier()))
    timed = world.run(lambda parts: Timed(rule), [3, 1], sampling)[1].events
    drafts = [event.tokens for event in timed if isinstance(event, Drafted)]
    assert drafts == [event.tokens for event in alone if isinstance(event, Drafted)]
    assert len(rule.first) == len(drafts) and len(rule.later) == sum(len(tokens) - 1 for tokens in drafts)
