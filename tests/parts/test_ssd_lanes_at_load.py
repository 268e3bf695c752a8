"""SSD under load on two lanes, here both on the processor: one thread answers all texts, and prepares for all while the
target verifies."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from decoding.backends import ours
from decoding.backends.pair import ModelPair
from decoding.choice import choose
from decoding.core.load import ONE, Load
from decoding.models.runner import ModelRunner
from decoding.ssd.transport.two_lanes import PLACEMENTS, Lane, Lanes
from tests.kit import models
from tests.kit.beside import SAMPLINGS, run, texts
from tests.kit.pairs import Letters
from tests.kit.rehearsal import captured_runner, on_a_gpu
from tests.kit.worlds import World, some_classifier

pytestmark = pytest.mark.slow
CPU = torch.device("cpu")
ALONE = choose("autoregressive")
SSD = {
    placement: [
        choose("ssd", {"branches": 16, "backup": "neural", "placement": placement}),
        choose("ssd", {"lookahead": 3, "branches": 9, "backup": "auto", "placement": placement}),
        choose("ssd-disco", {"branches": 9, "placement": placement}),
    ]
    for placement in PLACEMENTS
}


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
    pair.contestants[ours.__name__] = ours.Ours(pair, free=lambda device: two_texts if device.type == "meta" else 2**40)
    said = {placement: pair.hardware_of(SSD[placement][0].at(Load(5)), 100) for placement in PLACEMENTS}
    assert "memory holds the caches of 2 texts" in said["two-gpus"]
    assert "memory" not in said["two-streams"]


@on_a_gpu
@pytest.mark.parametrize("name", SAMPLINGS)
def test_on_a_gpu_the_text_at_any_load_is_the_text_of_one_user(name: str, device: torch.device, tmp_path: Path) -> None:
    folders = [models.save(tmp_path / role, "llama", seed=1, **models.LLAMA) for role in ("target", "draft")]
    target, draft = (captured_runner(folder, device) for folder in folders)
    pair = on_lanes(target, draft)
    alone = texts(run(pair, ALONE, SAMPLINGS[name], ONE))
    for at in (Load(2), Load(5)):
        for _ in range(2):  # the second run replays what the first captured
            assert texts(run(pair, SSD["two-streams"][0], SAMPLINGS[name], at)) == alone
