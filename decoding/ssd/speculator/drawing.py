"""From logits to drafted tokens, for one chain or for one token in each of several branches."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from decoding.dice.dice import Dice, broken
from decoding.dice.verify import EMPTY, Draft
from decoding.disco import features
from decoding.disco.classifier import DraftClassifier
from decoding.disco.estimating import fully
from decoding.ssd.policy.ssd_policy import worth_keeping
from decoding.trace.events import StopReason


@dataclass
class DraftedChain:
    """Tokens drafted one after another, until something stops them."""

    tokens: list[int] = field(default_factory=list)
    estimates: list[float] = field(default_factory=list)  # that each is accepted once all before it are; may be empty
    chances: list[float] = field(default_factory=list)  # estimates, corrected by this text's verdicts; or a copier's
    stop: StopReason | None = None

    @property
    def survival(self) -> float:
        """Estimated chance that all tokens are accepted."""
        return math.prod(self.chances)

    def cut(self, room: int, lookahead: int) -> DraftedChain:
        """A copy with at most `room` tokens. It has no stop reason if it could go on."""
        stop = self.stop_in(room, lookahead)
        return DraftedChain(self.tokens[:room], self.estimates[:room], self.chances[:room], stop)

    def stop_in(self, room: int, lookahead: int) -> StopReason | None:
        """Why the chain ends if there is room for so many tokens."""
        if len(self.tokens) < room or (len(self.tokens) == room and self.stop):
            return self.stop
        return "limit" if room == lookahead else "length"

    def note(self, estimate: float, chance: float) -> None:
        """Add the estimate of the first token that has none."""
        self.estimates.append(estimate)
        self.chances.append(chance)

    def take(self, token: int, end_tokens: Collection[int], price: float, room: int, lookahead: int) -> None:
        """Add a token, then perhaps a reason to stop. The token stays in the draft whatever it is."""
        self.tokens.append(token)
        if token in end_tokens:
            self.stop = "eos"
        elif self.estimates and self.survival < price:
            self.stop = "rule"
        elif len(self.tokens) == room:
            self.stop = "limit" if room == lookahead else "length"

    def shorten(self, price: float) -> None:
        """Drop the tokens that `take` would not have drafted at this price."""
        kept = worth_keeping(self.chances, price, len(self.tokens))
        if kept < len(self.tokens):
            self.stop = "rule"
            del self.tokens[kept:], self.estimates[kept:], self.chances[kept:]


@dataclass
class Branch(DraftedChain):
    """The draft that would follow one outcome."""

    accepted: int = 0
    token: int = 0  # the target's
    ahead: list[int] = field(default_factory=list)  # accepted tokens, the target's token, tokens drafted since


def bend(scores: Tensor, constant: float, guesses: int) -> Tensor:
    """Saguaro sampling: multiply the probability of the `guesses + 1` best tokens of each row [n, V] by the constant.

    Under ratio dice a refusal is answered from what the target's distribution has in excess of the draft's. Branches
    are opened for the draft's favourites, which have little excess. A constant below 1 makes room for it. Verdicts go
    by the same bent distribution, so the text stays the target's. One token more is bent than is guessed, because the
    drafted token gets no branch. Where the dice fix the text there is no excess (docs/decisions/0021)."""
    if constant == 1.0 or not guesses:
        return scores
    best = scores.topk(min(guesses + 1, scores.shape[-1]), -1)
    return scores.scatter(-1, best.indices, best.values + math.log(constant))


@dataclass(frozen=True)
class Estimator:
    """Asks the classifier about drafted tokens."""

    classifier: DraftClassifier
    corrected: Callable[[float], float]  # the policy's correction of an estimate

    def one(
        self,
        chain: DraftedChain,
        scores: Tensor,
        preferences: Tensor,
        token: int,
        best: Sequence[float] = (),
    ) -> tuple[float, float]:
        """Estimate that this token is accepted. Return the estimate and its correction; rows are [1, V]. All tokens of
        the chain have chances. `best` are the two highest preferences, if they are known."""
        ahead = len(chain.chances)
        if not self.classifier.glances:
            estimate = fully(self.classifier, scores, preferences, token, ahead)
        elif best:
            estimate = self.classifier.quickly(features.lead_of(best[0], best[1]), float(scores[0, token]), ahead)
        else:
            estimate = self.classifier.quickly(*features.glance(scores, preferences, token), ahead)
        return estimate, self.corrected(estimate)


@dataclass(frozen=True)
class DrawnRows:
    """Rows [n, V] from which tokens were drawn, or may be guessed."""

    scores: Tensor
    bent: Tensor  # scores after Saguaro sampling: a verdict needs them
    preferences: Tensor  # what the dice make of the scores

    def row(self, number: int) -> DrawnRows:
        return DrawnRows(*(rows[number : number + 1] for rows in (self.scores, self.bent, self.preferences)))


@dataclass
class CurrentDraft:
    """The draft that is with the target, and rows [1, V] after the text, after the draft's first token, and so on."""

    draft: Draft = EMPTY
    limit: int = 0  # the most tokens it could have
    chain: DraftedChain = field(default_factory=DraftedChain)
    rows: list[DrawnRows] = field(default_factory=list)  # as far as they are known
    branch: int | None = None  # the branch that it is of, while the model's cache does not go on with that branch
    last: Tensor | None = None  # logits [1, V] after all tokens, if they are known and not among the rows
    best: list[tuple[list[int], list[float]]] = field(default_factory=list)  # per row: best tokens, their preferences

    def bent(self) -> Tensor | None:
        """Rows that the tokens were drawn from; None if no model drew them."""
        rows = self.rows[: len(self.chain.tokens)]
        return torch.cat([row.bent for row in rows]) if rows else None

    def find_best(self, count: int) -> None:
        """Find the best tokens of every known row."""
        new = self.rows[len(self.best) :]
        if new:
            preferences = torch.cat([row.preferences for row in new])
            best = preferences.topk(min(count, preferences.shape[1]), -1)
            self.best += zip(best.indices.tolist(), best.values.tolist(), strict=True)


@dataclass
class Drawing:
    dice: Dice
    end_tokens: Collection[int]
    lookahead: int
    price_alone: float = 0.0  # of `TokenPrices`
    constant: float = 1.0  # of Saguaro sampling
    guesses: Sequence[int] = ()  # by position: how many tokens besides the drafted one are guessed there
    estimator: Estimator | None = None

    def rows(self, logits: Tensor, aheads: Sequence[Sequence[int]]) -> DrawnRows:
        """Rows after each context, from which nothing is drawn."""
        scores = self.dice.scores(logits, aheads)
        return DrawnRows(scores, scores, self.dice.preferences(scores, aheads))

    def one(self, chain: DraftedChain, logits: Tensor, room: int) -> DrawnRows:
        """Draw the chain's next token from logits [1, V]."""
        drawn, [token] = self._draw(logits, [chain.tokens], len(chain.tokens))
        if self.estimator:
            chain.note(*self.estimator.one(chain, drawn.bent, drawn.preferences, token))
        chain.take(token, self.end_tokens, self.price_alone, room, self.lookahead)
        return drawn

    def each(self, branches: Sequence[Branch], logits: Tensor, room: int) -> DrawnRows:
        """Draw the next token of every branch from logits [B, V]. A branch that has stopped goes on unseen. The
        classifier is asked about a branch only once it has won."""
        position = max(len(branch.tokens) for branch in branches)
        drawn, tokens = self._draw(logits, [branch.ahead for branch in branches], position)
        for branch, token in zip(branches, tokens, strict=True):
            branch.ahead.append(token)
            if branch.stop is None:
                branch.take(token, self.end_tokens, 0.0, room, self.lookahead)
        return drawn

    def _draw(self, logits: Tensor, aheads: Sequence[Sequence[int]], position: int) -> tuple[DrawnRows, list[int]]:
        chosen = self.dice.choose(logits, aheads)
        guesses = self.guesses[position] if position < len(self.guesses) else 0
        bent = bend(chosen.scores, self.constant, guesses)
        ids = chosen.ids if bent is chosen.scores else self.dice.draw(bent, aheads)
        tokens: list[int] = ids.tolist()
        if min(tokens) < 0:
            raise broken()
        return DrawnRows(chosen.scores, bent, chosen.preferences), tokens
