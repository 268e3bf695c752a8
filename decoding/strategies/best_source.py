"""Bound for the hybrid: it knows which source the target will accept for longer, and where it will refuse."""

from collections.abc import Callable, Sequence
from typing import Any

from decoding.mixing import Judgement, Mix, Mixing
from decoding.sources import Knowledge
from decoding.strategies.suffix import SuffixDecoding
from decoding.strategy import LONGEST, Looks, Strategy


class KnowsBoth(Mixing):
    """Takes the source that brings more tokens per second. Both keep the token that the target will refuse, as the
    oracle does."""

    sees = "fate"

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge = knowledge
        self.lookahead, self._run = LONGEST, 0
        self.estimates = []

    def foresees(self, run: int) -> None:
        self._run = run

    def takes(self, estimates: Sequence[float]) -> int:
        accepted = round(sum(estimates))
        tokens = min(LONGEST, self._run + 1)
        is_copied = self._speed(len(estimates), 0, accepted) > self._speed(tokens, tokens, self._run)
        self.lookahead = 0 if is_copied else LONGEST
        return len(estimates) if is_copied else 0

    def stops(self, seen: float) -> bool:
        return not seen

    def verified(self, judgement: Judgement) -> None:
        know = self.knowledge
        know.verifications.add(judgement.copied + judgement.drafted + 1, judgement.took)
        if judgement.passes:
            know.note_passes(judgement.passes, judgement.drafting)

    def _speed(self, drafted: int, passes: int, accepted: int) -> float:
        """Tokens per time of a round with such a draft."""
        took = self.knowledge.usual_time(drafted + 1, passes)
        return (accepted + 1) / took if took else accepted + 1


def _mixes(memory: dict[str, Any], now: Callable[[], int]) -> Mix:
    return Mix(SuffixDecoding(0.0, LONGEST), KnowsBoth(memory.setdefault("best-source", Knowledge())))


STRATEGY = Strategy(
    slug="best-source",
    title="Best source",
    summary="A bound, not a strategy: drafts from the source that brings more, and stops where the target will refuse.",
    role="bound",
    order=12,
    looks=Looks("◇", "M0,-9L9,0L0,9L-9,0ZM0,-5L-5,0L0,5L5,0Z", "#5a2018", "#ffcdb0"),
    mixes=_mixes,
    grid=lambda: ({},),
)
