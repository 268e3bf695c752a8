"""The draft's side of one sample: answer the verdict first, then prepare drafts for the outcomes that may come next.

Whoever drives it decides how long it may prepare: in turn, until nothing is worth more; beside the target, until the
next verdict is there. It sees nothing of the target but verdicts.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from decoding.dice import Dice
from decoding.drafting import EMPTY, Draft, ModelDrafter, read_prompt
from decoding.events import Source, StopReason
from decoding.runner import ModelRunner, align
from decoding.ssd import fanout
from decoding.ssd.settings import Settings
from decoding.ssd.tree import Tree
from decoding.stopping import FixedLength


@dataclass(frozen=True)
class Prepared:
    """What was prepared since the last answer. Times are `time.perf_counter_ns()`, which all processes share."""

    branches: tuple[tuple[int, int, int], ...] = ()  # (accepted count, the target's token, depth reached)
    predicted_hit: float = 0.0
    fanout: tuple[int, ...] = ()  # entry k: how many branches for k accepted
    passes: int = 0
    busy_ns: int = 0
    start_ns: int = 0
    end_ns: int = 0
    idle_ns: int = 0  # from then until now


class Speculator:
    def __init__(
        self, runner: ModelRunner, dice: Dice, settings: Settings, end_tokens: Collection[int] = frozenset()
    ) -> None:
        """`dice` are its own: it commits to them what the verdicts say."""
        self.runner = runner
        self.dice = dice
        self.settings = settings
        self.end_tokens = end_tokens
        self._drafter = ModelDrafter(runner, FixedLength(settings.lookahead), dice, end_tokens)
        self._text: list[int] = []
        self._limit = 0  # the most tokens that the last draft could have
        self._draft = EMPTY  # the last one given
        self._seen: Tensor | None = None  # [n, V], the draft's rows that the model has computed
        self._winner: int | None = None  # the row that the last answer came from, until it is adopted
        self._tree: Tree | None = None
        self._is_committed = True
        self._prepared = Prepared()

    def read(self, text: Sequence[int]) -> None:
        """Read the prompt, so that `begin` starts warm."""
        self._text = list(text)
        self.dice.commit(text)
        if len(text) <= self.runner.context:  # otherwise it never drafts, and the target goes on alone
            read_prompt(self.runner, text)

    def begin(self, text: Sequence[int], limit: int) -> Draft:
        """The first draft. Reads the prompt if `read` has not."""
        if self._text != list(text):
            self.read(text)
        return self._give(self._drafted_now(limit, "fresh"), limit)

    def answer(self, accepted: int, token: int, limit: int) -> Draft:
        """The verdict on the last draft; returns the next one, of at most `limit` tokens."""
        row = self._tree.find(accepted, token) if self._tree else None
        fresh = [*self._draft.tokens[:accepted], token]
        self._text += fresh
        self.dice.commit(fresh)
        room = min(limit, self.runner.context - len(self._text))
        if row is None or room <= 0:
            self._tree = None
            return self._give(self._drafted_now(limit, "miss"), limit)
        self._winner = row
        return self._give(self._prepared_before(row, room), limit)

    def step(self) -> bool:
        """One step of preparing. False when nothing is worth preparing any more."""
        began = time.perf_counter_ns()
        if not self._is_committed:
            self._commit()
        elif self._tree and not self._tree.is_done:
            self._tree.step(self.end_tokens)
        else:
            return False
        ended = time.perf_counter_ns()
        before = self._prepared
        self._prepared = dataclasses.replace(
            before,
            passes=before.passes + 1,
            busy_ns=before.busy_ns + ended - began,
            start_ns=before.start_ns or began,
            end_ns=ended,
        )
        return True

    def prepared(self) -> Prepared:
        """What has been prepared since the last answer."""
        found = self._prepared
        if not found.passes:
            return found
        branches = self._tree.branches if self._tree else ()
        return dataclasses.replace(
            found,
            branches=tuple((b.accepted, b.token, len(b.tokens)) for b in branches if b.tokens),
            idle_ns=time.perf_counter_ns() - found.end_ns,
        )

    def _give(self, draft: Draft, limit: int) -> Draft:
        self._draft, self._limit = draft, limit
        self._prepared = Prepared()
        self._is_committed = not draft.tokens  # nothing follows an empty draft that could be prepared
        return draft

    def _drafted_now(self, limit: int, source: Source) -> Draft:
        draft = self._drafter.propose(self._text, limit)
        self._seen = draft.scores
        return dataclasses.replace(draft, source=source) if draft.tokens else EMPTY

    def _prepared_before(self, row: int, room: int) -> Draft:
        assert self._tree is not None
        branch, asked = self._tree.branches[row], self.settings.lookahead
        count = min(len(branch.tokens), room)
        self._seen = self._tree.rows(row, count)
        is_whole = count == len(branch.tokens)
        stop: StopReason = "eos" if branch.ended and is_whole else "limit" if count == asked else "length"
        return Draft(tuple(branch.tokens[:count]), self._seen, asked, stop, "hit", 0)

    def _commit(self) -> None:
        """Bring the cache to the end of the draft that was given, and open a branch for each outcome chosen."""
        self._is_committed = True
        if self._winner is not None and self._tree is not None:
            self._tree.adopt(self._winner)
        self._tree = self._winner = None
        scores = self._rows()
        outcomes = self._outcomes(scores)
        if not outcomes:
            return
        lengths = [len(self._text) + k for k, _ in outcomes]
        most = min(
            self.settings.lookahead,
            self.runner.context - max(lengths),
            max(self._limit - k - 1 for k, _ in outcomes),
        )
        if most > 0:
            self._tree = Tree(self.runner.fork(lengths), outcomes, self._draft.tokens, most, self.dice)

    def _rows(self) -> Tensor:
        """[k + 1, V], the draft's scores after the text and after each drafted token. Those it drafted from are known;
        the last one always is new."""
        tokens = self._draft.tokens
        known = self._seen if self._seen is not None else torch.empty(0)
        missing = len(tokens) + 1 - len(known)
        logits = self.runner.extend(align(self.runner, [*self._text, *tokens], missing), missing)
        fresh = self.dice.scores(logits, [tokens[:i] for i in range(len(known), len(tokens) + 1)])
        return torch.cat((known.to(fresh), fresh)) if len(known) else fresh

    def _outcomes(self, scores: Tensor) -> list[tuple[int, int]]:
        """The outcomes to prepare for: (accepted, token), of those that leave room for a draft."""
        tokens = self._draft.tokens
        wanted = fanout.uniform(len(tokens), self.settings.branches)
        ranked = self._ranked(scores, max(wanted))
        return [
            (k, token)
            for k, count in enumerate(wanted)
            if self._has_room(k) and not (k and tokens[k - 1] in self.end_tokens)
            for token in ranked[k][:count]
        ]

    def _has_room(self, accepted: int) -> bool:
        """For a draft after so many accepted tokens and the target's own: in the answer, and in the draft's context."""
        return accepted + 1 < self._limit and len(self._text) + accepted < self.runner.context

    def _ranked(self, scores: Tensor, most: int) -> list[list[int]]:
        """For each accepted count, the target's likeliest tokens. It never refuses a token to say it after all, and
        after an end token there is no next draft."""
        tokens = self._draft.tokens
        liked = self.dice.preferences(scores, [tokens[:i] for i in range(len(tokens) + 1)]).clone()
        liked[torch.arange(len(tokens)), list(tokens)] = -torch.inf
        if self.end_tokens:
            liked[:, [token for token in self.end_tokens if token < liked.shape[1]]] = -torch.inf
        best = liked.topk(min(most, liked.shape[1]), -1)
        ids, values = best.indices.tolist(), best.values.tolist()
        return [
            [token for token, value in zip(*row, strict=True) if value > -torch.inf]
            for row in zip(ids, values, strict=True)
        ]
