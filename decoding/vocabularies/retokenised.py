"""SLEM: draft in the draft's own tokens, and propose the target's tokens for the same text (arXiv 2502.05202).

The target judges them as certain, because nobody knows how likely the draft found this cut of its text. So the draft
always says what it finds likeliest: with certain tokens, that is what the target most likely accepts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from decoding.core.batch_state import BatchState
from decoding.core.sequence import Drafter
from decoding.dice.verify import EMPTY, Draft, Verdict
from decoding.drafting.driver import DraftDriver
from decoding.models.runner import Feeds
from decoding.vocabularies.bridge import Bridge
from decoding.vocabularies.spelling import tail_of, whole_characters


@dataclass
class RetokenisedDrafter(Drafter):
    """Any drafter with a model whose tokens are not the target's."""

    inner: DraftDriver
    bridge: Bridge
    _read: int = 0  # how many of the text's tokens the draft's ids stand for
    _ids: list[int] = field(default_factory=list)  # the text in the draft's ids
    _drafted: Draft = EMPTY  # in the draft's ids

    def prepare(self, text: Sequence[int]) -> None:
        self.inner.prepare(self._as_draft_reads(text))

    def draft_steps(self, text: Sequence[int], limit: int) -> Feeds[Draft]:
        drafted = yield from self.inner.draft_steps(self._as_draft_reads(text), limit)
        self._drafted = drafted if isinstance(drafted, Draft) else drafted.draft
        return self._proposal(text, limit)

    def join(self, batch: BatchState) -> None:
        self.inner.join(batch)

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        """Tell the source how many of the draft's own tokens lie in what the target accepted."""
        tokens, bytes_of = self._drafted.tokens, self.bridge.draft.spelling.bytes_of
        accepted = len(tokens)
        if verdict.accepted < len(draft.tokens):
            left = len(self.bridge.target.spelling.bytes_of(draft.tokens[: verdict.accepted]))
            lengths = (len(bytes_of(tokens[:count])) for count in range(1, len(tokens)))
            accepted = sum(length <= left for length in lengths)
        if tokens:
            self.inner.observe(self._drafted, Verdict(accepted, verdict.token, verdict.outcome))

    def _as_draft_reads(self, text: Sequence[int]) -> list[int]:
        """Cut the text anew from the last word that the draft has read."""
        new, self._read = text[self._read :], len(text)
        known = len(self._ids)
        run: list[int] = []
        for token in new:
            if token in self.bridge.target.spelling.specials:
                self._append(run)
                run = []
                self._ids += self.bridge.translation.read(token)
            else:
                run.append(token)
        self._append(run)
        self.inner.dice.commit(self._ids[known:])
        return self._ids

    def _append(self, tokens: Sequence[int]) -> None:
        if tokens:
            start, word = tail_of(self.bridge.draft.spelling, self._ids)
            self._ids[start:] = self.bridge.draft.ids_of(word + self.bridge.target.spelling.bytes_of(tokens))

    def _proposal(self, text: Sequence[int], limit: int) -> Draft:
        drafted, bridge = self._drafted, self.bridge
        said = bridge.draft.spelling.bytes_of(drafted.tokens)
        _, before = tail_of(bridge.target.spelling, text)
        tokens = bridge.target.following(before, whole_characters(said) or said)
        if drafted.tokens and drafted.tokens[-1] in bridge.draft_ends:
            tokens += sorted(bridge.target_ends)[:1]
        if not tokens:
            return EMPTY
        return Draft(tuple(tokens[:limit]), None, drafted.lookahead, drafted.stop, "fresh", drafted.passes)
