"""Drafter that copies from the text: a proposer finds the tokens, and no model runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from decoding.drafters.base import EMPTY, Draft, Drafter
from decoding.events import StopReason
from decoding.proposing import Proposer, usable


@dataclass
class LookupDrafter(Drafter):
    proposer: Proposer
    end_tokens: Collection[int]
    vocab: int

    def prepare(self, text: Sequence[int]) -> None:
        self.proposer.follow(text)

    def propose(self, text: Sequence[int], limit: int) -> Draft:
        self.proposer.follow(text)
        found = self.proposer.propose()
        tokens = usable(found, limit, self.end_tokens, self.vocab)
        if not tokens:
            return EMPTY
        stop, estimates = self._stop(found, tokens, limit), tuple(self.proposer.estimates[: len(tokens)])
        return Draft(tokens, None, self.proposer.lookahead, stop, "copied", 0, estimates)

    def _stop(self, found: Sequence[int], tokens: Sequence[int], limit: int) -> StopReason:
        if len(tokens) == self.proposer.lookahead:
            return "limit"
        if len(tokens) == len(found):
            return "match"
        return "length" if len(tokens) == limit else "eos"
