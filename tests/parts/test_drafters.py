"""A way to draft is one class: it must only propose. Whatever it proposes, the text stays the target's."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from decoding.choice import choose
from decoding.dice.sampling import Sampling
from decoding.drafting.records import Record, RecordedText
from decoding.drafting.source import END, STEP, Ask, Asking, Block, Copy, Source, Step, View
from decoding.drafting.strategy import Looks, Strategy
from decoding.errors import BadStrategy
from decoding.replay.player import replay
from decoding.trace.events import Drafted, StopReason
from tests.kit.table import TableRunner
from tests.kit.worlds import World, state_of, tables
from tests.laws.chances import check_chances

VOCAB, RATIO = 3, Sampling(temperature=1.0, dice="ratio", max_new_tokens=5)


class Foretelling(TableRunner):
    """A table that foretells several positions in one pass, each as if the likeliest tokens stood before it."""

    def block(self, tokens: Sequence[int], length: int) -> Tensor:
        rows = [self.extend(tokens)]
        text = [*self.tokens]
        while len(rows) < length:
            text.append(int(rows[-1].argmax()))
            rows.append(self.table[[self.state_of(text)]])
        return torch.cat(rows)


class Blocks(Source):
    blocks = True
    lookahead = 3

    def propose(self, view: View) -> Asking:
        yield Block(3)
        return "limit"


def foretold(vocab: int, seed: int, **shape: float) -> World:
    target, draft = tables(vocab, seed, **shape)
    return World(TableRunner(target, 4096, state_of), Foretelling(draft, 4096, state_of))


def test_a_block_drafts_several_tokens_in_one_pass_and_the_text_is_the_targets() -> None:
    sampling = Sampling(temperature=0.9, dice="shared", max_new_tokens=40)
    for seed in range(5):
        world = foretold(4, seed)
        expected, _ = world.run(choose("autoregressive"), [3, 1], sampling, seed)
        decoded, recorder = world.run(lambda parts: Blocks(), [3, 1], sampling, seed)
        assert decoded == expected
        drafts = [event for event in recorder.events if isinstance(event, Drafted)]
        assert {(len(draft.tokens), draft.passes, draft.stop) for draft in drafts} >= {(3, 1, "limit")}


def test_blocks_that_no_recording_tells_are_replayed_nowhere_and_their_source_says_so() -> None:
    looks = Looks("m", "M0,0Z", "#000")
    strategy = Strategy("blocks", "Blocks", "It drafts blocks.", "ranked", looks, source=lambda given: Blocks())
    assert not (strategy.can_replay or strategy.drafts_with_the_pair or strategy.prices_passes)
    with pytest.raises(BadStrategy, match="cannot be replayed"):
        replay([RecordedText(Record.of([True, False]))], Blocks)

    class Silent(Blocks):
        blocks = False

    for world, source, sentence in (
        (foretold(4, 1), Silent, "blocks = True"),
        (World.of_tables(4, 1), Blocks, "only one"),
    ):
        with pytest.raises(BadStrategy, match=sentence):
            world.run(lambda parts, source=source: source(), [3, 1], Sampling(max_new_tokens=8))  # type: ignore[misc]


def test_texts_of_blocks_are_as_likely_as_the_target_makes_them() -> None:
    check_chances(foretold(VOCAB, 5, sharpness=0.7, noise=1.2), lambda parts: Blocks(), [0, 1, 2], RATIO)


class Asks(Source):
    """Asks for these one after the other, and returns a reason or forgets it."""

    copies = branches = True

    def __init__(self, *asks: Ask, reason: StopReason | None = "limit", lookahead: int = 3) -> None:
        self._asks, self._reason, self.lookahead = asks, reason, lookahead

    def propose(self, view: View) -> Asking:
        yield from self._asks  # nobody sends an iterator anything but None
        return self._reason  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (Asks(STEP, reason=None), "must return why it wants no more"),
        (Asks(Copy([1]), Step((END,))), "begins with at most one copy, and only single steps follow it"),
        (Asks(Copy([1]), Copy([2])), "begins with at most one copy"),
        (Asks(Step((END,)), lookahead=0), "sets `lookahead` to its number of levels"),
    ],
)
def test_a_source_that_asks_for_what_nobody_can_give_is_refused_in_a_sentence(source: Source, sentence: str) -> None:
    with pytest.raises(BadStrategy, match=sentence):
        World.of_tables(4, 1).run(lambda parts: source, [3, 1], Sampling(max_new_tokens=8))


def test_a_level_of_a_tree_names_parents_alone() -> None:
    world, sampling = World.of_tables(4, 1), Sampling(max_new_tokens=40)
    expected, _ = world.run(choose("autoregressive"), [3, 1], sampling)
    decoded, recorder = world.run(lambda parts: Asks(Step((END, END)), Step((0, 0, 1))), [3, 1], sampling)
    assert decoded == expected
    assert max(event.rows for event in recorder.events if isinstance(event, Drafted)) == 5
