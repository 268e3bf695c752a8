"""Drafter with two sources: it copies from the text, lets the draft model draft, or both, as its policy says."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from decoding.dice import Dice
from decoding.drafters.base import Draft, Drafter
from decoding.drafters.model import ModelDrafter
from decoding.mixing import Judgement, Mix
from decoding.models.runner import Steps, run_together
from decoding.proposing import usable
from decoding.timing import Clock
from decoding.verify import Verdict


@dataclass
class HybridDrafter(Drafter):
    mix: Mix
    model: ModelDrafter  # which the policy of the mix stops
    dice: Dice
    end_tokens: Collection[int]
    clock: Clock
    _start: int = field(default=0, init=False)  # position of the last copy
    _found: tuple[int, ...] = field(default=(), init=False)  # its tokens, taken or not
    _copied: int = field(default=0, init=False)  # tokens of the draft that were copied
    _drafted: int = field(default=0, init=False)  # when the draft was complete

    def prepare(self, text: Sequence[int]) -> None:
        self.mix.proposer.follow(text)
        self.model.prepare(text)

    def propose(self, text: Sequence[int], limit: int) -> Draft:
        return run_together([self.drafting(text, limit)])[0]

    def drafting(self, text: Sequence[int], limit: int) -> Steps[Draft]:
        proposer, policy = self.mix.proposer, self.mix.policy
        self._look_back(text)
        proposer.follow(text)
        found = usable(proposer.propose(), limit, self.end_tokens, self.dice.vocab)
        self._start, self._found = len(text), found
        self._copied = policy.takes(proposer.estimates[: len(found)])
        copied = found[: self._copied]
        drafted = yield from self.model.going_on(text, copied, limit - len(copied))
        self._drafted = self.clock.now()
        return self._joined(copied, drafted) if copied else drafted

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        took = self.clock.now() - self._drafted
        drafted = len(draft.tokens) - self._copied
        self.mix.policy.verified(Judgement(self._copied, drafted, draft.passes, verdict.accepted, took))

    def _look_back(self, text: Sequence[int]) -> None:
        """Tell the policy what the target wrote in the place of the last copy, whether or not it was the draft."""
        pairs = [(token, own) for token, own in zip(self._found, text[self._start :], strict=False)]
        agreed = next((number for number, (token, own) in enumerate(pairs) if token != own), len(pairs))
        self.mix.policy.looked_back(agreed, len(pairs))

    def _joined(self, copied: tuple[int, ...], drafted: Draft) -> Draft:
        tokens = (*copied, *drafted.tokens)
        stop = drafted.stop if drafted.tokens else "rule"
        estimates = tuple(self.mix.policy.estimates[: len(tokens)])
        return Draft(tokens, self._scores(copied, drafted), len(tokens), stop, "copied", drafted.passes, estimates)

    def _scores(self, copied: Sequence[int], drafted: Draft) -> Tensor | None:
        """Scores for a verdict that asks what each token was drawn from: a copied one was certain."""
        if drafted.scores is None or self.dice.sampling.fixes_the_text:
            return None
        rows = drafted.scores
        certain = rows.new_full((len(copied), rows.shape[1]), -torch.inf)
        certain.scatter_(1, torch.tensor(copied, device=rows.device)[:, None], 0.0)
        return torch.cat((certain, rows))
