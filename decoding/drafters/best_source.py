"""Drafter of a bound: it asks the target, with the clock stopped, which tokens of two sources it will accept."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from decoding.dice import Dice
from decoding.drafters.base import Draft, Drafter
from decoding.drafters.model import ModelDrafter
from decoding.mixing import Judgement, Mix
from decoding.models.runner import ModelRunner, Steps, align, run_together
from decoding.proposing import usable
from decoding.strategy import LONGEST
from decoding.timing import Clock
from decoding.verify import Verdict


@dataclass
class BestSourceDrafter(Drafter):
    mix: Mix
    model: ModelDrafter  # which the policy of the mix stops
    target: ModelRunner
    dice: Dice
    end_tokens: Collection[int]
    clock: Clock
    _began: int = field(default=0, init=False)
    _drafted: int = field(default=0, init=False)  # when the draft was complete

    def prepare(self, text: Sequence[int]) -> None:
        self.mix.proposer.follow(text)
        self.model.prepare(text)

    def propose(self, text: Sequence[int], limit: int) -> Draft:
        return run_together([self.drafting(text, limit)])[0]

    def drafting(self, text: Sequence[int], limit: int) -> Steps[Draft]:
        policy = self.mix.policy
        with self.clock.stopped():
            policy.lookahead = LONGEST  # the model shows how far it would get, whether or not that pays
            foreseen = yield from self.model.drafting(text, limit)
            policy.foresees(len(foreseen.tokens) - (foreseen.stop == "rule"))
            copied, accepted = self._copied(text, limit)
            taken = policy.takes([1.0] * accepted + [0.0] * (len(copied) - accepted))
        self._began = self.clock.now()
        if taken:
            draft = Draft(copied[:taken], None, self.mix.proposer.lookahead, "rule", "copied", 0)
        else:
            draft = yield from self.model.drafting(text, limit)  # the same again, on the clock
        self._drafted = self.clock.now()
        return draft

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        count, copied, took = len(draft.tokens), len(draft.tokens) - draft.passes, self.clock.now() - self._drafted
        drafting = self._drafted - self._began
        self.mix.policy.verified(
            Judgement(copied, count - copied, draft.passes, verdict.accepted, took, drafting),
        )

    def _copied(self, text: Sequence[int], limit: int) -> tuple[tuple[int, ...], int]:
        """Return what can be copied up to the first token that the target will refuse, and how much it accepts."""
        proposer, target = self.mix.proposer, self.target
        proposer.follow(text)
        tokens = usable(proposer.propose(), limit, self.end_tokens, self.dice.vocab)
        if not tokens:
            return (), 0
        need = len(tokens) + 1
        logits = target.extend(align(target, [*text, *tokens], need), need)
        accepted = self.dice.judge(logits, Draft(tokens, None, proposer.lookahead, "rule", "copied", 0)).accepted
        return tokens[: accepted + 1], accepted
