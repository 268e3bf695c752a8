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

    def one(self, chain: Chain, logits: Tensor, room: int) -> tuple[Tensor, Tensor]:
        """Draw the chain's next token from logits [1, V]. Returns the scores, and what it was drawn from."""
        scores, bent = self._scores(logits, [chain.tokens], len(chain.tokens))
        liked = self.dice.preferences(bent, [chain.tokens])
        token = int(self.dice.pick(liked, [chain.tokens]))
        if token < 0:
            raise broken()
        if self.estimator:
            chain.note(token, *self.estimator.one(chain, bent[0], liked[0], token))
        chain.take(token, self.end_tokens, self.price_alone, room, self.lookahead)
        return scores, bent

    def each(self, branches: Sequence[Branch], logits: Tensor, room: int) -> tuple[Tensor, Tensor]:
        """The same for every branch, from logits [B, V]. One that has stopped is led on unseen."""
        aheads = [branch.ahead for branch in branches]
        scores, bent = self._scores(logits, aheads, max(len(branch.tokens) for branch in branches))
        liked = self.dice.preferences(bent, aheads)
        ids = self.dice.pick(liked, aheads)
        tokens: list[int] = ids.tolist()
        if min(tokens) < 0:
            raise broken()
        said = self.estimator.rows(branches, bent, liked, ids, tokens) if self.estimator else None
        for row, (branch, token) in enumerate(zip(branches, tokens, strict=True)):
            branch.ahead.append(token)
            if branch.stop is None:
                if said:
                    branch.note(token, *said[row])
                branch.take(token, self.end_tokens, self.price_beside, room, self.lookahead)
        return scores, bent

    def estimate_next(self, chain: Chain, scores: Tensor, liked: Tensor) -> list[float]:
        """What the classifier thinks of the token that the chain would go on with; scores [V]. Empty without one."""
        if not self.estimator:
            return []
        return [self.estimator.one(chain, scores, liked, int(liked.argmax()))[0]]

    def _scores(self, logits: Tensor, aheads: Sequence[Sequence[int]], position: int) -> tuple[Tensor, Tensor]:
        scores = self.dice.scores(logits, aheads)
        guesses = self.guesses[position] if position < len(self.guesses) else 0
        return scores, bend(scores, self.constant, guesses)


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
