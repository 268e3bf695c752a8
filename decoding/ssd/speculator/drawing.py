"""From logits to drafted tokens, for one chain or for one token in each of several branches."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from decoding.costs import Costs
from decoding.dice import Dice, broken
from decoding.disco import features
from decoding.disco.classifier import Classifier
from decoding.disco.echoes import Echoes
from decoding.events import StopReason
from decoding.ssd.settings import Settings


@dataclass
class Chain:
    tokens: list[int] = field(default_factory=list)
    estimates: list[float] = field(default_factory=list)  # that each is accepted once all before it are; may be empty
    owns: list[float] = field(default_factory=list)  # the draft's own probability of each; empty with the estimates
    stop: StopReason | None = None
    echoes: Echoes = field(default_factory=Echoes)  # as the text stands after it; kept where a classifier asks

    @property
    def survival(self) -> float:
        """That all of it is accepted."""
        return math.prod(self.estimates)

    @property
    def previous(self) -> float:
        """The draft's own probability of the last token, as the classifier wants it."""
        return self.owns[-1] if self.owns else 1.0

    def cut(self, room: int, asked: int) -> Chain:
        """What there is room for. Without a reason to stop where it could go on."""
        return Chain(self.tokens[:room], self.estimates[:room], self.owns[:room], self.stop_in(room, asked))

    def stop_in(self, room: int, asked: int) -> StopReason | None:
        """Why it ends where there is room for so many tokens."""
        if len(self.tokens) < room or (len(self.tokens) == room and self.stop):
            return self.stop
        return "limit" if room == asked else "length"

    def note(self, estimate: float, own: float) -> None:
        """What is thought of the next token for which nothing has been noted."""
        self.estimates.append(estimate)
        self.owns.append(own)

    def take(self, token: int, end_tokens: Collection[int], least_survival: float, room: int, asked: int) -> None:
        """One token more; then perhaps a reason to stop. It stays in the draft whatever it is."""
        self.tokens.append(token)
        if token in end_tokens:
            self.stop = "eos"
        elif self.estimates and self.survival < least_survival:
            self.stop = "rule"
        elif len(self.tokens) == room:
            self.stop = "limit" if room == asked else "length"

    def shorten(self, least_survival: float) -> None:
        """Let go of what follows the first token with which survival has fallen below that, as `take` would have."""
        survivals = itertools.accumulate(self.estimates, operator.mul)
        kept = next((n for n, chance in enumerate(survivals, start=1) if chance < least_survival), len(self.tokens))
        if kept < len(self.tokens):
            self.stop = "rule"
            del self.tokens[kept:], self.estimates[kept:], self.owns[kept:]


@dataclass
class Branch(Chain):
    """The draft that would follow one outcome."""

    accepted: int = 0
    token: int = 0  # the target's
    ahead: list[int] = field(default_factory=list)  # the accepted part, the target's token, what was drafted since


def bend(scores: Tensor, constant: float, guesses: int) -> Tensor:
    """Scores [n, V] with each row's `guesses + 1` best tokens made less likely by the constant: one more than are
    cached, for the drafted token itself is not."""
    if constant == 1.0 or not guesses:
        return scores
    best = scores.topk(min(guesses + 1, scores.shape[-1]), -1)
    return scores.scatter(-1, best.indices, best.values + math.log(constant))


@dataclass(frozen=True)
class Estimator:
    classifier: Classifier

    def one(
        self, chain: Chain, scores: Tensor, liked: Tensor, token: int, echoes: Echoes, best: Sequence[float] = ()
    ) -> tuple[float, float]:
        """That this token is accepted, where the chain has estimates for all before it, and the draft's own
        probability of it; scores [1, V]. `best` are the two highest likings, where somebody has looked for them."""
        heard, in_round = echoes.of(token), (chain.previous, (len(chain.estimates) + 1) / features.POSITION_SCALE)
        if best and self.classifier.quick:
            static = features.quick_one(best[0], best[1], float(scores[0, token]), heard)
        else:
            static = features.describe_one(scores, liked, token, heard, quick=self.classifier.quick)
        return self.classifier.one([*static, *in_round]), static[features.OWN]


@dataclass(frozen=True)
class Drawn:
    """Rows [n, V] that tokens were drawn from, or may be guessed from."""

    scores: Tensor
    bent: Tensor  # the same, as far as the draft holds back: what a verdict must know
    liked: Tensor  # what the dice let the draft like by the scores

    def row(self, number: int) -> Drawn:
        return Drawn(*(rows[number : number + 1] for rows in (self.scores, self.bent, self.liked)))


@dataclass
class Drawing:
    dice: Dice
    end_tokens: Collection[int]
    lookahead: int
    constant: float = 1.0  # Saguaro sampling's
    guesses: Sequence[int] = ()  # by position: how many tokens the cache will hold instead of the one drafted there
    estimator: Estimator | None = None
    price_alone: float = 0.0  # a chain goes on while the chance that all of it is accepted is worth more: where the
    price_beside: float = 0.0  # target waits for it, and where it is drafted beside the target

    def rows(self, logits: Tensor, aheads: Sequence[Sequence[int]]) -> Drawn:
        """What the target may say after each context, and nothing is drawn."""
        scores = self.dice.scores(logits, aheads)
        return Drawn(scores, scores, self.dice.preferences(scores, aheads))

    def one(self, chain: Chain, logits: Tensor, room: int) -> Drawn:
        """Draw the chain's next token from logits [1, V]."""
        drawn, [token] = self._draw(logits, [chain.tokens], len(chain.tokens))
        if self.estimator:
            chain.note(*self.estimator.one(chain, drawn.bent, drawn.liked, token, chain.echoes))
            chain.echoes.take(token)
        chain.take(token, self.end_tokens, self.price_alone, room, self.lookahead)
        return drawn

    def each(self, branches: Sequence[Branch], logits: Tensor, room: int) -> Drawn:
        """The same for every branch, from logits [B, V]. One that has stopped is led on unseen. What the classifier
        thinks of a branch is asked once it has won: of all others nobody wants to know."""
        position = max(len(branch.tokens) for branch in branches)
        drawn, tokens = self._draw(logits, [branch.ahead for branch in branches], position)
        for branch, token in zip(branches, tokens, strict=True):
            branch.ahead.append(token)
            if branch.stop is None:
                branch.take(token, self.end_tokens, 0.0, room, self.lookahead)
        return drawn

    def _draw(self, logits: Tensor, aheads: Sequence[Sequence[int]], position: int) -> tuple[Drawn, list[int]]:
        scores = self.dice.scores(logits, aheads)
        guesses = self.guesses[position] if position < len(self.guesses) else 0
        bent = bend(scores, self.constant, guesses)
        liked = self.dice.preferences(bent, aheads)
        tokens: list[int] = self.dice.pick(liked, aheads).tolist()
        if min(tokens) < 0:
            raise broken()
        return Drawn(scores, bent, liked if bent is scores else self.dice.preferences(scores, aheads)), tokens


def drawing_for(
    dice: Dice, end_tokens: Collection[int], settings: Settings, classifier: Classifier | None = None
) -> Drawing:
    if classifier is None:
        # Where the dice fix the text a refusal leaves no excess to draw from, so holding back would only cost.
        constant = 1.0 if dice.sampling.fixes_the_text else settings.constant
        return Drawing(dice, end_tokens, settings.lookahead, constant)
    price = classifier.tuned("priced")
    return Drawing(
        dice,
        end_tokens,
        settings.lookahead,
        estimator=Estimator(classifier),
        price_alone=price,
        price_beside=price * share_of_a_row(classifier),
    )


def share_of_a_row(classifier: Classifier) -> float:
    """Of the price of one more token, what one more row to verify makes up: all that one costs that is drafted while
    the target verifies. Nothing where no costs were measured."""
    measured = classifier.card.get("costs")
    if not measured:
        return 0.0
    costs = Costs(**measured)
    return costs.row() / (costs.draft + costs.decision + costs.row())
