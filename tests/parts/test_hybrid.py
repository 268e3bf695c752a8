"""The hybrid takes the source that is worth most, learns which one that is, and never changes the target's text."""

from __future__ import annotations

import math

import pytest
import torch

from decoding.choice import choose
from decoding.dice.sampling import Sampling
from decoding.drafting.features import DraftStep, Lead, lead
from decoding.drafting.records import Record, RecordedText, Written
from decoding.drafting.source import Asking, Foresee, Source, View
from decoding.prices.cost_model import CostModel
from decoding.prices.fit import counted
from decoding.replay.planning import RecordedSet
from decoding.replay.player import Player
from tests.golden.live import Model, MovedClock, Stage
from tests.kit.recordings import recorded
from tests.kit.worlds import World, state_of

BOUND = choose("best-source")
SHARED = Sampling(temperature=0.9, dice="shared", max_new_tokens=50, repetition_penalty=1.2)


@pytest.mark.parametrize("token", [2, 0], ids=["the best", "another, as ratio dice may draw"])
def test_a_lead_is_the_same_on_every_device(token: int) -> None:
    preferences = torch.tensor([[0.5, -torch.inf, 2.0, 1.0]])
    on_the_device = float(lead(preferences, preferences, torch.tensor([token]), torch.tensor([1])))
    seen = Lead().of(DraftStep([], [], token, preferences, preferences))
    assert seen == pytest.approx(on_the_device) and on_the_device == pytest.approx(1 / (1 + math.exp(-1.0)))
    assert preferences.tolist() == [[0.5, -math.inf, 2.0, 1.0]], "looking changes nothing"


@pytest.mark.parametrize("draft_us", [2, 40], ids=["cheap draft", "dear draft"])
def test_a_replayed_bound_decides_by_times_as_a_live_one(draft_us: int) -> None:
    """A clock that only passes move: each 20 µs of the target and so many of the draft, and 1 µs for each row."""
    world, clock, prompt = World.of_tables(14, 3), MovedClock(), [3, 1, 2]
    passes = ((world.target, 20), (world.draft, draft_us))
    target, draft = (Model(runner.table, state_of, clock, 1000 * us) for runner, us in passes)  # type: ignore[attr-defined]
    stage = Stage(BOUND, SHARED, target, draft, clock, prompts=[prompt])
    stage.run(1)
    costs = CostModel.of_one([0.0, *(1e-6 * (20 + rows) for rows in range(1, 65))], 1e-6 * (draft_us + 1))
    played = RecordedSet([recorded(world, SHARED, prompt=prompt)]).play(BOUND, costs=costs)
    live = counted(stage.sequences[0].sink.events)  # type: ignore[attr-defined]
    assert (played.rounds, played.accepted, played.draft_passes) == (live.rounds, live.accepted, live.draft_passes)
    assert played.drafted > played.draft_passes > 0


class Foreseeing(Source):
    lookahead = 3

    def __init__(self) -> None:
        self.foreseen: list[int] = []

    def propose(self, view: View) -> Asking:
        self.foreseen.append((yield Foresee(()))[0])
        return "rule"


def test_a_replayed_bound_foresees_no_more_than_the_model_could_draft() -> None:
    source = Foreseeing()
    Player().single(RecordedText(Record.of([True] * 6), written=Written([1], [2] * 6, 6)), source)
    assert source.foreseen == [3, 3, 3, 2, 1, 0]
