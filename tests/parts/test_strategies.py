"""The promise of every strategy, where one case says more than those that `tests/laws` draws."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from decoding.choice import choose
from decoding.dice.sampling import Sampling
from decoding.drafting.features import DraftStep, Feature
from decoding.drafting.source import Chain
from decoding.errors import BadPrompt, BrokenModel
from decoding.models.runner import align
from decoding.trace.events import Drafted, Event, Verified
from tests.kit.table import TableRunner
from tests.kit.worlds import World, state_of, tables
from tests.laws.chances import check_chances

GREEDY = Sampling(max_new_tokens=40)
SHARED = Sampling(temperature=1.0, dice="shared", max_new_tokens=40)
RATIO = Sampling(temperature=1.0, dice="ratio", max_new_tokens=40)


def own_text(table: torch.Tensor, prompt: Sequence[int], count: int) -> list[int]:
    text = list(prompt)
    for _ in range(count):
        text.append(int(table[state_of(text)].argmax()))
    return text[len(prompt) :]


class Remembers(Chain, Feature):
    """A source that may legally exist: it sees only the draft's side, but it remembers what was thrown away, and
    goes on to a position only if what was drafted there before was token 0. If a position's coin were thrown once
    for all, this would let it choose which coins are used."""

    sees = "confidence"
    lookahead = 4

    def __init__(self) -> None:
        self.before: dict[int, int] = {}

    def of(self, step: DraftStep) -> float:
        position = len(step.text) + len(step.ahead)
        self.before[position] = step.token
        return float(self.before.get(position + 1, 0) != 0)

    def stops(self, seen: float) -> bool:
        return bool(seen)


VOCAB = 3


def test_what_was_thrown_away_teaches_a_source_nothing_about_the_coins_to_come() -> None:
    world = World.of_tables(VOCAB, 5, sharpness=0.7, noise=1.2)
    check_chances(world, lambda parts: Remembers(), [0], Sampling(temperature=1.0, dice="ratio", max_new_tokens=5))
    shared = Sampling(temperature=1.0, dice="shared", max_new_tokens=40)
    expected, _ = world.run(choose("autoregressive"), [0], shared)
    assert world.run(lambda parts: Remembers(), [0], shared)[0] == expected


def rounds(events: Sequence[Event]) -> list[tuple[Drafted | None, Verified]]:
    drafts = {event.round: event for event in events if isinstance(event, Drafted)}
    return [(drafts.get(event.round), event) for event in events if isinstance(event, Verified)]


@pytest.mark.parametrize("sampling", [GREEDY, SHARED, RATIO], ids=lambda s: f"{s.temperature:g}-{s.dice}")
def test_the_oracle_never_drafts_past_a_refusal(sampling: Sampling) -> None:
    _, recorder = World.of_tables(12, 4).run(choose("oracle"), [3, 1], sampling)
    for draft, verdict in rounds(recorder.events):
        if draft and draft.stop == "rule":
            assert verdict.accepted == len(draft.tokens) - 1
        elif draft:
            assert verdict.accepted == len(draft.tokens)


def test_the_threshold_keeps_the_token_it_stops_at() -> None:
    _, recorder = World.of_tables(12, 7).run(choose("threshold", {"threshold": 0.5}), [3, 1], RATIO)
    stopped = [d for d, _ in rounds(recorder.events) if d and d.stop == "rule"]
    assert stopped
    for draft in stopped:
        assert draft.confidence[-1] < 0.5 <= min(draft.confidence[:-1], default=1.0)


def test_models_that_differ_by_padding_share_the_unpadded_part() -> None:
    target, _ = tables(12, 7)
    world = World.of_tables(12, 7)
    world.target = TableRunner(torch.nn.functional.pad(target, (0, 4), value=50.0), state_of=state_of)
    decoded, _ = world.run(choose("static"), [3, 1], GREEDY)
    assert decoded.tokens == own_text(target, [3, 1], 40)


def test_a_prompt_that_is_empty_or_leaves_no_room_is_refused() -> None:
    world = World.of_tables(12, 7, context=8)
    with pytest.raises(BadPrompt, match="empty"):
        world.run(choose("static"), [], GREEDY)
    with pytest.raises(BadPrompt, match="8 tokens and the target holds 8"):
        world.run(choose("static"), [1] * 8, GREEDY)


@pytest.mark.parametrize("model", ["target", "draft"])
@pytest.mark.parametrize("sampling", [GREEDY, SHARED, RATIO], ids=lambda s: f"{s.temperature:g}-{s.dice}")
def test_a_model_that_answers_with_nan_is_refused_in_words(model: str, sampling: Sampling) -> None:
    world = World.of_tables(12, 7)
    setattr(world, model, TableRunner(torch.full((12, 12), torch.nan, dtype=torch.float64)))
    with pytest.raises(BrokenModel, match="NaN"):
        world.run(choose("static"), [3, 1], sampling)


def test_align_compares_tokens_not_lengths() -> None:
    """A runner that sat out a round can hold a text of the right length that is not ours."""
    world = World.of_tables(12, 7)
    world.draft.extend([1, 2, 3, 4])
    assert list(align(world.draft, [1, 2, 9, 4, 5])) == [9, 4, 5]
    assert world.draft.tokens == [1, 2]


def test_align_feeds_again_what_logits_are_needed_of() -> None:
    world = World.of_tables(12, 7)
    world.draft.extend([1, 2, 3])
    assert list(align(world.draft, [1, 2, 3], need=2)) == [2, 3]
