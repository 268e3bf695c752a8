"""A way to draft is one class: it must only propose. Whatever it proposes, the text stays the target's."""

from __future__ import annotations

import pytest

from decoding.choice import choose
from decoding.dice.sampling import Sampling
from decoding.drafting.source import END, STEP, Ask, Asking, Copy, Source, Step, View
from decoding.errors import BadStrategy
from decoding.trace.events import Drafted, StopReason
from tests.kit.worlds import World


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
