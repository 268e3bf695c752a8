"""State of the speculator in one sample: a model, dice, a policy, and the draft that is with the target."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from decoding.core.drafter import EMPTY, Draft
from decoding.dice import chance
from decoding.dice.dice import Dice
from decoding.disco.classifier import DraftClassifier
from decoding.disco.copies import judge_if_any
from decoding.disco.echoes import Echoes
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.models.runner import ModelRunner, read_prompt
from decoding.ssd.policy.planner import RANKS
from decoding.ssd.policy.ssd_policy import Plan, TokenPrices
from decoding.ssd.speculator.drawing import DraftedChain, Drawing, DrawnRows, Estimator

RECENT = 4  # last tokens of the text that identify a position for random tokens, with its length


@dataclass
class DraftRows:
    """Rows [1, V] after the text, after the draft's first token, and so on, as far as they are known."""

    known: list[DrawnRows] = field(default_factory=list)
    steps: Sequence[DrawnRows] = ()  # [B, V] each: more rows, not cut out of the tree's steps yet
    branch: int = 0  # row of the steps
    last: Tensor | None = None  # logits [1, V] after all tokens, if they are known and not among the rows
    best: list[tuple[list[int], list[float]]] = field(default_factory=list)  # per row: best tokens, their preferences

    def cut(self) -> list[DrawnRows]:
        """All known rows. Cutting them out of the steps can wait until the answer is sent."""
        self.known += [step.row(self.branch) for step in self.steps]
        self.steps = ()
        return self.known

    def find_best(self, count: int) -> None:
        new = self.cut()[len(self.best) :]
        if new:
            preferences = torch.cat([row.preferences for row in new])
            best = preferences.topk(min(count, preferences.shape[1]), -1)
            self.best += zip(best.indices.tolist(), best.values.tolist(), strict=True)


@dataclass
class CurrentDraft:
    """The draft that is with the target."""

    draft: Draft = EMPTY
    limit: int = 0  # the most tokens it could have
    chain: DraftedChain = field(default_factory=DraftedChain)
    rows: DraftRows = field(default_factory=DraftRows)
    unadopted: int | None = None  # the branch that it is of, while the model's cache does not go on with that branch


class _Verdict(NamedTuple):
    """A verdict from which nothing has been learnt yet."""

    current: CurrentDraft  # that was judged
    accepted: int
    fresh: list[int]  # the text that it added
    took_ns: int  # from the draft to the next question


class SpeculatorState:
    def __init__(
        self,
        runner: ModelRunner,
        dice: Dice,
        settings: SpeculatorSettings,
        end_tokens: Collection[int],
        classifier: DraftClassifier | None,
    ) -> None:
        self.runner = runner
        self.dice = dice
        self.end_tokens = end_tokens
        self.policy = plan_for(settings, dice.vocab, classifier).policy(end_tokens, dice.seed)
        # Where the dice fix the text, Saguaro sampling would only cost; a classifier's branches follow no list.
        constant = 1.0 if classifier or dice.sampling.fixes_the_text else settings.constant
        estimator = Estimator(classifier, self.policy.recalibration.corrected) if classifier else None
        price = self.policy.prices.waiting
        self.drawing = Drawing(dice, end_tokens, settings.lookahead, price, constant, estimator=estimator)
        self.text = self.policy.text  # the same list
        self._unlearnt: _Verdict | None = None

    def read(self, text: Sequence[int]) -> None:
        self.policy.read(text)
        self.dice.commit(text)
        if len(text) <= self.runner.context:  # otherwise it never drafts, and the target goes on alone
            read_prompt(self.runner, text)

    def room(self, limit: int, ahead: int = 0) -> int:
        """Room for a draft that begins so many tokens behind the text."""
        return self.policy.room(limit, self.runner.context - len(self.text) - ahead)

    def note_verdict(self, current: CurrentDraft, accepted: int, token: int, asked_at_ns: int | None) -> None:
        """Add what the verdict says to the text. The speculator learns from it when it has time, or must."""
        fresh = [*current.draft.tokens[:accepted], token]
        self.text += fresh
        self._unlearnt = _Verdict(current, accepted, fresh, self.policy.pace.elapsed_ns(asked_at_ns))

    def learn(self) -> None:
        """Learn from the last verdict. After a hit that can wait until the answer is sent."""
        if self._unlearnt is None:
            return
        verdict, self._unlearnt = self._unlearnt, None
        draft, fresh = verdict.current.draft, verdict.fresh
        self.policy.learn_round(draft, verdict.accepted, fresh, verdict.took_ns)
        self.policy.learn_outcome(draft, verdict.accepted, fresh[-1], verdict.current.chain.estimates)
        self.dice.commit(fresh)

    def echoes_along(self, tokens: Sequence[int]) -> list[Echoes]:
        """Echoes after the text, and after each of these tokens."""
        found = [self.policy.echoes.fork()]
        for token in tokens:
            found.append(found[-1].fork())
            found[-1].take(token)
        return found

    def find_best(self, current: CurrentDraft) -> None:
        """Find the best tokens of every known row: some more than are guessed, because some may be no guess."""
        current.rows.find_best(max(RANKS, self.policy.planner.most_guesses) + 1 + len(self.end_tokens))

    def estimate(self, current: CurrentDraft) -> None:
        """Ask the classifier about each token of a draft that has no estimates yet."""
        estimator, chain = self.drawing.estimator, current.chain
        if estimator is None or chain.chances or not chain.tokens:
            return
        self.learn()
        chain.echoes = self.policy.echoes.fork()
        preferences = itertools.chain((values for _, values in current.rows.best), itertools.repeat([]))
        for token, row, best in zip(chain.tokens, current.rows.cut(), preferences, strict=False):
            chain.note(*estimator.one(chain, row.scores, row.preferences, token, chain.echoes, best))
            chain.echoes.take(token)


def plan_for(settings: SpeculatorSettings, vocab: int, classifier: DraftClassifier | None = None) -> Plan:
    random = partial(_random_tokens, vocab=vocab)
    return Plan(settings, TokenPrices.of(classifier), random, judge_if_any(classifier))


def _random_tokens(seed: int, text: Sequence[int], count: int, vocab: int) -> list[int]:
    """Random tokens, the same at the same position of the same text. They use the draft's coins, as no verdict does."""
    position = chance.digest([len(text), *text[-RECENT:]])
    return [int(chance.uniform(seed, "draft", chance.digest([i], position)) * vocab) for i in range(count)]
