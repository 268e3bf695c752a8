"""Every decision of SSD for one sample. Standard library only.

The policy sees tokens, estimates, prices, verdicts and times, never a model. The speculator drives it with models, the
simulator drives the same object with recordings and prices.

No model makes a copy, a random token or an n-gram draft after a miss, so they were not drawn from a known distribution.
A verdict judges each token as a certain proposal: q is 1. That is exact at every temperature, because no such draft
looks at what the target will say.
"""

from __future__ import annotations

import itertools
import operator
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from decoding.core.batch_state import BatchState
from decoding.disco.echoes import Echoes
from decoding.drafting.fan_outs import ChosenOutcomes, Guesses
from decoding.drafting.recalibration import Recalibration
from decoding.drafting.source import Judges, Thresholds
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.drafting.tree_shapes import RANKS
from decoding.prices.cost_model import CostModel
from decoding.ssd.policy.pace import JudgedDraft, Pace
from decoding.ssd.policy.planner import EstimatePlanner, FanOutPlanner
from decoding.ssd.policy.together import Experience, RowBudget
from decoding.strategies.suffix import SuffixDecoding
from decoding.trace.accounting import HIT, MODEL
from decoding.trace.events import Backup

SURE = 0.3  # least probability that all copied tokens are accepted
RandomTokens = Callable[[int, Sequence[int], int], Sequence[int]]  # seed, text, count -> tokens


class PricedClassifier(Thresholds, Protocol):
    @property
    def costs(self) -> Mapping[str, Any] | None: ...


@dataclass(frozen=True)
class TokenPrices:
    """Thresholds: a draft grows while the probability that all of it is accepted is at least the threshold."""

    waiting: float  # for a token that the target waits for
    beside: float  # for a token drafted while the target verifies: it costs only its row of the verification

    @classmethod
    def of(cls, classifier: PricedClassifier | None) -> TokenPrices | None:
        if classifier is None:
            return None
        waiting = classifier.tuned("priced")
        return cls(waiting, waiting * _row_share(classifier.costs))


@dataclass(frozen=True)
class Plan:
    """Settings of SSD. Every text gets a policy of its own, live or simulated."""

    settings: SpeculatorSettings
    token_prices: TokenPrices | None = None  # a classifier's: with them the planner follows its estimates (`ssd-disco`)
    random_tokens: RandomTokens | None = None
    judge: Judges | None = None  # estimates each copied token in place of the formula, if the backup copies


class SsdPolicy:
    def __init__(
        self,
        plan: Plan,
        end_tokens: Collection[int] = frozenset(),
        seed: int = 0,
        clock_ns: Callable[[], int] = time.perf_counter_ns,
        batch: BatchState | None = None,
        hides: bool = True,
        experience: Experience | None = None,
    ) -> None:
        """`seed` is that of the text's dice. `hides` says whether the draft prepares while the target verifies. The
        texts of a batch learn together how many branches pay, and which backup: from what they have in common, or from
        this experience."""
        settings = plan.settings
        self.lookahead = settings.lookahead
        self.has_estimates = plan.token_prices is not None
        self.prices = plan.token_prices or TokenPrices(0.0, 0.0)
        self.planner = EstimatePlanner(settings) if self.has_estimates else FanOutPlanner(settings)
        self.pace = Pace(clock_ns)
        self._batch = batch or BatchState()
        known = experience or self._batch.common(Experience)
        self.budget = RowBudget(settings.branches, hides, known.breadth)
        self.recalibration = Recalibration()  # of the classifier's estimates
        self.text: list[int] = []
        self.echoes = Echoes()
        self._end_tokens = end_tokens
        self._random_tokens = plan.random_tokens and partial(plan.random_tokens, seed)
        self._wanted = settings.backup
        self._misses = known.misses
        self._judge = plan.judge
        self._copier: SuffixDecoding | None = None
        self._guesses: Guesses = ()  # for the draft that the target verifies, once outcomes are chosen
        self._echo_lengths: Sequence[int] = ()

    def read(self, text: Sequence[int]) -> None:
        """Begin the sample with its prompt."""
        self.text[:] = text
        self.echoes = Echoes()
        self.echoes.follow(self.text)
        if self._wanted == "copy":  # it looks beyond the draft that the target verifies, to the next one
            self._copier = SuffixDecoding(SURE, 2 * self.lookahead + 1, self._judge)
            self._copier.follow(self.text)

    # The answer to a verdict ------------------------------------------------------------------------------------------

    def room(self, *limits: int) -> int:
        """The most tokens that a draft may have within these limits."""
        return min(self.lookahead, *limits)

    def is_final(self, depth: int, is_done: bool) -> bool:
        """Whether no branch of this depth would be made longer or shorter if it won."""
        return not self.is_long(depth) and (is_done or not self._average_grows(depth))

    def is_long(self, tokens: int) -> bool:
        """Whether a draft of so many tokens is long enough to ask the classifier how many of them to verify. Asking
        takes about as long as verifying a row. It pays if the last token of an average draft of this length brings less
        than 1/4 of what its row costs."""
        return self.has_estimates and self.planner.acceptance**tokens < self.prices.beside / 4

    def grows(self, tokens: int, survival: Callable[[], float]) -> bool:
        """Whether a draft of so many tokens is worth the target's wait for one more. `survival` estimates the chance
        that all of this draft is accepted; it is called only if the average draft of this length would grow."""
        return self._average_grows(tokens) and (not self.has_estimates or survival() >= self.prices.waiting)

    def note_drafting(self, tokens: int, took_ns: int) -> None:
        """Note the time of a draft for which the target waited."""
        self.budget.breadth.note_drafting(tokens, took_ns)
        self.pace.note_drafting(tokens, took_ns)

    def note_step(self, rows: int, took_ns: int) -> None:
        """Note the time of a step, in a pass with rows for so many branches of all texts."""
        self.budget.breadth.note_step(rows, took_ns)
        self.pace.note_step(took_ns)

    def after_a_miss(self, room: int) -> tuple[Backup, Sequence[int]]:
        """Choose the backup, and return its tokens. None if the model is to draft. Texts that are decoded together wait
        for one another's misses, so `auto` does as Theorem 17 says of so many."""
        backup = self._misses.choose(self._batch.running) if self._wanted == "auto" else self._wanted
        tokens = self.backup_tokens(backup, room)
        return (backup, tokens) if tokens else ("neural", ())

    def backup_tokens(self, backup: Backup, room: int) -> Sequence[int]:
        """The draft of a backup that needs no model, up to its first end token. Empty if the model is to draft."""
        tokens: Sequence[int] = ()
        if backup == "ngram":
            tokens = ngram_tokens(self.echoes, room)
        elif backup == "random" and self._random_tokens:
            tokens = self._random_tokens(self.text, room)
        elif backup == "copy" and self._copier:
            tokens = self._copier.copied()[:room]
        end = next((i for i, token in enumerate(tokens) if token in self._end_tokens), len(tokens))
        return tokens[: end + 1]

    def copied_chances(self, count: int) -> Sequence[float]:
        """Return how likely the copier finds it that each of the tokens that it proposed last is accepted."""
        return self._copier.estimates[:count] if self._copier else ()

    # The preparation --------------------------------------------------------------------------------------------------

    def guessable(self, candidates: Sequence[int], refused: int | None) -> list[int]:
        """Candidates that are worth a branch. The target never says the token that it refuses, and no draft follows an
        end token."""
        return [token for token in candidates if token != refused and token not in self._end_tokens]

    def put_echo_first(self, guesses: list[int], echo: int | None, drafted: int | None) -> bool:
        """Put the echo before all guesses but the draft's favourite. The favourite is the token drafted here, which is
        not among the guesses; after a whole acceptance (`drafted` is None) it is the first guess. Returns whether the
        echo was put there: not if it is the favourite, or an end token."""
        favourite = drafted if drafted is not None or not guesses else guesses[0]
        if not guesses or echo is None or echo == favourite or echo in self._end_tokens:
            return False
        if echo in guesses:
            guesses.remove(echo)
        guesses.insert(drafted is None, echo)
        return True

    def choose(
        self, draft: JudgedDraft, estimates: Sequence[float], guesses: Guesses, echo_lengths: Sequence[int] = ()
    ) -> ChosenOutcomes:
        """Choose the outcomes that get a branch. `guesses` has a list for each accepted count, likeliest first.
        `echo_lengths` has the length of the context of each list's echo, 0 for none."""
        self._guesses, self._echo_lengths = guesses, echo_lengths
        if self._copies_surely(len(draft.tokens)):
            return ChosenOutcomes()
        self.planner.branches = self.budget.asks(self.planner.most_guesses)
        return self.planner.choose(draft, estimates, guesses, echo_lengths)

    def _copies_surely(self, drafted: int) -> bool:
        """Whether a copy is expected to bring at least as many tokens after this verdict as a branch that hits."""
        if not self._copier:
            return False
        self._copier.copied()
        by_copy = itertools.islice(_survivals(self._copier.estimates), drafted + 1, drafted + 1 + self.lookahead)
        by_model = _survivals([self.planner.acceptance] * self.lookahead)
        return sum(by_copy) >= sum(by_model)

    def puts_off_step(self, drafted: int, depth: int, is_done: bool) -> bool:
        """Whether to wait for the verdict on a draft of so many tokens instead of taking one more step of branches of
        this depth. The first step is never put off: without it nothing can hit. Once the branches are done, a step only
        reads their last tokens, which saves no drafting."""
        if not depth:
            return False
        saved_ns = 0.0 if is_done else self.pace.saved_ns(self.planner.acceptance ** (depth + 1))
        return self.pace.would_delay(drafted, saved_ns)

    # What verdicts teach ----------------------------------------------------------------------------------------------

    def learn_outcome(self, draft: JudgedDraft, accepted: int, token: int, estimates: Sequence[float] = ()) -> None:
        """Learn how many tokens were accepted, and where the target's token stood among the guesses. `estimates` are
        the classifier's of the draft's tokens, as far as it was asked."""
        guesses, echo_lengths = self._guesses, self._echo_lengths
        self._guesses = self._echo_lengths = ()
        if not draft.tokens:
            return
        self.recalibration.learn(estimates[: len(draft.tokens)], accepted)
        rank = None
        if guesses:
            rank = guesses[accepted].index(token) if token in guesses[accepted] else RANKS
        self.planner.learn(draft, accepted, rank, echo_lengths[accepted] if echo_lengths else 0)

    def learn_round(self, draft: JudgedDraft, accepted: int, fresh: Sequence[int], took_ns: int) -> None:
        """Learn from the time of a round and from the text that it added, which is in `text` by now."""
        self.pace.note_round(draft, accepted, took_ns)
        answer = {"hit": HIT, "miss": draft.backup}.get(draft.origin)
        if answer:
            waited_ns = len(draft.tokens) * self.pace.token_ns if answer == MODEL else 0.0
            self._misses.note_round(answer, accepted + 1, took_ns, waited_ns)
        self.echoes.follow(self.text)
        if self._copier:
            self._copier.follow(self.text)

    def _average_grows(self, tokens: int) -> bool:
        price = self.prices.waiting if self.has_estimates else self.pace.token_price
        return self.planner.acceptance**tokens >= price


def worth_keeping(estimates: Iterable[float], price: float, count: int, after: int = 0) -> int:
    """Number of tokens to keep, at most `count`. The last one kept is the first with which the probability that all are
    accepted falls below the price. The first `after` tokens are kept in any case."""
    return next((n for n, chance in enumerate(_survivals(estimates), start=1) if n > after and chance < price), count)


def _survivals(estimates: Iterable[float]) -> Iterator[float]:
    """Probability after each token that all up to it are accepted."""
    return itertools.accumulate(estimates, operator.mul)


def ngram_tokens(echoes: Echoes, count: int) -> list[int]:
    """Draft by n-gram: the tokens that followed the text's last words before, by the longest context that is known.
    Fewer tokens if no context is known."""
    ahead = echoes.fork()
    found: list[int] = []
    while len(found) < count and (token := ahead.next()[0]) is not None:
        found.append(token)
        ahead.take(token)
    return found


def _row_share(costs: Mapping[str, Any] | None) -> float:
    """Share of a drafted token's cost that is its row of the verification. A token that is drafted while the target
    verifies costs only this share. 0 if no costs were measured."""
    if not costs:
        return 0.0
    measured = CostModel.from_dict(costs)
    return measured.row() / (measured.draft(1) + measured.decision + measured.row())
