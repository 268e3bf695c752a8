"""The drafter of autoregressive decoding: verifying an empty draft decodes one token."""

from __future__ import annotations

from collections.abc import Sequence

from decoding.drafters.base import EMPTY, Draft, Drafter


class NoDraft(Drafter):
    drafts = False

    def propose(self, text: Sequence[int], limit: int) -> Draft:
        return EMPTY
