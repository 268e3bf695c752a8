"""The drafter of autoregressive decoding: to verify an empty draft is to decode one token."""

from __future__ import annotations

from collections.abc import Sequence

from decoding.drafters.base import EMPTY, Draft, Drafter


class NoDraft(Drafter):
    def propose(self, text: Sequence[int], limit: int) -> Draft:
        return EMPTY
