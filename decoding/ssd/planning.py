"""Where branches go, from what verdicts have been like: by a fan-out, as published, or by the classifier's word for
each drafted token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from decoding.drafting import Draft
from decoding.ssd import fanout
from decoding.ssd.fanout import FanOut
from decoding.ssd.outcomes import Outcomes
from decoding.ssd.placing import Placed, Ranked, by_fanout, by_worth
from decoding.ssd.settings import Settings

PRIOR_ACCEPTANCE = {"neural": 0.7, "auto": 0.6, "ngram": 0.4, "random": 0.02}


class Planner(Protocol):
    most: int  # that may be guessed for one accepted count

    @property
    def guesses(self) -> Sequence[int]:
        """By position: how many tokens besides the drafted one will be guessed there."""
        ...

    @property
    def acceptance(self) -> float:
        """Of a token that the model drafted, once all before it are."""
        ...

    def tell(self, draft: Draft, accepted: int, rank: int | None) -> None:
        """A verdict, and where on the draft's own list the target's token stood, if that is known."""
        ...

    def place(self, draft: Draft, estimates: Sequence[float], ranked: Ranked) -> Placed: ...


class ByFanOut:
    """Counts after a hit and after a miss apart: a miss comes where the text is hard, or from a poor backup."""

    def __init__(self, settings: Settings) -> None:
        self.most = settings.branches
        self._settings = settings
        self._explicit = fanout.read(settings.fanout, settings.lookahead, settings.branches)
        self._after_hit = Outcomes(PRIOR_ACCEPTANCE["neural"])
        self._after_miss = Outcomes(PRIOR_ACCEPTANCE[settings.backup])

    @property
    def guesses(self) -> FanOut:
        return self._wanted(self._after_hit)

    @property
    def acceptance(self) -> float:
        return self._after_hit.acceptance

    def tell(self, draft: Draft, accepted: int, rank: int | None) -> None:
        self._outcomes(draft).tell(len(draft.tokens), accepted, rank)

    def place(self, draft: Draft, estimates: Sequence[float], ranked: Ranked) -> Placed:
        outcomes, drafted = self._outcomes(draft), len(draft.tokens)
        return by_fanout(fanout.fitted(self._wanted(outcomes), drafted), ranked, outcomes.worth(drafted))

    def _outcomes(self, draft: Draft) -> Outcomes:
        return self._after_miss if draft.source == "miss" else self._after_hit

    def _wanted(self, outcomes: Outcomes) -> FanOut:
        if self._explicit:
            return self._explicit[outcomes is self._after_miss]
        lookahead, branches = self._settings.lookahead, self._settings.branches
        match self._settings.fanout:
            case "uniform":
                return fanout.uniform(lookahead, branches)
            case "geometric":
                return fanout.geometric(lookahead, branches, outcomes.acceptance, outcomes.exponent)
            case _:
                return fanout.measured(outcomes.worth(lookahead), branches)


class ByEstimates:
    """The likeliest outcomes of this very draft."""

    guesses: FanOut = ()  # they follow no list, so there is none to hold back from

    def __init__(self, settings: Settings) -> None:
        self.most = settings.branches
        self._outcomes = Outcomes(PRIOR_ACCEPTANCE["neural"])

    @property
    def acceptance(self) -> float:
        return self._outcomes.acceptance

    def tell(self, draft: Draft, accepted: int, rank: int | None) -> None:
        self._outcomes.tell(len(draft.tokens), accepted, rank)

    def place(self, draft: Draft, estimates: Sequence[float], ranked: Ranked) -> Placed:
        """`estimates` has one more than the draft has tokens: that of the likeliest token after all of it."""
        *drafted, last = estimates
        chances = fanout.chances(drafted)
        tail = self._outcomes.shares("refused")
        shares = [*([tail] * len(drafted)), [last, *((1.0 - last) * share for share in tail)]]
        worth = [[chance * share for share in row] for chance, row in zip(chances, shares, strict=True)]
        return by_worth(self.most, ranked, worth)


def planner_for(settings: Settings, by_estimates: bool) -> Planner:
    return ByEstimates(settings) if by_estimates else ByFanOut(settings)
