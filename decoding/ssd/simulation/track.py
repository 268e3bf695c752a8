"""A text that was recorded with what the draft would have said along it: what the simulator plays from. Standard
library only; `decoding.ssd.simulation.recording` makes them."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from dataclasses import dataclass

from decoding.replay import Record


@dataclass(frozen=True)
class Track:
    prompt: tuple[int, ...]
    text: tuple[int, ...]
    preferred: tuple[tuple[int, ...], ...]  # at each place, the draft's best tokens, best first
    record: Record
    room: int  # the most tokens that the text may have
    end_tokens: frozenset[int] = frozenset()
    seed: int = 0  # of the sample's dice
    estimates: Sequence[Sequence[float]] = ()  # at each place, the classifier's word for each token of a draft there
    echoes: Sequence[tuple[int, int]] = ()  # at each place, what the text said there before, after how many same words

    def guesses(self, place: int, refused: int | None) -> list[int]:
        """What the target may say there, likeliest first. The token that it refused there is not guessed, nor is the
        end of the text, after which nothing needs to be drafted."""
        return [token for token in self.preferred[place] if token != refused and token not in self.end_tokens]

    def length(self, at: int, longest: int, least_survival: float = 0.0, drafted: int = 0) -> int:
        """How many tokens the draft model gives there, of which it has given `drafted`: until an end token, until there
        is no room, or until the chance that all are accepted is less than that."""
        longest = min(longest, self.record.limits[at])
        if not self.estimates:
            return longest
        survival = itertools.accumulate(self.estimates[at], operator.mul)
        stops = (n for n, chance in enumerate(survival, start=1) if n > drafted and chance < least_survival)
        return min(longest, next(stops, longest))

    def ends_itself(self, at: int, drafted: int) -> bool:
        """Whether a draft of so many tokens, shorter than there is room for, ends with an end token."""
        return drafted == self.record.limits[at] < self.room - at - 1

    def accepted(self, at: int, tokens: Sequence[int]) -> int:
        """Of tokens that were not drafted by the model."""
        pairs = zip(tokens, self.text[at:], strict=False)
        return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
