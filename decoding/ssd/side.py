"""What the draft's side of a sample goes by: a model, dice, the text, and what verdicts have taught so far."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import NamedTuple

import torch

from decoding.dice import Dice
from decoding.disco.classifier import Classifier
from decoding.disco.echoes import Echoes
from decoding.runner import ModelRunner, read_prompt
from decoding.ssd.backups import echoed
from decoding.ssd.drawing import drawing_for
from decoding.ssd.given import Given
from decoding.ssd.outcomes import RANKS
from decoding.ssd.pace import Pace
from decoding.ssd.planning import Planner, planner_for
from decoding.ssd.settings import Settings


class _Untaken(NamedTuple):
    """A verdict from which nothing has been learnt yet."""

    given: Given  # that was judged
    accepted: int
    fresh: list[int]  # what it brought
    passed: int  # ns from the draft to it


class Side:
    def __init__(
        self,
        runner: ModelRunner,
        dice: Dice,
        settings: Settings,
        end_tokens: Collection[int],
        classifier: Classifier | None,
    ) -> None:
        self.runner = runner
        self.dice = dice
        self.settings = settings
        self.end_tokens = end_tokens
        self.drawing = drawing_for(dice, end_tokens, settings, classifier)
        self.planner: Planner = planner_for(settings, by_estimates=classifier is not None)
        self.pace = Pace(settings.backup)
        self.echoes = Echoes()
        self.text: list[int] = []
        self._untaken: _Untaken | None = None

    def read(self, text: Sequence[int]) -> None:
        self.text = list(text)
        self._hear(text)
        if len(text) <= self.runner.context:  # otherwise it never drafts, and the target goes on alone
            read_prompt(self.runner, text)

    def room(self, limit: int, ahead: int = 0) -> int:
        """For a draft behind so many tokens more than the text has."""
        return min(limit, self.settings.lookahead, self.runner.context - len(self.text) - ahead)

    def judged(self, given: Given, accepted: int, token: int, asked: int | None) -> None:
        """A verdict. What it teaches is taken in when there is time, or when it is needed."""
        fresh = [*given.draft.tokens[:accepted], token]
        self.text += fresh
        self._untaken = _Untaken(given, accepted, fresh, self.pace.since_given(asked))

    def take_in(self) -> None:
        """What the last verdict teaches. After a hit that can wait until the answer is out."""
        if self._untaken is None:
            return
        verdict, self._untaken = self._untaken, None
        self.pace.judged(verdict.given.draft, verdict.accepted, verdict.passed)
        self._learn(verdict.given, verdict.accepted, verdict.fresh)
        self._hear(verdict.fresh)

    def heard(self, tokens: Sequence[int]) -> list[Echoes]:
        """Where the text has been before, after itself and after each of these tokens."""
        found = [self.echoes.fork()]
        for token in tokens:
            found.append(found[-1].fork())
            found[-1].take(token)
        return found

    def is_long(self, tokens: int) -> bool:
        """Whether asking the classifier how much of so many to verify is worth the target's wait, which is about that
        of a row: where all of the average draft are not worth a quarter of its last, so that several may be saved."""
        return self.planner.acceptance**tokens < self.drawing.price_beside / 4

    def use_of_a_step(self, depth: int) -> float:
        """In ns: what one more token in every branch of that depth saves. A branch that wins could draft it alone, and
        would where its worth is more."""
        return self.pace.use_of_a_token(self.planner.acceptance ** (depth + 1))

    def find_best(self, given: Given) -> None:
        """Of every row that is known, the tokens liked best: some more than are guessed, for some may not be."""
        new = given.look()[len(given.best) :]
        if new:
            liked = torch.cat([row.liked for row in new])
            most = max(RANKS, self.planner.most) + 1 + len(self.end_tokens)
            best = liked.topk(min(most, liked.shape[1]), -1)
            given.best += zip(best.indices.tolist(), best.values.tolist(), strict=True)

    def estimate(self, given: Given) -> None:
        """The classifier's word for each token of a draft that has none yet."""
        estimator, chain = self.drawing.estimator, given.chain
        if estimator is None or chain.estimates or not chain.tokens:
            return
        self.take_in()
        chain.echoes = self.echoes.fork()
        likings = itertools.chain((liking for _, liking in given.best), itertools.repeat([]))
        for token, row, best in zip(chain.tokens, given.look(), likings, strict=False):
            chain.note(*estimator.one(chain, row.scores, row.liked, token, chain.echoes, best))
            chain.echoes.take(token)

    def _hear(self, tokens: Sequence[int]) -> None:
        self.dice.commit(tokens)
        self.echoes.follow(self.text)

    def _learn(self, given: Given, accepted: int, fresh: Sequence[int]) -> None:
        draft, ranked, token = given.draft, given.ranked, fresh[-1]
        if self.settings.backup == "auto":
            self.pace.echoed(echoed(self.echoes, len(fresh)), fresh)
        if not draft.tokens:
            return
        rank = None
        if ranked:
            rank = ranked[accepted].index(token) if token in ranked[accepted] else RANKS
        self.planner.tell(draft, accepted, rank, given.echoed[accepted] if given.echoed else 0)
