"""Drafter of a bound: it asks the target, with the clock stopped, which of two sources to draft from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from decoding.drafters.base import EMPTY, Draft, Drafter
from decoding.drafters.model import ModelDrafter
from decoding.models.runner import Steps, align, run_together
from decoding.proposing import Proposer, usable
from decoding.sources import Knowledge
from decoding.verify import Verdict

if TYPE_CHECKING:
    from decoding.registry import Parts


class BestSourceDrafter(Drafter):
    """Both sources keep the token that the target will refuse, as the oracle does. `model` must stop there."""

    def __init__(self, parts: Parts, model: ModelDrafter, proposer: Proposer, knowledge: Knowledge) -> None:
        self._parts, self._model, self._proposer, self._knowledge = parts, model, proposer, knowledge
        self._drafted = 0  # when the draft was complete

    def prepare(self, text: Sequence[int]) -> None:
        self._proposer.follow(text)
        self._model.prepare(text)

    def propose(self, text: Sequence[int], limit: int) -> Draft:
        return run_together([self.drafting(text, limit)])[0]

    def drafting(self, text: Sequence[int], limit: int) -> Steps[Draft]:
        clock = self._parts.clock
        with clock.stopped():
            copied, accepted = self._copied(text, limit)
            drafted = yield from self._model.drafting(text, limit)
            is_copied = self._speed(copied, accepted) > self._speed(drafted, _accepted(drafted))
        if is_copied:
            self._drafted = clock.now()
            return copied
        began = clock.now()
        drafted = yield from self._model.drafting(text, limit)  # the same again, on the clock
        self._drafted = clock.now()
        if drafted.passes:
            self._knowledge.note_passes(drafted.passes, self._drafted - began)
        return drafted

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        self._knowledge.verifications.add(len(draft.tokens) + 1, self._parts.clock.now() - self._drafted)

    def _copied(self, text: Sequence[int], limit: int) -> tuple[Draft, int]:
        """Return what can be copied up to the first token that the target will refuse, and how much it accepts."""
        parts, lookahead = self._parts, self._proposer.lookahead
        self._proposer.follow(text)
        tokens = usable(self._proposer.propose(), limit, parts.end_tokens, parts.dice.vocab)
        if not tokens:
            return EMPTY, 0
        need = len(tokens) + 1
        logits = parts.target.extend(align(parts.target, [*text, *tokens], need), need)
        accepted = parts.dice.judge(logits, Draft(tokens, None, lookahead, "rule", "copied", 0)).accepted
        return Draft(tokens[: accepted + 1], None, lookahead, "rule", "copied", 0), accepted

    def _speed(self, draft: Draft, accepted: int) -> float:
        """Tokens per time of a round with this draft."""
        took = self._knowledge.usual_time(len(draft.tokens) + 1, draft.passes)
        return (accepted + 1) / took if took else accepted + 1


def _accepted(draft: Draft) -> int:
    return len(draft.tokens) - (draft.stop == "rule")
