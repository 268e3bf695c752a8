"""Bound for the hybrid: it knows which source the target will accept for longer, and where it will refuse."""

from collections.abc import Sequence

from decoding.drafting.source import Asking, Copy, Foresee, Judgement, Source, View, until_refused
from decoding.drafting.strategy import LONGEST, Looks, Strategy
from decoding.strategies.hybrid import Knowledge
from decoding.strategies.suffix import SuffixDecoding


class KnowsBoth(Source):
    """Takes the source that brings more tokens per second. Both keep the token that the target will refuse, as the
    oracle does."""

    sees = "fate"
    copies = True
    weighs = True
    lookahead = LONGEST

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge, self.copier = knowledge, SuffixDecoding(0.0, LONGEST)

    def follow(self, text: Sequence[int]) -> None:
        self.copier.follow(text)

    def propose(self, view: View) -> Asking:
        self.follow(view.text)
        found = view.usable(self.copier.copied())
        run, agreed = yield Foresee(found)
        copy, tokens = found[: agreed + 1], min(LONGEST, run + 1)
        if self._speed(len(copy), 0, agreed) > self._speed(tokens, tokens, run):
            if copy:
                yield Copy(copy)
            return "rule"
        return (yield from until_refused(LONGEST))

    def judged(self, judgement: Judgement) -> None:
        know = self.knowledge
        know.verifications.add(judgement.tokens + 1, judgement.took)
        if judgement.passes:
            know.note_passes(judgement.passes, judgement.drafting)

    def _speed(self, drafted: int, passes: int, accepted: int) -> float:
        """Tokens per time of a round with such a draft."""
        took = self.knowledge.usual_time(drafted + 1, passes)
        return (accepted + 1) / took if took else accepted + 1


STRATEGY = Strategy(
    slug="best-source",
    title="Best source",
    summary="A bound, not a strategy: drafts from the source that brings more, and stops where the target will refuse.",
    role="bound",
    order=12,
    looks=Looks("◇", "M0,-9L9,0L0,9L-9,0ZM0,-5L-5,0L0,5L5,0Z", "#5a2018", "#ffcdb0"),
    source=lambda given: KnowsBoth(given.memory.setdefault("best-source", Knowledge())),
    grid=lambda: ({},),
)
