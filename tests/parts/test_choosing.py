"""If choosing means launching, drafts are the same as call by call; with a GPU, launches are captured and replayed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from decoding.backends.registry import Parts
from decoding.choice import Choice, choose
from decoding.core.sequence import Drafter
from decoding.dice.choosing import Look, Picker, Pickers
from decoding.dice.dice import SharedDice, dice_for
from decoding.dice.sampling import Sampling
from decoding.disco import features
from decoding.disco.estimating import estimate_of
from decoding.trace.events import Drafted, Recorder
from tests.kit import models
from tests.kit.rehearsal import Calling, Launching, captured_runner, launching_on, on_a_gpu
from tests.kit.waiting import refusing_waits
from tests.kit.worlds import World, looking_at, some_classifier, stopped_by

PROMPT = [3, 1]
RULES: dict[str, Choice | Callable[[Parts], Drafter]] = {
    "static": choose("static", {"lookahead": 6}),
    "heuristic": choose("heuristic", {"initial": 2}),
    "threshold": choose("threshold", {"threshold": 0.35, "cap": 8}),
    "oracle": choose("oracle", {"cap": 8}),
    "disco by every feature": stopped_by("priced", 8, some_classifier(), 0.3),
    "disco at a glance": stopped_by("priced", 8, looking_at(features.GLANCE), 0.3),
    "disco as published": stopped_by("threshold", 8, looking_at(features.GLANCE), 0.5),
}
SETTINGS = [{"repetition_penalty": 1.3}, {"temperature": 0.9, "repetition_penalty": 0.8, "top_k": 5}]


def drafts_of(recorder: Recorder) -> list[Drafted]:
    return [event for event in recorder.events if isinstance(event, Drafted)]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_launched_draft_is_the_one_that_is_chosen_call_by_call(rule: str, settings: dict[str, float]) -> None:
    sampling = Sampling(max_new_tokens=40, **settings)  # type: ignore[arg-type]
    for seed, ends in enumerate([(), (2, 5)]):
        calling, launching = World.of_tables(12, seed), World.of_tables(12, seed)
        calling.end_tokens = launching.end_tokens = frozenset(ends)
        launching.pickers = Launching
        expected, called = calling.run(RULES[rule], PROMPT, sampling, seed)
        decoded, launched = launching.run(RULES[rule], PROMPT, sampling, seed)
        assert decoded == expected
        pairs = list(zip(drafts_of(called), drafts_of(launched), strict=True))
        assert pairs and all(a.tokens == b.tokens and a.stop == b.stop for a, b in pairs)
        for one, other in pairs:
            assert other.estimate == pytest.approx(one.estimate, rel=1e-4)
            assert other.confidence == pytest.approx(one.confidence, rel=1e-4)


@pytest.mark.parametrize("look", [lambda scores, preferences, token, number: number, None])
def test_drafts_of_several_texts_choose_side_by_side(look: Look | None) -> None:
    """One text's penalties, noise and number of drafted tokens are nothing to another's, also where one launch chooses
    for all of them."""
    sampling = Sampling(temperature=0.9, repetition_penalty=1.4)
    picker = Picker(sampling, 12, torch.device("cpu"), look)
    logits = torch.randn(6, 12, generator=torch.Generator().manual_seed(1))
    for _ in range(2):  # drafts
        texts = [(dice_for(sampling, 12, seed), list[int]()) for seed in range(5)]
        for seed, (dice, _) in enumerate(texts):
            dice.commit([seed, seed + 1])
        drafts = [picker.begin(World.of_tables(12).draft, dice) for dice, _ in texts]
        for number in range(6):
            row = logits[number : number + 1]
            expected = [dice.draw(dice.scores(row, [tokens]), [tokens]).item() for dice, tokens in texts]
            scores = [dice.scores(row, [tokens]) for dice, tokens in texts]
            for i, launched in enumerate(picker.launch_all(drafts, [row] * 5)):
                token, chance, seen = launched.read()
                assert (token, seen) == (expected[i], [number + 1] if look else [])
                assert chance == pytest.approx(scores[i].softmax(-1)[0, token].item(), rel=1e-5)
                assert launched.next.tolist() == [token]
                texts[i][1].append(token)


def test_samples_that_sample_and_look_alike_share_what_was_captured() -> None:
    pickers = Pickers(12, torch.device("meta"))  # neither a CPU nor able to capture
    classifier = looking_at(features.GLANCE)
    looks = [estimate_of(classifier).look for _ in range(2)]
    sampling = Sampling(temperature=0.9)
    first = pickers.of(sampling, looks[0])
    assert first and first is pickers.of(Sampling(temperature=0.9, seed=5, max_new_tokens=7), looks[1])
    others = [pickers.of(sampling, None), pickers.of(Sampling(temperature=0.8), looks[0])]
    others.append(pickers.of(sampling, estimate_of(looking_at(features.GLANCE)).look))
    assert first not in others


def test_a_processor_and_dice_that_read_choose_call_by_call() -> None:
    assert Pickers(12, torch.device("cpu")).of(Sampling(), None) is None
    assert Pickers(12, torch.device("meta")).of(Sampling(temperature=1.0, dice="ratio"), None) is None


@on_a_gpu
@pytest.mark.parametrize("rule", ["threshold", "disco by every feature"])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_captured_draft_is_the_one_that_is_chosen_call_by_call(
    rule: str, settings: dict[str, float], device: torch.device, tmp_path: Path
) -> None:
    """Each case loads two models and captures their passes, so a GPU tries few of the rules and settings above."""
    folder, capturing = models.save(tmp_path, "llama", **models.LLAMA), launching_on(device)
    runners = [captured_runner(folder, device, dtype="float32") for _ in range(2)]
    world, sampling = World(*runners), Sampling(max_new_tokens=40, **settings)  # type: ignore[arg-type]
    for _ in range(2):
        found = []
        for world.pickers in (capturing, Calling):
            decoded, recorder = world.run(RULES[rule], PROMPT, sampling, 3)
            found.append((decoded, [(draft.tokens, draft.stop) for draft in drafts_of(recorder)]))
        assert found[0] == found[1]


@on_a_gpu
def test_a_captured_choice_is_launched_without_a_stop(device: torch.device) -> None:
    sampling = Sampling(temperature=0.9, repetition_penalty=1.4)
    picker = Picker(sampling, 97, device, looking_at(features.GLANCE).glance)
    dice = dice_for(sampling, 97, 3)
    assert isinstance(dice, SharedDice)
    dice.commit([1, 2])
    logits = torch.randn(1, 97, device=device)
    draft = World.of_tables(97).draft
    picker.begin(draft, dice).launch(logits)
    with refusing_waits():
        passes = picker.begin(draft, dice)
        told = [passes.launch(logits).own for _ in range(4)]
    assert torch.stack(told).isfinite().all()
