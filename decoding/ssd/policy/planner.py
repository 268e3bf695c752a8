"""Planners choose the outcomes to prepare for: by a fan-out, as published, or by the classifier's estimates.

Both learn from verdicts: how many tokens are accepted, and how high on the draft's own list the target's token stands.
Both add what they count to a prior, so that the first rounds have probabilities too. The prior is weak: it weighs as
much as 24 tokens. Its ranks are `tree_shapes.PRIOR`, as for trees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from decoding.drafting import fan_outs as fanout
from decoding.drafting.fan_outs import ChosenOutcomes, FanOut, Guesses, by_fanout, by_probability
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.drafting.tree_shapes import PRIOR, RANKS
from decoding.ssd.policy.pace import JudgedDraft
from decoding.trace.theory import FITTED, power_law

PRIOR_TOKENS = 24.0
PRIOR_ACCEPTANCE = {
    "neural": 0.8,
    "auto": 0.7,
    "ngram": 0.5,
    "random": 0.02,
    "copy": 0.6,
}
PRIOR_ECHOES = {1: 0.1, 2: 0.25, 3: 0.45}  # by length of the context: probability that the echo is the target's token

Case = Literal["refused", "bonus"]


class OutcomeCounts:
    """Counts of accepted tokens and of ranks, over the verdicts of one sample."""

    def __init__(self, acceptance: float) -> None:
        self._prior = acceptance
        self._judged: Counter[int] = Counter()  # position in the draft -> tokens judged there
        self._accepted: Counter[int] = Counter()
        self.acceptance = acceptance  # probability that a token is accepted once all before it are
        self._ranks: dict[Case, Counter[int]] = {"refused": Counter(), "bonus": Counter()}

    def add_accepted(self, drafted: int, accepted: int) -> None:
        self._judged.update(range(min(accepted + 1, drafted)))
        self._accepted.update(range(accepted))
        tokens = self._accepted.total() + PRIOR_TOKENS * self._prior
        self.acceptance = tokens / (self._judged.total() + PRIOR_TOKENS)

    def add_rank(self, case: Case, rank: int) -> None:
        """Count a rank. One of RANKS or more has no count of its own."""
        self._ranks[case][rank] += 1

    def count_probabilities(self, drafted: int) -> list[float]:
        """Probability of each accepted count. Each position has a rate of its own, as far as it has been counted."""
        pooled = self.acceptance
        return fanout.count_probabilities(
            [(self._accepted[i] + PRIOR_TOKENS * pooled) / (self._judged[i] + PRIOR_TOKENS) for i in range(drafted)]
        )

    def rank_probabilities(self, case: Case) -> list[float]:
        counted = self._ranks[case]
        prior = self._rank_prior(case)
        total = counted.total() + PRIOR_TOKENS
        return [(counted[rank] + PRIOR_TOKENS * prior[rank]) / total for rank in range(RANKS)]

    def probabilities(self, drafted: int) -> list[list[float]]:
        """Probability of each accepted count together with each rank."""
        *refused, whole = self.count_probabilities(drafted)
        ranks = self.rank_probabilities("refused")
        return [
            *([count * rank for rank in ranks] for count in refused),
            [whole * rank for rank in self.rank_probabilities("bonus")],
        ]

    @property
    def exponent(self) -> float:
        """The power by which misses fall with the number of guesses."""
        ranks = self.rank_probabilities("refused")
        return power_law({count: max(1e-6, 1.0 - sum(ranks[:count])) for count in FITTED}).exponent

    def _rank_prior(self, case: Case) -> Sequence[float]:
        """Prior probability of each rank. After a whole acceptance the first guess is right as often as a drafted token
        is accepted. All other probabilities fall with the rank, as in PRIOR."""
        if case == "refused":
            return PRIOR
        first = self.acceptance
        return [first, *((1 - first) * share for share in PRIOR[:-1])]


class FanOutPlanner:
    """Follows a fan-out. Counts rounds after a hit and after a miss separately: after a miss the text is often hard, or
    a poor backup drafted."""

    def __init__(self, settings: SpeculatorSettings) -> None:
        self.most_guesses = settings.most_branches  # for one accepted count
        self.branches = settings.most_branches  # outcomes to choose
        self._settings = settings
        self._explicit = fanout.read(settings.fanout, settings.lookahead, settings.branches)
        self._after_hit = OutcomeCounts(PRIOR_ACCEPTANCE["neural"])
        self._after_miss = OutcomeCounts(PRIOR_ACCEPTANCE[settings.backup])

    @property
    def guesses_by_position(self) -> FanOut:
        """Number of tokens that are guessed at each position, besides the drafted one."""
        return self._fanout(self._after_hit, self.most_guesses)

    @property
    def acceptance(self) -> float:
        """Probability that a token of the draft model is accepted once all before it are."""
        return self._after_hit.acceptance

    def learn(self, draft: JudgedDraft, accepted: int, rank: int | None, echo_length: int = 0) -> None:
        """Count a verdict, and the rank of the target's token on the draft's own list, if it is known."""
        counts, drafted = self._counts(draft), len(draft.tokens)
        counts.add_accepted(drafted, accepted)
        if rank is not None:
            counts.add_rank("bonus" if accepted == drafted else "refused", rank)

    def choose(
        self, draft: JudgedDraft, estimates: Sequence[float], guesses: Guesses, echo_lengths: Sequence[int] = ()
    ) -> ChosenOutcomes:
        """Choose outcomes. `echo_lengths` has the length of each count's echo, 0 for none. An echo stands first among
        the tokens that are guessed in place of the draft's favourite."""
        counts, drafted = self._counts(draft), len(draft.tokens)
        fan = fanout.fitted(self._fanout(counts, self.branches), drafted)
        return by_fanout(fan, guesses, counts.probabilities(drafted))

    def _counts(self, draft: JudgedDraft) -> OutcomeCounts:
        return self._after_miss if draft.origin == "miss" else self._after_hit

    def _fanout(self, counts: OutcomeCounts, branches: int) -> FanOut:
        if self._explicit:
            return self._explicit[counts is self._after_miss]
        lookahead = self._settings.lookahead
        match self._settings.fanout:
            case "uniform":
                return fanout.uniform(lookahead, branches)
            case "geometric":
                return fanout.geometric(lookahead, branches, counts.acceptance, counts.exponent)
            case _:
                return fanout.measured(counts.probabilities(lookahead), branches)


class EstimatePlanner:
    """Chooses the likeliest outcomes of this very draft. The classifier estimates each drafted token and the one that
    would come next. In place of a refused token, the echo is guessed first."""

    guesses_by_position: FanOut = ()  # empty: it has no fixed number of guesses for each position

    def __init__(self, settings: SpeculatorSettings) -> None:
        self.most_guesses = self.branches = settings.most_branches
        self._counts = OutcomeCounts(PRIOR_ACCEPTANCE["neural"])
        self._echoes = {length: [PRIOR_TOKENS * right, PRIOR_TOKENS] for length, right in PRIOR_ECHOES.items()}

    @property
    def acceptance(self) -> float:
        return self._counts.acceptance

    def learn(self, draft: JudgedDraft, accepted: int, rank: int | None, echo_length: int = 0) -> None:
        if draft.backup == "copy":  # it tells nothing about the draft model
            return
        is_whole = accepted == len(draft.tokens)
        self._counts.add_accepted(len(draft.tokens), accepted)
        if rank is None or (is_whole and rank == 0):
            return
        rank -= is_whole
        if echo_length:
            self._echoes[echo_length][0] += rank == 0
            self._echoes[echo_length][1] += 1
            rank -= 1
        if rank >= 0:
            self._counts.add_rank("refused", rank)

    def choose(
        self, draft: JudgedDraft, estimates: Sequence[float], guesses: Guesses, echo_lengths: Sequence[int] = ()
    ) -> ChosenOutcomes:
        """Choose the likeliest outcomes. The last of the `estimates` is that of the likeliest token after the draft."""
        *drafted, last = estimates
        tail = self._counts.rank_probabilities("refused")
        ranks = [self._with_echo(tail, length) for length in (echo_lengths or [0] * len(estimates))]
        ranks[-1] = [last, *((1.0 - last) * rank for rank in ranks[-1])]
        counts = fanout.count_probabilities(drafted)
        probabilities = [[count * rank for rank in row] for count, row in zip(counts, ranks, strict=True)]
        return by_probability(self.branches, guesses, probabilities)

    def _with_echo(self, tail: Sequence[float], echo_length: int) -> Sequence[float]:
        """Probability of each token that may come in place of the draft's favourite."""
        if not echo_length:
            return tail
        right, known = self._echoes[echo_length]
        return [right / known, *((1.0 - right / known) * rank for rank in tail)]
