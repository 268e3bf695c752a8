"""Small worlds whose draft has another tokenizer than the target."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from decoding.vocabularies.bridge import Bridge
from decoding.vocabularies.shared import Method, shared
from decoding.vocabularies.spelling import Coder, Spelling
from tests.kit.table import TableRunner
from tests.kit.worlds import STATES, World, state_of, tables


def spelling(*tokens: str, specials: Sequence[str] = ()) -> Spelling:
    written = {number: token.encode() for number, token in enumerate(tokens) if token not in specials}
    return Spelling(written, {tokens.index(name): name for name in specials}, frozenset())


def bridge(target: Spelling, draft: Spelling, method: Method, ends: int | None = None) -> Bridge:
    """`ends`: the target's and the draft's end token are the last ones, of so many target's."""
    theirs, ours = (frozenset({max({**s.written, **s.specials})}) if ends else frozenset() for s in (target, draft))
    coders = [Coder(each, lambda text, each=each: each.spell(text.encode())) for each in (target, draft)]
    outputs = 1 + max({**target.written, **target.specials})
    both = shared(target, draft, theirs, ours)
    return Bridge(method, *coders, both, theirs, ours, outputs, lambda tokens: draft.bytes_of(tokens).decode())


def bridged(target: Spelling, draft: Spelling, method: Method, seed: int = 0, **shape: float) -> World:
    """The target's tables are those of `World.of_tables`; the draft's resemble them where both have a token."""
    made = bridge(target, draft, method)
    theirs, alike = tables(made.outputs, seed, **shape)
    dice = torch.Generator().manual_seed(seed + 1)
    ours = torch.randn(STATES, 1 + max(draft.written), generator=dice, dtype=torch.float64)
    for number, token in made.shared.to_target.items():
        ours[:, number] = alike[:, token]
    own = TableRunner(ours, state_of=state_of)
    return World(TableRunner(theirs, state_of=state_of), own if method == "slem" else made.over(own), bridge=made)


LETTERS = spelling(*"abcdefgh", "ab", "abc", "cd", "hh")
# No id means the same, and "abc", "cd", "hh" are missing.
OTHERS = spelling("x", "ba", *"hgfedcb", "ab", "bcd", "yz", "a")
SMALL = spelling("a", "b", "ab")
OTHER_SMALL = spelling("x", "b", "ba", "a")
