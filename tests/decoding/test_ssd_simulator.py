"""Simulations of SSD: times by the clock, prices that go in and are found again, and published speeds."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from decoding.choice import Choice, choose
from decoding.dice.sampling import Sampling
from decoding.drafting.records import Record, Written
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.prices.cost_model import CostModel
from decoding.prices.fit_ahead import prices_from
from decoding.prices.machine_card import published
from decoding.replay.ssd.playing import ANYTIME, BESIDE, IN_TURN, Placement, Plan
from decoding.replay.ssd.recording import plan_for
from decoding.replay.ssd.simulator import simulate
from decoding.replay.ssd.track import Track
from decoding.trace.accounting import PHASES, rounds
from decoding.trace.events import Anticipated, Drafted, Event, Started, Verified
from decoding.trace.theory import Speculation
from tests.kit import models
from tests.kit.recordings import LIVE, PROMPT, rates_of, tokens_per_round, tracked
from tests.kit.worlds import World, some_classifier

NEW = 40
VOCAB = 14
SAMPLINGS = [Sampling(max_new_tokens=NEW), Sampling(temperature=1.0, max_new_tokens=NEW, repetition_penalty=1.2)]
ids = lambda sampling: "greedy" if sampling.is_greedy else "shared"  # noqa: E731

EVEN = replace(CostModel.of_one((0.0, 1.0, 1.0), 0.1), branches=[(1, 0.1)], opening=0.1)


def counted(events: Sequence[Event]) -> dict[str, float]:
    """Count the events of a run, live or simulated."""
    drafts = [event for event in events if isinstance(event, Drafted)]
    verdicts = [event for event in events if isinstance(event, Verified)]
    prepared = [event for event in events if isinstance(event, Anticipated)]
    return {
        "rounds": len(verdicts),
        "accepted": sum(verdict.accepted for verdict in verdicts),
        "hits": sum(draft.source == "hit" for draft in drafts),
        "misses": sum(draft.source == "miss" for draft in drafts),
        "drafted": sum(len(draft.tokens) for draft in drafts),
        "passes": sum(draft.passes for draft in drafts),
        "predicted hits": sum(event.predicted_hit for event in prepared),
        "steps": sum(event.passes for event in prepared),
    }


def round_by_round(events: Sequence[Event]) -> list[tuple[object, ...]]:
    """Return each round's events, without words and without steps, which are checked below."""
    drafts = {event.round: event for event in events if isinstance(event, Drafted)}
    prepared = {event.round: event for event in events if isinstance(event, Anticipated)}
    found: list[tuple[object, ...]] = []
    for verdict in events:
        if isinstance(verdict, Verified):
            draft, ahead = drafts.get(verdict.round), prepared.get(verdict.round)
            found.append((verdict.round, verdict.accepted, verdict.outcome))
            found.append((draft.position, len(draft.tokens), draft.source, draft.passes, draft.backup) if draft else ())
            found.append((ahead.fanout, round(ahead.predicted_hit, 9)) if ahead else ())
    return found


def choice_of(settings: SpeculatorSettings) -> Choice:
    return choose("ssd", {**dataclasses.asdict(settings), "placement": "in-turn"})


def even(lookahead: int, branches: int) -> Plan:
    return plan_for(SpeculatorSettings(lookahead, branches, "uniform", "neural"), VOCAB)


def test_so_it_does_for_a_small_real_model(tmp_path: Path) -> None:
    target = models.save(tmp_path / "target", "llama", seed=1, **models.LLAMA)
    draft = models.save(tmp_path / "draft", "llama", seed=1, **models.LLAMA)
    weights = load_file(draft / "model.safetensors")
    dice = torch.Generator().manual_seed(2)
    shaken = {name: w + 0.03 * torch.randn(w.shape, generator=dice) for name, w in weights.items()}
    save_file(shaken, draft / "model.safetensors", {"format": "pt"})
    world = World(models.fast_runner(target), models.fast_runner(draft))
    for sampling in SAMPLINGS:
        settings = LIVE["uniform"]
        _, live = world.run(choice_of(settings), PROMPT, sampling, seed=4)
        [found] = simulate([tracked(world, sampling, 4)], plan_for(settings, 97), EVEN, IN_TURN).traces
        assert round_by_round(found) == round_by_round(live.events)
        counts = counted(found)
        assert counts["steps"] == counted(live.events)["steps"] and counts["hits"] and counts["misses"]


def test_what_a_classifier_said_along_a_text_is_not_heard_without_one() -> None:
    world, settings = World.of_tables(VOCAB, 1, noise=0.9), LIVE["measured"]
    plain, classified = (tracked(world, SAMPLINGS[1], 1, classifier=each) for each in (None, some_classifier()))
    assert classified.estimates and classified.echoes
    found = [simulate([track], plan_for(settings, VOCAB), EVEN, IN_TURN).traces for track in (plain, classified)]
    assert found[0] == found[1]


def thrown(acceptance: float, guessed: float, length: int = 4000) -> Track:
    """A text whose matches and guesses were thrown by dice: token 0 is what the draft likes best, 1 what it guesses
    next, 2 what nobody expects."""
    dice = random.Random(5)
    matches = [dice.random() < acceptance for _ in range(length)]
    text = tuple(0 if match else 1 if dice.random() < guessed else 2 for match in matches)
    return Track(Record.of(matches), written=Written((), text, length), preferred=((0, 1),) * length)


def prices(*, draft: float, step: float, opening: float = 0.0, **more: float) -> CostModel:
    """Every verification takes a second, however many rows it has."""
    return replace(CostModel.of_one((0.0, 1.0, 1.0), draft), branches=[(1, step)], opening=opening, **more)


@pytest.mark.parametrize("placement", [BESIDE, ANYTIME], ids=lambda placement: placement.name)
@pytest.mark.parametrize("guessed", [0.0, 0.7, 1.0])
def test_time_beside_each_other_is_what_the_theorem_says(placement: Placement, guessed: float) -> None:
    """Preparing fits into a verification, so that placement with and without looking up are the same."""
    track = thrown(0.75, guessed)
    found = simulate([track], even(4, 5), prices(draft=0.15, step=0.2, opening=0.1), placement)
    counts = counted(found.traces[0])
    tokens = len(track.written.text) / counts["rounds"]
    theory = Speculation(counts["hits"] / counts["rounds"], tokens, tokens, preparing=0.9, backup=0.6)
    assert found.tokens_per_s_device == pytest.approx(theory.speedup(), rel=0.005)
    assert tokens == pytest.approx(tokens_per_round(0.75, 4), rel=0.03)
    assert rates_of(found)["hidden_share"] == pytest.approx(0.9 / (0.9 + 0.6 * (1 - theory.hit_rate)), rel=0.005)


def test_one_round_after_another_on_the_clock() -> None:
    """Two tokens drafted (0.2), sent (0.05), verified (1): both are accepted, and what follows was guessed. Opening
    and two steps took 0.7 of that second, so the target takes what is ready in 0.01, while the draft's side learns of
    it by a message. The third token that the draft would have said is refused and none of its guesses is right: a
    miss, drafted anew, with a message there and a message back."""
    matches = [True, True, True, False, True, True]
    text = (0, 0, 0, 2, 0, 0)
    track = Track(Record.of(matches, 20), written=Written((), text, 20), preferred=((0, 1),) * 6)
    price = prices(draft=0.1, step=0.3, opening=0.1, taking=0.01, transport=0.05)
    [trace] = simulate([track], even(2, 3), price, BESIDE).traces
    drafts = [event for event in trace if isinstance(event, Drafted)]
    assert [(draft.source, draft.passes) for draft in drafts] == [("fresh", 2), ("hit", 0), ("miss", 2)]
    verdicts = [(event.start_ns * 1e-9, event.end_ns * 1e-9) for event in trace if isinstance(event, Verified)]
    assert verdicts == [pytest.approx(times) for times in ((0.3, 1.3), (1.31, 2.31), (2.61, 3.61))]
    prepared = [event for event in trace if isinstance(event, Anticipated)]
    assert [event.busy_ns for event in prepared] == [pytest.approx(0.7e9)] * 2
    assert [event.start_ns * 1e-9 for event in prepared] == [pytest.approx(0.25), pytest.approx(1.35)]
    assert [event.idle_ns * 1e-9 for event in prepared] == [pytest.approx(0.4), pytest.approx(0.31)]


def test_every_price_is_paid_where_it_belongs() -> None:
    """As above, by a draft that looks up: a first round that starts 0.5 late; 0.02 of the target's own before each
    question; 0.03 from a draft to the beginning of what is prepared beside it. Opening and steps, 0.1 and three of 0.5,
    are cut short by the verdict after the second step, which has to end first; the winner drafts its third token
    alone."""
    matches = [True] * 12
    track = Track(Record.of(matches, 40), written=Written((), (0,) * 12, 40), preferred=((0, 1),) * 12)
    price = replace(
        CostModel.of_one((0.0, 1.0, 1.0), 0.1, 0.04, 0.0, 0.02),
        branches=[(1, 0.5)],
        opening=0.1,
        taking=0.2,
        answer=0.01,
        turning=0.03,
        start=0.5,
    )
    [trace] = simulate([track], even(3, 4), price, ANYTIME).traces
    first, second, *_ = rounds(trace)
    assert second.free_ns * 1e-9 == pytest.approx(0.5 + 0.3 + 0.04 + 1.0)
    assert first.phases() == pytest.approx(
        {"settling": 0.5, "finishing": 0, "answering": 0, "drafting": 0.34, "preparing": 0, "verifying": 1}
    )
    assert first.beside and first.beside.passes == 3 and not first.beside.idle_ns
    over = 0.84 + 0.03 + 0.1 + 2 * 0.5 - (second.free_ns * 1e-9 + 0.02)  # what is left of the second step
    assert second.phases()["finishing"] == pytest.approx(over)
    assert second.phases()["settling"] == pytest.approx(0.02)
    assert second.phases()["drafting"] == pytest.approx(0.01 + 0.1 + 0.04)  # found short, it goes on alone
    assert second.draft and second.draft.source == "hit"


@pytest.mark.parametrize(("placement", "slow"), [(IN_TURN, 0.2), (ANYTIME, 0.2), (ANYTIME, 0.05)])
@pytest.mark.parametrize("name", ["uniform", "measured", "ngram"])
def test_prices_read_off_a_simulation_are_those_that_went_into_it(placement: Placement, slow: float, name: str) -> None:
    """Reading and playing are each other's inverse: in turn, cut short by verdicts, and with time to read on."""
    reads_on = placement.anytime and slow < 0.1
    sampling, settings = SAMPLINGS[1], LIVE[name]
    tracks = [tracked(World.of_tables(VOCAB, seed, noise=0.9), sampling, seed) for seed in range(6)]
    branches = settings.branches
    rows = (0.0, *(1.0 + 0.05 * n for n in range(10)))
    given = replace(
        CostModel.of_one(rows, 0.1, 0.0, 0.0, 0.02),
        branches=[(n + 1, slow + 0.01 * n) for n in range(branches)],
        opening=0.15,
        opening_read=0.05 if reads_on else 0.15,
        taking=0.01,
        answer=0.01,
        turning=0.03,
        start=0.4,
    )
    static = [alone(rows, drafted) for drafted in range(8)]
    plan = plan_for(settings, VOCAB)
    traces = simulate(tracks, plan, given, placement).traces
    found = prices_from(static, traces)
    assert found.verify(1, 4) == pytest.approx(given.verify(1, 4), rel=0.001)
    assert (found.draft(1), found.fixed(1)) == (pytest.approx(0.1), pytest.approx(0.02, rel=0.001))
    assert (found.opening, found.taking, found.answer) == (*map(pytest.approx, (0.15, 0.01, 0.01)),)
    assert found.opening_read == pytest.approx(given.opening_read)
    assert (found.turning, found.start) == (pytest.approx(0.03), pytest.approx(0.4, rel=0.01))
    assert found.prepare(branches) == pytest.approx(given.prepare(branches), rel=0.001)
    again = simulate(tracks, plan, found, placement)
    assert again.tokens_per_s_device == pytest.approx(
        simulate(tracks, plan, given, placement).tokens_per_s_device, rel=0.005
    )
    assert mean_phases(again.traces) == pytest.approx(mean_phases(traces), rel=0.01, abs=1e-3)


def mean_phases(traces: Sequence[Sequence[Event]]) -> dict[str, float]:
    found = [each.phases() for trace in traces for each in rounds(trace)]
    return {name: sum(phases[name] for phases in found) / len(found) for name in PHASES}


def alone(rows: Sequence[float], drafted: int) -> list[Event]:
    """A sample of a static lookahead on the same clock."""
    events: list[Event] = [Started(2, 0)]
    now = 0
    for number in range(1, 9):
        start, end = now + round(drafted * 1e8), now + round(drafted * 1e8 + rows[drafted + 1] * 1e9)
        if drafted:
            draft = Drafted(number, 0, drafted, (1,) * drafted, (), (), "limit", "fresh", drafted, now, start)
            events.append(draft)
        events.append(Verified(number, 0, 1, "correction", start - now, start, end))
        now = end
    return events


MS = 1_000_000


def trace(lookahead: int, rounds: int, verify: float, draft: float) -> list[Event]:
    """A static run: every verification takes so many ms, and every drafted token."""
    now, events = 0.0, list[Event]([Started(3, 0)])
    for number in range(1, rounds + 1):
        began, now = now, now + lookahead * draft
        if lookahead:
            events.append(drafted(number, lookahead, "fresh", lookahead, began, now))
        events.append(
            Verified(number, 0, 1, "correction", ns(now - began + 0.5), ns(now + 0.5), ns(now + 0.5 + verify))
        )
        now += 0.5 + verify
    return events


def ns(ms: float) -> int:
    return round(ms * MS)


def drafted(number: int, tokens: int, source: str, passes: int, began: float, ended: float) -> Drafted:
    return Drafted(
        number,
        0,
        tokens,
        (1,) * tokens,
        (),
        (),
        "limit",
        source,
        passes,
        ns(began),
        ns(ended),  # type: ignore[arg-type]
    )


def beside(rounds: int, branches: int) -> list[Event]:
    """An SSD run: 12 ms for any verification, a miss takes 1.5 ms a token, a hit 0.02, opening 1 and a step 2."""
    now, events, dice = 0.0, list[Event]([Started(3, 0)]), random.Random(1)
    for number in range(1, rounds + 1):
        hit, steps = number > 1 and dice.random() < 0.5, dice.choice([3, 4, 5])
        began, now = now, now + (0.02 if hit else 4.5)
        events.append(
            drafted(number, 3, "hit" if hit else "miss" if number > 1 else "fresh", 0 if hit else 3, began, now)
        )
        events.append(Verified(number, 0, 1, "correction", ns(now - began + 0.3), ns(now + 0.3), ns(now + 12.3)))
        now += 12.3
        fan_out, busy = (branches - 3, 1, 1, 1), ns(1 + 2 * (steps - 1))
        opened = Anticipated(number, (), 0.5, 0, busy, fan_out, steps, busy, idle_ns=MS, opening_ns=MS)
        events.append(opened)
    return events


def test_prices_are_found_again() -> None:
    static = [trace(lookahead, 9, 10.0, 1.0) for lookahead in (0, 1, 3, 5)]
    found = prices_from(static, [beside(40, 6), beside(40, 12)])
    assert found.verify(1, 4) == pytest.approx(12e-3)  # beside a draft it was slower than alone
    assert found.draft(1) == pytest.approx(1.5e-3)
    assert found.fixed(1) == pytest.approx(0.3e-3)
    assert found.taking == found.answer == pytest.approx(0.02e-3)  # no answer was seen that was not ready
    assert found.opening == pytest.approx(1e-3)
    assert [found.prepare(branches) for branches in (1, 6, 9, 12, 20)] == pytest.approx([2e-3] * 5)


def test_a_live_trace_tells_opening_from_stepping() -> None:
    world = World.of_tables(14, 3)
    _, live = world.run(choose("ssd", {"placement": "in-turn"}), [3, 1], Sampling(max_new_tokens=20))
    prepared = [event for event in live.events if isinstance(event, Anticipated)]
    assert prepared
    for event in prepared:
        assert 0 < event.opening_ns < event.busy_ns if event.passes > 1 else event.opening_ns == event.busy_ns


def test_published_prices_give_what_was_published() -> None:
    """Five tokens a round at a lookahead of six is what the draft's price was taken from. One more drafted token and a
    hit rate near 0.86 then give nearly the published speed, all of it from parts."""
    acceptance, length = 0.885, 4000
    assert tokens_per_round(acceptance, 6) == pytest.approx(5, abs=0.05)
    costs, dice = published()["llama-70b-1b-h100"].costs, random.Random(3)
    prices = replace(costs, opening=costs.draft(1))
    matches = [dice.random() < acceptance for _ in range(length)]
    text = tuple(0 if match else 1 if dice.random() < 0.78 else 2 for match in matches)
    track = Track(Record.of(matches), written=Written((), text, length), preferred=((0, 1),) * length)
    plan = plan_for(SpeculatorSettings(7, 24, "uniform", "neural"), 3)
    ours = simulate([track], plan, prices, ANYTIME)
    assert rates_of(ours)["hit_rate"] == pytest.approx(0.86, abs=0.03)
    assert ours.tokens_per_s_device == pytest.approx(255.8, rel=0.05)
    assert rates_of(simulate([track], plan, prices, IN_TURN))["hidden_share"] == 0
