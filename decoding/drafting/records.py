"""Recorded texts, as `replay.player` shows them to sources, and counts of what was played. Standard library only.

A record says, for every position of the target's text, whether the draft would propose the same token. So the position
where a round starts and the number of tokens that are drafted there decide the round.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile


@dataclass(frozen=True)
class Record:
    """One prompt's text as the draft sees it. `runs[i]` is how many tokens in a row, from token i on, the draft would
    propose as the target did."""

    runs: tuple[int, ...]
    limits: tuple[int, ...]  # most tokens to draft from token i on: until the room ends, or the draft itself
    own_ends: tuple[int, ...] = ()  # how many tokens the draft from token i has up to its own end token, if it has room
    is_copied: bool = False  # copies, as if a model drafted them in no time

    @classmethod
    def of(
        cls,
        matches: Sequence[bool],
        max_new_tokens: int | None = None,
        tails: Mapping[int, int] | None = None,
        ended: bool = False,
    ) -> Record:
        """Make a record from `matches`. `tails` gives, for positions without a match, how many tokens the draft would
        add up to and including its own end token, if it would end. `ended`: the text's last token is an end token."""
        room, tails = max_new_tokens or len(matches), tails or {}
        if room < len(matches):
            raise ValueError(f"a text of {len(matches)} tokens where at most {room} were asked for")
        runs, limits, own_ends = [0] * (len(matches) + 1), [0] * len(matches), [0] * len(matches)
        for i in reversed(range(len(matches))):
            runs[i] = runs[i + 1] + 1 if matches[i] else 0
            miss = i + runs[i]
            if miss < len(matches):
                own_ends[i] = runs[i] + 1 + tails.get(miss, room)
            else:
                own_ends[i] = runs[i] if ended else room
            limits[i] = min(room - i - 1, own_ends[i])
        return cls(tuple(runs[:-1]), tuple(limits), tuple(own_ends))

    def __len__(self) -> int:
        return len(self.runs)


@dataclass(frozen=True)
class Written:
    """The tokens of one prompt and its text, for sources that copy."""

    prompt: Sequence[int]
    text: Sequence[int]
    room: int  # most tokens that the text could have had
    ends: Collection[int] = ()

    def agreeing(self, at: int, tokens: Sequence[int]) -> int:
        """Count the tokens of a draft at this position that the text has too, up to the first that it has not."""
        pairs = zip(tokens, self.text[at : at + len(tokens)], strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


@dataclass(frozen=True)
class Ranked:
    """One prompt's text as trees see it: where each of its tokens stood on the draft's list after those before it."""

    ranks: Sequence[int]
    room: int  # most tokens that the text could have had

    @classmethod
    def of(cls, text: Sequence[int], listed: Sequence[Sequence[int]], room: int) -> Ranked:
        found = [
            tokens.index(token) if token in tokens else len(tokens) for token, tokens in zip(text, listed, strict=True)
        ]
        return cls(found, room)


@dataclass(frozen=True)
class Seen:
    """Numbers and words that a source may see of one text."""

    row: Callable[[str, int], Sequence[float]] = lambda sees, start: ()  # by sight: one per token of a round from here
    words: Callable[[int], str] = lambda start: ""  # the last words before this position
    is_whole: bool = True  # False: a row may end early, where no run drafted further; the draft then ends there


NOTHING_SEEN = Seen()


@dataclass(frozen=True)
class RecordedText:
    """One prompt's text, as far as a recording tells what sources would draft along it."""

    record: Record
    prompt_tokens: int = 1
    seen: Seen = NOTHING_SEEN
    ranked: Ranked | None = None  # for trees
    written: Written | None = None  # for copies, and for drafts that are prepared ahead
    preferred: Sequence[Sequence[int]] = ()  # at each position, the draft's best tokens, best first
    seed: int = 0  # of the sample's dice

    @property
    def tokens(self) -> int:
        return len(self.record.runs)
