"""Prices read from traces, and the simulator's results with published ones."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from decoding.choice import choose
from decoding.dice.sampling import Sampling
from decoding.drafting.records import Record, Written
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.prices.fit_ahead import prices_from
from decoding.prices.machine_card import published
from decoding.replay.ssd.playing import ANYTIME, IN_TURN
from decoding.replay.ssd.recording import plan_for
from decoding.replay.ssd.simulator import simulate
from decoding.replay.ssd.track import Track
from decoding.trace.events import Anticipated, Drafted, Event, Started, Verified
from decoding.trace.theory import tokens_per_round
from tests.kit.worlds import World

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
    assert ours.rates["hit_rate"] == pytest.approx(0.86, abs=0.03)
    assert ours.tokens_per_s_device == pytest.approx(255.8, rel=0.05)
    assert simulate([track], plan, prices, IN_TURN).rates["hidden_share"] == 0
