"""SSD driven by one thread on two devices, here two processors: all of the path but streams, events and graphs."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeGuard

import pytest
import torch

from decoding.choice import Choice, choose
from decoding.core.ending import Decoded, Ending
from decoding.core.loop import decode
from decoding.core.sequence import Sequence
from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.errors import BadDevice, BadStrategy
from decoding.measure.comparison import Measurement
from decoding.models.fast.runner import FastRunner
from decoding.ssd.speculator.speculator import SpeculatorRecipe
from decoding.ssd.transport.exchange import SsdDrafter
from decoding.ssd.transport.here import ExchangeHere
from decoding.ssd.transport.two_lanes import Lane, Lanes, open_lanes
from decoding.trace.events import Anticipated, Drafted, Event, Recorder, Verified
from decoding.trace.timing import Clock
from tests.kit import models
from tests.kit.pairs import pair, prompts
from tests.kit.rehearsal import captured_runner, on_a_gpu
from tests.kit.table import TableRunner
from tests.kit.worlds import World, some_classifier, state_of, tables

CPU = torch.device("cpu")
VOCAB, PROMPT = 14, [3, 1]
SAMPLINGS = {
    "greedy": Sampling(max_new_tokens=60),
    "shared": Sampling(temperature=1.0, max_new_tokens=60, repetition_penalty=1.2),
    "ratio": Sampling(temperature=1.0, dice="ratio", max_new_tokens=60),
}


class Late(ExchangeHere):
    """As if the target's device were done when somebody has looked so many times, or when the draft has nothing left
    to do; a processor is done at once."""

    def __init__(self, lanes: Lanes, looks: int | None) -> None:
        super().__init__(lanes)
        self._looks = looks

    def meanwhile(self, is_done: Callable[[], bool]) -> None:
        left = itertools.count() if self._looks is None else iter(range(self._looks))
        super().meanwhile(lambda: next(left, None) is None)


def run(world: World, sampling: Sampling, looks: int | None, with_classifier: bool = False) -> tuple[Decoded, Recorder]:
    dice, clock, recorder = dice_for(sampling, VOCAB, 5), Clock(), Recorder()
    settings = SpeculatorSettings(4, 9, backup="neural")
    classifier = some_classifier() if with_classifier else None
    recipe = SpeculatorRecipe(settings, sampling, VOCAB, 5, frozenset(), classifier)
    lanes = Lanes(Lane(CPU, is_urgent=True), Lane(CPU), world.draft)
    drafter = SsdDrafter(Late(lanes, looks), recipe, world.draft, clock)
    ending = Ending(frozenset())
    with torch.inference_mode(), lanes.for_target():
        sequence = Sequence(PROMPT, sampling.max_new_tokens, ending, world.target, drafter, dice, recorder, clock)
        return decode(sequence), recorder


def is_draft(event: Event) -> TypeGuard[Drafted]:
    return isinstance(event, Drafted)


@pytest.mark.parametrize("name", ["shared", "ratio"])
def test_with_time_it_does_what_it_does_in_turn(name: str) -> None:
    world, sampling = World.of_tables(VOCAB, 2, noise=0.9), SAMPLINGS[name]
    in_turn = choose("ssd", {"lookahead": 4, "branches": 9, "backup": "neural", "placement": "in-turn"})
    expected, one = world.run(in_turn, PROMPT, sampling, 5)
    decoded, other = run(world, sampling, looks=None)
    assert decoded == expected
    seen, wanted = (
        [(event.round, event.tokens, event.source, event.confidence) for event in recorder.events if is_draft(event)]
        for recorder in (other, one)
    )
    assert seen == wanted and {source for _, _, source, _ in seen} == {"fresh", "hit", "miss"}


@pytest.mark.parametrize(("name", "with_classifier"), [("greedy", False), ("shared", True)])
def test_it_prepares_while_the_target_is_not_done_and_not_longer_and_no_text_depends_on_that(
    name: str, with_classifier: bool
) -> None:
    world = World.of_tables(VOCAB, 2, noise=0.9)
    alone, _ = world.run(choose("autoregressive"), PROMPT, SAMPLINGS[name], 5)
    for looks in (0, 1, 3):
        decoded, recorder = run(world, SAMPLINGS[name], looks, with_classifier)
        assert decoded == alone
        prepared = [event for event in recorder.events if isinstance(event, Anticipated)]
        assert max((event.passes for event in prepared), default=0) == looks
        hits = sum(isinstance(event, Drafted) and event.source == "hit" for event in recorder.events)
        assert bool(hits) == (looks > 1)  # the first look opens the branches, the next gives each a token


def test_what_is_prepared_lies_within_the_verification() -> None:
    _, recorder = run(World.of_tables(VOCAB, 2), SAMPLINGS["greedy"], looks=4)
    verdicts = {event.round: event for event in recorder.events if isinstance(event, Verified)}
    for event in recorder.events:
        if isinstance(event, Anticipated):
            assert verdicts[event.round].start_ns <= event.start_ns <= event.end_ns <= verdicts[event.round].end_ns


def test_a_choice_goes_there_by_name() -> None:
    ready, placement = pair(), "two-streams"
    _, draft = tables(ready.vocab, 1)
    ready.lanes[placement] = Lanes(Lane(CPU), Lane(CPU), TableRunner(draft, state_of=state_of))
    choices = [choose("autoregressive"), choose("ssd", {"placement": placement})]
    comparison = Measurement(ready, prompts(2), choices, Sampling(temperature=1.0, max_new_tokens=12))
    ready.begin(choices)
    samples = comparison.run()
    assert all(sample.audit and sample.audit.outcome == "identical" for sample in samples)
    assert Counter(sample.strategy for sample in samples)[choices[1].label] == 2
    assert ready.hardware_of(choices[1]) == "cpu, shared by target and draft on two streams"


@pytest.mark.parametrize(("placement", "words"), [
    ("two-gpus", f"two-gpus needs two CUDA devices; this process sees {torch.cuda.device_count()}"),
    ("two-streams", "two-streams needs target and draft on one CUDA device, and the target is on cpu"),
])  # fmt: skip
def test_a_place_that_this_machine_has_not_is_refused_in_words(placement: str, words: str) -> None:
    if torch.cuda.device_count() > 1 and placement == "two-gpus":
        pytest.skip("this machine has two")
    ready = pair()
    with pytest.raises(BadDevice, match=words):
        ready.begin([choose("ssd", {"placement": placement})])
    assert not ready.lanes


def test_one_device_shared_is_not_ranked_against_two() -> None:
    ready = pair()
    assert ready.draft
    for placement in ("two-gpus", "two-streams"):
        ready.lanes[placement] = Lanes(Lane(CPU), Lane(CPU), ready.draft)
    both = [choose("ssd", {"placement": placement}) for placement in ("two-gpus", "two-streams")]
    with pytest.raises(BadStrategy, match="not ranked against placement=two-gpus"):
        ready.begin(both)
    ready.begin(both[:1])
    ready.begin(both[1:])


# On a GPU ------------------------------------------------------------------------------------------------------------


@on_a_gpu
@pytest.mark.parametrize("name", ["greedy", "shared"])
@pytest.mark.parametrize("placement", ["two-gpus", "two-streams"])
def test_on_gpus_the_text_is_what_it_is_in_turn(
    placement: str, name: str, device: torch.device, tmp_path: Path
) -> None:
    """Graphs are captured on both, one after the other; each round after that replays both at once. Under ratio dice
    the text depends on the lengths of drafts, and these on the clock."""
    is_rehearsed = device.type == "cpu"
    if not is_rehearsed and placement == "two-gpus" and torch.cuda.device_count() < 2:
        pytest.skip("this machine has one")
    folders = [models.save(tmp_path / role, "llama", seed=1, **models.LLAMA) for role in ("target", "draft")]

    def on(folder: Path, number: int) -> FastRunner:
        return captured_runner(folder, device if is_rehearsed else torch.device("cuda", number))

    world = World(on(folders[0], 0), on(folders[1], 0))
    if is_rehearsed:
        lanes = Lanes(Lane(CPU), Lane(CPU), on(folders[1], 0) if placement == "two-gpus" else world.draft)
    else:
        lanes = open_lanes(placement, world.target, world.draft, lambda device: on(folders[1], device.index or 0))
    vocab = world.target.vocab_size
    for _ in range(3):  # the second run captures, the third replays throughout
        found = [on_gpu(world, choice, SAMPLINGS[name], vocab, lanes) for choice in (None, choose("ssd"))]
        assert found[0] == found[1]


def on_gpu(world: World, choice: Choice | None, sampling: Sampling, vocab: int, lanes: Lanes) -> list[int]:
    if choice is None:
        in_turn = choose("ssd", {"backup": "neural", "placement": "in-turn"})
        return world.run(in_turn, PROMPT, sampling, 5)[0].tokens
    recipe = SpeculatorRecipe(SpeculatorSettings(backup="neural"), sampling, vocab, 5, frozenset())
    clock = Clock()
    with torch.inference_mode(), lanes.for_target():
        drafter = SsdDrafter(ExchangeHere(lanes), recipe, world.draft, clock)
        dice, ending = dice_for(sampling, vocab, 5), Ending(frozenset())
        sequence = Sequence(PROMPT, sampling.max_new_tokens, ending, world.target, drafter, dice, Recorder(), clock)
        return decode(sequence).tokens
