"""Drafter with two sources: it copies from the text, lets the draft model draft, or both, as its policy says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from decoding.drafters.base import Draft, Drafter
from decoding.drafters.model import ModelDrafter
from decoding.models.runner import Steps, run_together
from decoding.proposing import Proposer, usable
from decoding.sources import Knowledge
from decoding.verify import Verdict

if TYPE_CHECKING:
    from decoding.registry import Parts


class Chooses(Protocol):
    """The policy: it weighs the sources, and stops the model."""

    knowledge: Knowledge
    estimates: list[float]  # of the round's tokens, copied and drafted

    def choose(self, raw: Sequence[float]) -> int: ...
    def learn(self, copied: int, accepted: int) -> None: ...


class HybridDrafter(Drafter):
    def __init__(self, parts: Parts, model: ModelDrafter, proposer: Proposer, policy: Chooses) -> None:
        self._parts, self._model, self._proposer, self._policy = parts, model, proposer, policy
        self._start = 0  # position of the last proposal
        self._proposed: tuple[int, ...] = ()
        self._raw: Sequence[float] = ()  # the proposer's estimates of it
        self._copied = 0  # tokens of the draft that were copied
        self._drafted = 0  # when the draft was complete

    def prepare(self, text: Sequence[int]) -> None:
        self._proposer.follow(text)
        self._model.prepare(text)

    def propose(self, text: Sequence[int], limit: int) -> Draft:
        return run_together([self.drafting(text, limit)])[0]

    def drafting(self, text: Sequence[int], limit: int) -> Steps[Draft]:
        self._look_back(text)
        self._proposer.follow(text)
        found = usable(self._proposer.propose(), limit, self._parts.end_tokens, self._parts.dice.vocab)
        self._start, self._proposed, self._raw = len(text), found, self._proposer.estimates
        self._copied = self._policy.choose(self._raw[: len(found)])
        copied = found[: self._copied]
        drafted = yield from self._model.going_on(text, copied, limit - len(copied))
        self._drafted = self._parts.clock.now()
        return self._joined(copied, drafted) if copied else drafted

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        rows, know = len(draft.tokens) + 1, self._policy.knowledge
        know.verifications.add(rows, self._parts.clock.now() - self._drafted)
        know.note_round(verdict.accepted + 1, draft.passes, rows)
        self._policy.learn(self._copied, verdict.accepted)

    def _look_back(self, text: Sequence[int]) -> None:
        """Learn about the last proposal from what the target wrote in its place, whether or not it was the draft."""
        for raw, token, own in zip(self._raw, self._proposed, text[self._start :], strict=False):
            self._policy.knowledge.copies.learn(raw, token == own)
            if token != own:
                return

    def _joined(self, copied: tuple[int, ...], drafted: Draft) -> Draft:
        tokens = (*copied, *drafted.tokens)
        stop = drafted.stop if drafted.tokens else "rule"
        estimates = tuple(self._policy.estimates[: len(tokens)])
        return Draft(tokens, self._scores(copied, drafted), len(tokens), stop, "copied", drafted.passes, estimates)

    def _scores(self, copied: Sequence[int], drafted: Draft) -> Tensor | None:
        """Scores for a verdict that asks what each token was drawn from: a copied one was certain."""
        if drafted.scores is None or self._parts.dice.sampling.fixes_the_text:
            return None
        rows = drafted.scores
        certain = rows.new_full((len(copied), rows.shape[1]), -torch.inf)
        certain.scatter_(1, torch.tensor(copied, device=rows.device)[:, None], 0.0)
        return torch.cat((certain, rows))
