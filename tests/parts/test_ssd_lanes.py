"""SSD driven by one thread on two devices, here two processors: all of the path but streams, events and graphs."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from decoding.backends import ours
from decoding.backends.pair import ModelPair
from decoding.choice import choose
from decoding.core.ending import Decoded, Ending
from decoding.core.load import ONE, Load
from decoding.core.loop import decode
from decoding.core.sequence import Sequence
from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.errors import BadDevice, BadStrategy
from decoding.measure.measurement import Measurement
from decoding.models.runner import ModelRunner
from decoding.ssd.speculator.speculator import SpeculatorRecipe
from decoding.ssd.transport.exchange import ExchangeHere, SsdDrafter
from decoding.ssd.transport.two_lanes import PLACEMENTS, Lane, Lanes
from decoding.trace.events import Anticipated, Drafted, Recorder
from decoding.trace.timing import Clock
from tests.kit import models
from tests.kit.beside import SAMPLINGS, run, texts
from tests.kit.pairs import Letters, pair, prompts
from tests.kit.rehearsal import captured_runner, on_a_gpu
from tests.kit.table import TableRunner
from tests.kit.worlds import World, some_classifier, state_of, tables

pytestmark = pytest.mark.slow
CPU = torch.device("cpu")
VOCAB, PROMPT = 14, [3, 1]


class Late(ExchangeHere):
    """As if the target's device were done when somebody has looked so many times, or when the draft has nothing left
    to do; a processor is done at once."""

    def __init__(self, lanes: Lanes, looks: int | None) -> None:
        super().__init__(lanes)
        self._looks = looks

    def meanwhile(self, is_done: Callable[[], bool]) -> None:
        left = itertools.count() if self._looks is None else iter(range(self._looks))
        super().meanwhile(lambda: next(left, None) is None)


def late(
    world: World, sampling: Sampling, looks: int | None, with_classifier: bool = False
) -> tuple[Decoded, Recorder]:
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


@pytest.mark.parametrize(("name", "with_classifier"), [("greedy", False), ("shared", True)])
def test_it_prepares_while_the_target_is_not_done_and_not_longer_and_no_text_depends_on_that(
    name: str, with_classifier: bool
) -> None:
    world = World.of_tables(VOCAB, 2, noise=0.9)
    alone, _ = world.run(choose("autoregressive"), PROMPT, SAMPLINGS[name], 5)
    for looks in (0, 1, 3):
        decoded, recorder = late(world, SAMPLINGS[name], looks, with_classifier)
        assert decoded == alone
        prepared = [event for event in recorder.events if isinstance(event, Anticipated)]
        assert max((event.passes for event in prepared), default=0) == looks
        hits = sum(isinstance(event, Drafted) and event.source == "hit" for event in recorder.events)
        assert bool(hits) == (looks > 1)  # the first look opens the branches, the next gives each a token


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
    assert ready.contestant(choices[1]).hardware(choices[1]) == "cpu, shared by target and draft on two streams"


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


ALONE = choose("autoregressive")
SSD = {name: choose("ssd", {"branches": 16, "backup": "neural", "placement": name}) for name in PLACEMENTS}


def on_lanes(target: ModelRunner, draft: ModelRunner) -> ModelPair:
    made = ModelPair(target, draft, Letters(), frozenset(), torch.float64)
    made.hold("", some_classifier())
    made.lanes |= {placement: Lanes(Lane(target.device), Lane(draft.device), draft) for placement in PLACEMENTS}
    return made


def test_on_a_device_of_its_own_each_place_has_a_draft_of_its_own() -> None:
    world = World.of_tables(12, 7)
    lanes = Lanes(Lane(CPU), Lane(CPU), world.draft)
    place = world.draft.model.new_runner()
    assert lanes.runner_of(place) is place  # a shared device

    elsewhere = world.draft.model.new_runner()
    elsewhere.device = torch.device("meta")
    assert lanes.runner_of(elsewhere) is not elsewhere
    assert lanes.runner_of(elsewhere) is lanes.runner_of(elsewhere)


def test_requests_wait_where_the_drafts_own_device_holds_few_caches() -> None:
    """A table's cache takes 8 bytes for each token that it has room for."""
    world = World.of_tables(12, 7)
    pair, elsewhere = on_lanes(world.target, world.draft), world.draft.model.new_runner()
    elsewhere.device = torch.device("meta")
    pair.lanes["two-gpus"] = Lanes(Lane(CPU), Lane(elsewhere.device), elsewhere)
    two_texts = int(2.5 * 8 * ours.room_for(100) / ours.SHARE_FOR_CACHES)
    own = ours.Ours(pair, free=lambda device: two_texts if device.type == "meta" else 2**40)
    said = {placement: own.hardware(SSD[placement].at(Load(5)), 100) for placement in PLACEMENTS}
    assert "memory holds the caches of 2 texts" in said["two-gpus"]
    assert "memory" not in said["two-streams"]


@on_a_gpu
@pytest.mark.parametrize("name", SAMPLINGS)
def test_on_a_gpu_the_text_at_any_load_is_the_text_of_one_user(name: str, device: torch.device, tmp_path: Path) -> None:
    folders = [models.save(tmp_path / role, "llama", seed=1, **models.LLAMA) for role in ("target", "draft")]
    target, draft = (captured_runner(folder, device) for folder in folders)
    pair = on_lanes(target, draft)
    alone = texts(run(pair, ALONE, SAMPLINGS[name], ONE))
    for at in (ONE, Load(5)):
        for _ in range(2):  # the second run replays what the first captured
            assert texts(run(pair, SSD["two-streams"], SAMPLINGS[name], at)) == alone
