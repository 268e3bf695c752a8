"""Where branches go, from what verdicts have been like: by a fan-out, as published, or by the classifier's word for
each drafted token."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, Protocol

from decoding.ssd.policy import fanout
from decoding.ssd.policy.fanout import FanOut, Placed, Ranked, by_fanout, by_worth
from decoding.ssd.policy.pace import Judged
from decoding.ssd.settings import Settings

RANKS = 12  # places of the draft's list that are told apart
PRIOR_TOKENS = 24.0
PRIOR_POWER = 1.2
PRIOR_TAIL = [(rank + 1) ** -PRIOR_POWER - (rank + 2) ** -PRIOR_POWER for rank in range(RANKS)]

Case = Literal["refused", "bonus"]


class Outcomes:
    def __init__(self, acceptance: float) -> None:
        self._prior = acceptance
        self._judged: Counter[int] = Counter()  # position in the draft -> drafts judged there
        self._accepted: Counter[int] = Counter()
        self._ranks: dict[Case, Counter[int]] = {"refused": Counter(), "bonus": Counter()}

    def tell(self, drafted: int, accepted: int, rank: int | None) -> None:
        """A verdict; `rank` is RANKS or more for a token that stands lower than what is counted, None if unknown."""
        self.judged(drafted, accepted)
        if rank is not None:
            self.stood("bonus" if accepted == drafted else "refused", rank)

    def judged(self, drafted: int, accepted: int) -> None:
        self._judged.update(range(min(accepted + 1, drafted)))
        self._accepted.update(range(accepted))

    def stood(self, case: Case, rank: int) -> None:
        self._ranks[case][rank] += 1

    @property
    def acceptance(self) -> float:
        """Of a token, once all before it are accepted."""
        return (self._accepted.total() + PRIOR_TOKENS * self._prior) / (self._judged.total() + PRIOR_TOKENS)

    def chances(self, drafted: int) -> list[float]:
        """Of each accepted count. Each position has a rate of its own, as far as it has been counted."""
        pooled = self.acceptance
        return fanout.chances(
            [(self._accepted[i] + PRIOR_TOKENS * pooled) / (self._judged[i] + PRIOR_TOKENS) for i in range(drafted)]
        )

    def shares(self, case: Case) -> list[float]:
        """The probability of each rank."""
        counted = self._ranks[case]
        prior = self._prior_shares(case)
        total = counted.total() + PRIOR_TOKENS
        return [(counted[rank] + PRIOR_TOKENS * prior[rank]) / total for rank in range(RANKS)]

    def worth(self, drafted: int) -> list[list[float]]:
        """The probability of each accepted count with each rank."""
        *refused, whole = self.chances(drafted)
        shares = self.shares("refused")
        return [
            *([chance * share for share in shares] for chance in refused),
            [whole * share for share in self.shares("bonus")],
        ]

    @property
    def exponent(self) -> float:
        """The power by which misses fall with the number of guesses."""
        shares = self.shares("refused")
        return fanout.exponent(lambda count: 1.0 - sum(shares[:count]))

    def _prior_shares(self, case: Case) -> Sequence[float]:
        """After a whole acceptance the likeliest token is right as often as a drafted one; what is left, and all after
        a refusal, falls with the rank."""
        if case == "refused":
            return PRIOR_TAIL
        first = self.acceptance
        return [first, *((1 - first) * share for share in PRIOR_TAIL[:-1])]


PRIOR_ACCEPTANCE = {"neural": 0.8, "auto": 0.7, "ngram": 0.5, "random": 0.02}
PRIOR_ECHOES = {1: 0.1, 2: 0.25, 3: 0.45}  # by length of the context: that it is right where the draft is not


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

    def tell(self, draft: Judged, accepted: int, rank: int | None, echoed: int = 0) -> None:
        """A verdict, and where on the draft's own list the target's token stood, if that is known."""
        ...

    def place(self, draft: Judged, estimates: Sequence[float], ranked: Ranked, echoed: Sequence[int] = ()) -> Placed:
        """`echoed` says how long the context of each count's echo is, 0 where there is none. An echo stands first
        among the tokens that are guessed in place of the draft's favourite."""
        ...


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

    def tell(self, draft: Judged, accepted: int, rank: int | None, echoed: int = 0) -> None:
        self._outcomes(draft).tell(len(draft.tokens), accepted, rank)

    def place(self, draft: Judged, estimates: Sequence[float], ranked: Ranked, echoed: Sequence[int] = ()) -> Placed:
        outcomes, drafted = self._outcomes(draft), len(draft.tokens)
        return by_fanout(fanout.fitted(self._wanted(outcomes), drafted), ranked, outcomes.worth(drafted))

    def _outcomes(self, draft: Judged) -> Outcomes:
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
    """The likeliest outcomes of this very draft. The classifier says how likely each of its tokens is, and the one that
    would come next; in place of a refused one, what the text said here before is guessed first."""

    guesses: FanOut = ()  # they follow no list, so there is none to hold back from

    def __init__(self, settings: Settings) -> None:
        self.most = settings.branches
        self._outcomes = Outcomes(PRIOR_ACCEPTANCE["neural"])
        self._echoes = {length: [PRIOR_TOKENS * right, PRIOR_TOKENS] for length, right in PRIOR_ECHOES.items()}

    @property
    def acceptance(self) -> float:
        return self._outcomes.acceptance

    def tell(self, draft: Judged, accepted: int, rank: int | None, echoed: int = 0) -> None:
        is_whole = accepted == len(draft.tokens)
        self._outcomes.judged(len(draft.tokens), accepted)
        if rank is None or (is_whole and rank == 0):
            return
        place = rank - is_whole
        if echoed:
            self._echoes[echoed][0] += place == 0
            self._echoes[echoed][1] += 1
            place -= 1
        if place >= 0:
            self._outcomes.stood("refused", place)

    def place(self, draft: Judged, estimates: Sequence[float], ranked: Ranked, echoed: Sequence[int] = ()) -> Placed:
        """`estimates` has one more than the draft has tokens: that of the likeliest token after all of it."""
        *drafted, last = estimates
        tail = self._outcomes.shares("refused")
        shares = [self._instead(tail, length) for length in (echoed or [0] * len(estimates))]
        shares[-1] = [last, *((1.0 - last) * share for share in shares[-1])]
        chances = fanout.chances(drafted)
        worth = [[chance * share for share in row] for chance, row in zip(chances, shares, strict=True)]
        return by_worth(self.most, ranked, worth)

    def _instead(self, tail: Sequence[float], echoed: int) -> Sequence[float]:
        """The probability of each token that may come in place of the draft's favourite."""
        if not echoed:
            return tail
        right, known = self._echoes[echoed]
        return [right / known, *((1.0 - right / known) * share for share in tail)]


def planner_for(settings: Settings, by_estimates: bool) -> Planner:
    return ByEstimates(settings) if by_estimates else ByFanOut(settings)
