"""Hybrid: at each position, draft from the source that brings the most tokens per second: a copy, the draft model, or a
copy and then the model. Nothing is set by hand: acceptance and prices are running estimates."""

from collections.abc import Callable, Sequence
from typing import Any

from decoding.sources import Knowledge
from decoding.strategies.suffix import SuffixDecoding
from decoding.strategy import LONGEST, Looks, Policy, Strategy

TRIAL = 4  # tokens that the model drafts to show what it is worth


class BestSource(Policy):
    """Takes a copy and lets the model draft after it, each for as long as one more token gains more than it costs.

    A round's value is the tokens that it is expected to add, less what its time would bring otherwise: the recent
    tokens per second times its seconds.
    """

    sees = "confidence"

    def __init__(self, knowledge: Knowledge, now: Callable[[], int]) -> None:
        self.knowledge, self._now = knowledge, now
        self.estimates: list[float] = []  # of the round's tokens, copied and drafted
        self._seen: list[float] = []  # the model's confidence in each of its tokens
        self._survival = 1.0
        self._is_trial = False
        self._since = 0  # when the model began its pass

    def choose(self, raw: Sequence[float]) -> int:
        """Return how many tokens of a copy to take, from what its proposer estimates of each, and set how many tokens
        the model may draft after them."""
        know = self.knowledge
        estimates = [know.copies.calibrated(each) for each in raw]
        taken, survival, gain = know.worth_copying(estimates)
        after, gain_after = know.worth_drafting(survival)
        instead, gain_instead = know.worth_drafting(1.0)
        if gain_instead > gain + gain_after:
            taken, survival, after = 0, 1.0, instead
        self._is_trial = know.should_try(after > 0)
        if self._is_trial:
            taken, survival, after = 0, 1.0, TRIAL
        self.lookahead = after
        self.estimates, self._seen, self._survival = estimates[:taken], [], survival
        return taken

    def begin(self, words: Callable[[], str]) -> None:
        self._since = self._now()

    def stops(self, seen: float) -> bool:
        know, now = self.knowledge, self._now()
        (know.later_pass if self._seen else know.first_pass).add(now - self._since)
        self._since = now
        self._seen.append(seen)
        self.estimates.append(know.confidences.calibrated(seen))
        self._survival *= self.estimates[-1]
        return not self._is_trial and not know.worth_another(self._survival)

    def learn(self, copied: int, accepted: int) -> None:
        """Learn about the model's tokens from a verdict, as far as it judged them."""
        for number, seen in enumerate(self._seen[: max(0, accepted + 1 - copied)], start=copied):
            self.knowledge.confidences.learn(seen, number < accepted)
            (self.knowledge.follows if number > copied else self.knowledge.first).add(number < accepted)


def _build(parts: Any) -> Any:
    from decoding.drafters.hybrid import HybridDrafter

    policy = BestSource(parts.memory.setdefault("hybrid", Knowledge()), parts.clock.now)
    return HybridDrafter(parts, parts.drafter(policy), SuffixDecoding(0.0, LONGEST), policy)


STRATEGY = Strategy(
    slug="hybrid",
    title="Hybrid",
    summary="Drafts from the source worth most at each position: a copy, the draft model, or one after the other.",
    role="ranked",
    order=12,
    looks=Looks("◩", "M-7,-7H7V7H-7ZM5,-5V5H-5Z", "#b0306a", "#e87aa8", 168),
    build=_build,
)
