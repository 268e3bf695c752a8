"""CostModel that are read off traces."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from decoding.events import Drafted, Event, Finished, Source, Started, Verified
from decoding.prices.cost_model import CostModel
from decoding.prices.fit import costs_from, counted, decision_cost, drafting_is_clear, with_mixes
from decoding.replay.confirming import Confirmed, repriced
from decoding.replay.planning import Prediction, Study, static
from decoding.replay.records import Record, replay
from decoding.spec import choose
from decoding.strategies.static import SameLength
from tests.decoding.test_replay_and_disco import CAP, NEW, SAMPLINGS, recorded, world
from tests.decoding.worlds import some_classifier, stop_of


def test_costs_are_read_off_traces_and_price_what_was_counted() -> None:
    """Traces made with known prices give those prices back, and a replay at them gives the traces' own length."""
    made, sampling = world(), SAMPLINGS[0]
    traces: list[list[Event]] = []
    for lookahead in (0, 1, 2, 4, 6, 9):
        choice = choose("static", {"lookahead": lookahead}) if lookahead else choose("autoregressive")
        traces.append(timed(made.run(choice, [3, 1], sampling)[1].events))
    costs = costs_from(traces)
    assert [round(costs.verify(1, n) * 1e6) for n in (1, 2, 5, 7, 10)] == [1010, 1020, 1050, 1070, 1100]
    assert round(costs.draft(1) * 1e6) == 200 and round(costs.beginning(1) * 1e6) == 50
    assert round(costs.catch_up * 1e6) == 30 and round(costs.fixed(1) * 1e6) == 7
    live = traces[3]
    spent = next(e.end_ns for e in reversed(live) if isinstance(e, Verified)) * 1e-9
    priced = costs.seconds(replay([recorded(made, sampling).record], partial(SameLength, 4)))
    assert priced == pytest.approx(spent, rel=1e-6)


def test_a_plan_replays_its_settings_at_the_prices_of_the_runs_that_confirm_it() -> None:
    made, sampling, choices = world(), SAMPLINGS[0], [choose("autoregressive"), *map(static, (1, 2, 4, 6, 9))]
    runs = [(choice, timed(made.run(choice, [3, 1], sampling)[1].events)) for choice in choices]
    ends = [max(e.end_ns for e in events if isinstance(e, Verified)) for _, events in runs]
    promised = [Prediction(choose("oracle"), 9.0, 9.0), *(Prediction(choice, 9.0, 9.0) for choice in choices[1:])]
    probed = CostModel.of_one((0.0, 9.0), draft=9.0, draft_round=9.0, catch_up=9.0, round=9.0)
    again = Study([recorded(made, sampling)])
    found = repriced(Confirmed({choice.label: {} for choice in choices}, runs), promised, again, probed, None)
    assert found == pytest.approx({c.label: ends[0] / end for c, end in zip(choices[1:], ends[1:], strict=True)})
    assert repriced(Confirmed({}, []), promised, again, probed, None) == {}


def test_the_rest_of_a_round_costs_more_where_there_is_a_draft_to_tell_of() -> None:
    """A round without a draft is nearly all verification: the median of both would make the target alone look slow."""
    made, sampling = world(), SAMPLINGS[0]
    runs = [made.run(choose("static", {"lookahead": n}), [3, 1], sampling)[1].events for n in (1, 2, 4)]
    alone = timed(made.run(choose("autoregressive"), [3, 1], sampling)[1].events)
    costs = costs_from([alone, *(timed(run, telling=80_000) for run in runs)])
    assert round(costs.fixed(1) * 1e6) == 7 and round(costs.beginning(1) * 1e6) == 50 + 80


def test_the_drafts_own_probability_is_looked_at_for_a_price() -> None:
    costs = CostModel.of_one((0.0, *[1.0] * 6), draft=0.1, decision=0.03, reading=0.02)
    counts = replay([Record.of([True, False, True])], partial(SameLength, 2))
    least = costs.seconds(counts)
    assert costs.seconds(counts, "confidence") - least == pytest.approx(0.02 * counts.draft_passes)
    assert costs.seconds(counts, "estimate") - least == pytest.approx(0.03 * counts.draft_passes)


def test_what_comes_now_and_then_is_spread_over_the_tokens() -> None:
    """Noise is made for 32 positions in one go: no median sees it, and every sample pays for it."""
    made, sampling = world(), SAMPLINGS[0]
    traces = []
    for lookahead in (0, 2, 5):
        choice = choose("static", {"lookahead": lookahead}) if lookahead else choose("autoregressive")
        traces.append(timed(made.run(choice, [3, 1], sampling)[1].events, now_and_then=4_000_000))
    assert costs_from(traces).token * 1e6 == pytest.approx(4_000 / NEW, abs=1)


def test_a_decision_costs_what_a_draft_of_as_many_tokens_takes_longer() -> None:
    made, sampling = world(), SAMPLINGS[0]
    queued = [timed(made.run(choose("static", {"lookahead": n}), [3, 1], sampling)[1].events) for n in (1, 2, 3, 4, 8)]
    deciding = made.run(lambda parts: stop_of("threshold", CAP, some_classifier(), 0.5), [3, 1], sampling)[1].events
    assert decision_cost([timed(deciding, per_token=215_000)], queued) * 1e9 == pytest.approx(15_000)
    assert decision_cost([timed(deciding)], queued) == pytest.approx(0.0)


def test_a_speed_up_is_of_the_total_times_of_all_samples() -> None:
    records = [Record.of(matches) for matches in ([True] * 9, [False] * 9, [True, False, True] * 3)]
    costs = CostModel.of_one((0.0, *[1.0] * 12), draft=0.1, draft_round=0.0, catch_up=0.0, round=0.0)
    baseline, drafted = replay(records, partial(SameLength, 0)), replay(records, partial(SameLength, 2))
    alone, own = (
        sum(costs.seconds(replay([record], partial(SameLength, lookahead))) for record in records)
        for lookahead in (0, 2)
    )
    assert costs.speedup(drafted, baseline) == pytest.approx(alone / own)


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


@pytest.mark.parametrize("spent", [{2: 12_000, 4: 9_000}, {2: 1_000, 4: 5_000}], ids=["falling", "from below zero"])
def test_whatever_noise_does_to_long_and_short_drafts_no_price_is_negative_and_none_is_nothing(spent) -> None:
    trace: list[Event] = [Verified(0, 0, 1, "correction", 0, 0, 1_000)]
    for number, (count, cost) in enumerate(spent.items(), start=1):
        start, end = number * 100_000, number * 100_000 + cost
        trace.append(Drafted(number, 1, count, (1,) * count, (), (), "limit", "fresh", count, start, end))
        trace.append(Verified(number, 0, 1, "correction", cost, end, end + 1_000))
    costs = costs_from([trace])
    assert costs.draft(1) * 1e9 == pytest.approx(sum(spent.values()) / sum(spent)) and costs.beginning(1) == 0.0
    assert drafting_is_clear([trace]) is (spent[4] > spent[2])


def test_weighing_two_sources_costs_what_its_rounds_take_beyond_their_passes() -> None:
    """The second round copies 3 tokens. In the third the draft model first reads the 5 tokens that it has missed."""
    costs = CostModel.of_one(
        (0.0, *(1e-3 + 1e-4 * rows for rows in range(1, 9))), 2e-4, 5e-5, catch_up=3e-5, round=1e-5
    )
    drafting = costs.drafted(1, 2) + costs.catch_up + 3 * costs.late_row()
    rounds = [
        (0, 0, 0, 0.0),
        (3, 0, 2, costs.verify(1, 4)),
        (2, 2, 1, costs.verify(1, 3) + drafting),
        (0, 0, 0, costs.verify(1, 1)),
    ]
    trace, now = list[Event](), 0
    for number, (count, passes, accepted, seconds) in enumerate(rounds, start=1):
        end = now + round((seconds + costs.fixed(1) + 40e-6) * 1e9)
        if count:
            source: Source = "fresh" if passes else "copied"
            trace.append(Drafted(number, 1, count, (1,) * count, (), (), "rule", source, passes, now, now))
        trace.append(Verified(number, accepted, 1, "correction", 0, now, end))
        now = end
    assert with_mixes(costs, [trace]).mixing == pytest.approx(40e-6, abs=1e-9)


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
            out.append(Drafted(**{**as_dict(draft), "start_ns": begin, "end_ns": now}))
            behind = verdict.outcome == "bonus"
        rows = len(draft.tokens) + 1 if draft else 1
        begin, now = now, now + 1_000_000 + 10_000 * rows
        out.append(Verified(**{**as_dict(verdict), "wait_ns": begin - free, "start_ns": begin, "end_ns": now}))
    return [*out, Finished("length", counted(events).tokens, now)]


def as_dict(event: Event) -> dict[str, object]:
    return {name: getattr(event, name) for name in event.__slots__}  # type: ignore[union-attr]
