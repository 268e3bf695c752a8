"""Recorded texts with what the draft preferred along them: the simulator plays from these. Standard library only;
`decoding.replay.ssd.recording` makes them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from decoding.drafting.records import RecordedText, Written
from decoding.ssd.policy.ssd_policy import worth_keeping

NOT_WRITTEN = Written((), (), 0)


@dataclass(frozen=True)
class Track(RecordedText):
    written: Written = NOT_WRITTEN
    preferred: Sequence[Sequence[int]] = ()  # at each position, the draft's best tokens, best first
    seed: int = 0  # of the sample's dice
    estimates: Sequence[Sequence[float]] = ()  # at each position, the classifier's for each token of a draft there
    echoes: Sequence[tuple[int, int]] = ()  # at each position, the echo and the length of its context, 0 for none

    def length(
        self, at: int, longest: int, corrected: Callable[[float], float], price: float = 0.0, drafted: int = 0
    ) -> int:
        """Number of tokens that the draft model drafts there: until an end token, until there is no room, or until the
        chance that all are accepted, by corrected estimates, falls below the price. It does not stop within the first
        `drafted` tokens."""
        longest = min(longest, self.record.limits[at])
        if not self.estimates:
            return longest
        return min(longest, worth_keeping(map(corrected, self.estimates[at]), price, longest, drafted))

    def ends_itself(self, at: int, drafted: int) -> bool:
        """Whether a draft of so many tokens, shorter than there is room for, ends with an end token."""
        return drafted == self.record.limits[at] < self.written.room - at - 1

    def accepted(self, at: int, tokens: Sequence[int]) -> int:
        """Number of accepted tokens of a backup's draft."""
        pairs = zip(tokens, self.written.text[at:], strict=False)
        return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
