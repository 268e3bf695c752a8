"""From logits to drafted tokens, for one chain or for one token in each of several branches."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from torch import Tensor

from decoding.costs import Costs
from decoding.dice import Dice, broken
from decoding.disco.classifier import Classifier
from decoding.ssd.chain import Branch, Chain
from decoding.ssd.estimating import Estimator
from decoding.ssd.saguaro import bend
from decoding.ssd.settings import Settings


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
