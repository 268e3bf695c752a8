"""SSD for many texts at once: the draft's rows are one budget, misses are drafted together, and each text stays its
own."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter, abc
from typing import Any

import pytest
import torch

from decoding.backends.pair import ModelPair
from decoding.choice import Choice, parse_choices
from decoding.core.load import Load
from decoding.core.loop import decode_all
from decoding.core.sequence import Sequence
from decoding.dice.sampling import Sampling
from decoding.drafting.fan_outs import ChosenOutcomes
from decoding.drafting.ssd_settings import SpeculatorSettings, WantedBackup
from decoding.errors import BrokenModel
from decoding.measure.comparison import Measurement
from decoding.measure.schedule import stints
from decoding.prices.cost_model import CostModel
from decoding.replay.ssd.playing import ANYTIME, IN_TURN, Placement, Track
from decoding.replay.ssd.simulator import simulate_together
from decoding.ssd.policy.misses import AGAIN as AGAIN_OF_MISSES
from decoding.ssd.policy.misses import Misses
from decoding.ssd.policy.ssd_policy import Plan
from decoding.ssd.policy.together import shared_out
from decoding.ssd.speculator.speculator import Question, SpeculatorRecipe
from decoding.ssd.speculator.speculators import Speculators
from decoding.trace.events import Anticipated, Event, Recorder
from tests.kit.loads import PROMPTS, SAMPLINGS
from tests.kit.pairs import LETTERS, Letters
from tests.kit.recordings import tracked
from tests.kit.table import TableRunner
from tests.kit.worlds import World, state_of, tables

pytestmark = pytest.mark.slow


def ssd(text: str = "ssd:4,branches=12,backup=neural") -> Choice:
    return parse_choices(text)[0]


def batch_of(world: World, choice: Choice, sampling: Sampling, count: int) -> list[Sequence]:
    memory = dict[str, Any]()
    return [
        World(world.target.model.new_runner(), world.draft.model.new_runner(), memory=memory).sequence(
            choice, [2, number % world.vocab], sampling, number, None, Recorder()
        )
        for number in range(count)
    ]


def events(sequence: Sequence) -> abc.Sequence[Event]:
    assert isinstance(sequence.sink, Recorder)
    return sequence.sink.events


# Exactness ------------------------------------------------------------------------------------------------------------


@torch.inference_mode()
def test_in_turn_the_draft_is_busy_until_the_last_text_is_prepared() -> None:
    together = batch_of(World.of_tables(3, 5), ssd("ssd:2,branches=12,backup=neural"), SAMPLINGS["shared"], 4)
    decode_all(together)
    prepared = [event for one in together for event in events(one) if isinstance(event, Anticipated)]
    assert prepared and all(event.busy_ns == event.end_ns - event.start_ns for event in prepared)


# One budget -----------------------------------------------------------------------------------------------------------


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


# The backup -----------------------------------------------------------------------------------------------------------


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
def test_what_answers_a_miss_and_what_the_report_calls_better_are_one_judgement(ngram: float, better: str) -> None:
    made = after_rounds(320, 4.0, ngram, waited=500)
    used = [made.choose() for _ in range(2 * AGAIN_OF_MISSES)]
    assert used.count(better) == len(used) - 2, "the other answers one of 16"
    sentence = made.answers.report()["sentence"]  # type: ignore[index]
    assert ("the n-gram would be better even for one text" in sentence) == (better == "ngram")
    assert "tokens/s" not in sentence


@torch.inference_mode()
def test_a_batch_that_begins_anew_does_not_go_on_with_the_last_round() -> None:
    """Rounds that follow one another are timed; the pause between two batches is none of them."""
    side, draft = Speculators(), World.of_tables(12, 7).draft
    rounds = []
    for number in range(2):
        side.keep(())
        side.read(number, SpeculatorRecipe(SpeculatorSettings(3, 6), SAMPLINGS["greedy"], 12, 0, ()), [3, 1], draft)
        for verdict in (None, 0):
            side.answer([Question(number, verdict, 0, 20)], 0)
            rounds.append(side.texts[number].batch.round)
    assert [after - before for before, after in itertools.pairwise(rounds)] == [1, 2, 1]


# Bad ends -------------------------------------------------------------------------------------------------------------


def test_a_text_whose_draft_answers_nan_ends_alone_wherever_it_meets_it() -> None:
    for state in range(0, 101, 10):
        target, draft = tables(len(LETTERS), 7)
        draft[state] = torch.nan
        broken = ModelPair(
            *(TableRunner(t, 4096, state_of) for t in (target, draft)), Letters(), frozenset(), torch.float64
        )
        made = Measurement(broken, PROMPTS, [ssd().at(Load(4))], Sampling(max_new_tokens=6))
        [stint] = stints(next(made.schedule()))
        ends = Counter(type(answer) for _, answer in made.decode_stint(stint))
        assert ends.total() == len(PROMPTS)
        assert ends[BrokenModel] < len(PROMPTS)


# Simulation -----------------------------------------------------------------------------------------------------------

COSTS = CostModel(
    {n: [(rows, 10.0 + rows) for rows in (n, 8 * n)] for n in (1, 8)}, {1: [(1, 1.0)]}, branches=[(1, 1.0)]
)


def recorded_texts(count: int) -> list[Track]:
    return [
        untimed(tracked(World.of_tables(14, 7, noise=0.5), Sampling(max_new_tokens=40), number))
        for number in range(count)
    ]


def untimed(track: Track) -> Track:
    """A request whose prompt takes no time."""
    return dataclasses.replace(track, prompt_tokens=1)


def plan(branches: int | None) -> Plan:
    return Plan(SpeculatorSettings(4, branches, backup="neural"))


def test_a_verification_is_slowed_down_only_while_the_draft_really_works_beside_it() -> None:
    tracks, slow = recorded_texts(4), dataclasses.replace(COSTS, slower=1.5, delay=1 / 3)

    def speed(pass_s: float, placement: Placement, costs: CostModel) -> float:
        priced = dataclasses.replace(costs, branches=[(1, pass_s)])
        return simulate_together(tracks, plan(10), priced, 2, placement).tokens_per_s_device

    lost = [speed(pass_s, ANYTIME, COSTS) / speed(pass_s, ANYTIME, slow) for pass_s in (1e-6, 0.1, 1.0, 3.0)]
    assert lost[0] == pytest.approx(1.0, abs=1e-4)  # it is ready at once
    assert lost == sorted(lost) and 1.0 < lost[1] < lost[2] < lost[3] <= 1.5
    assert speed(1.0, IN_TURN, slow) == speed(1.0, IN_TURN, COSTS)


def test_a_simulated_batch_tries_the_backups_that_are_left_open_by_the_clock_of_its_own_texts() -> None:
    world = World.of_tables(14, 7, noise=0.5)
    tracks = [untimed(tracked(world, Sampling(max_new_tokens=120), number)) for number in range(6)]

    def speed(backup: WantedBackup) -> float:
        dear = dataclasses.replace(COSTS, steps={1: [(1, 30.0)]})  # drafts for which the texts wait
        return simulate_together(tracks, Plan(SpeculatorSettings(4, 4, backup=backup)), dear, 4).tokens_per_s_device

    assert speed("neural") < speed("auto") < speed("ngram")
