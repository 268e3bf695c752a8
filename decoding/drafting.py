"""Drafters: what proposes tokens. A strategy is a drafter and a stop rule; the loop belongs to nobody but `loop.py`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

from decoding.choosing import Choosing, Look
from decoding.dice import Dice, Row, broken
from decoding.events import Anticipated, Backup, Source, StopReason
from decoding.runner import ModelRunner, align
from decoding.verify import Verdict


@dataclass(frozen=True)
class Draft:
    """What a round proposes."""

    tokens: tuple[int, ...]
    scores: Tensor  # [k, V], what each token was chosen from
    lookahead: int  # how many were asked for
    stop: StopReason
    source: Source
    passes: int
    estimates: tuple[float, ...] = ()  # that each token is accepted, where its making asked
    backup: Backup = ""
    lost: str = ""  # why there is no draft any more, on the first round that goes without

    @cached_property
    def confidence(self) -> tuple[float, ...]:
        """The draft's own probability of each of its tokens; none where it was not asked."""
        if not self.tokens or self.backup in ("ngram", "random"):
            return ()
        ids = torch.tensor(self.tokens, device=self.scores.device)[:, None]
        return tuple(torch.softmax(self.scores.float(), -1).gather(1, ids)[:, 0].tolist())

    @property
    def estimate(self) -> tuple[float, ...]:
        """That each of its tokens is accepted, as it is known by the time that somebody asks."""
        return self.estimates


EMPTY = Draft((), torch.empty(0, 0), 0, "length", "none", 0)


@dataclass  # not frozen: one is made after every token, and that takes three times as long
class DraftStep:
    """One drafted token as a stop rule sees it. Looking at a value waits for the device."""

    text: Sequence[int]  # what is committed
    ahead: Sequence[int]  # the round's tokens before this one
    token: int
    scores: Tensor  # [1, V], what it was chosen from
    preferences: Tensor  # [1, V], what the choice went by: under shared dice, scores and noise
    row: Row | None = None  # the same [V], where numpy has looked at it
    seen: Sequence[float] = ()  # what the rule's look has seen, where one was launched

    @cached_property
    def confidence(self) -> float:
        return float(torch.softmax(self.scores.float(), -1)[0, self.token])


class StopRule:
    """Decides how long a draft gets. It may remember all it has seen of drafts and verdicts; it may not see the dice
    of a verdict that is still to come, unless it belongs to a bound."""

    lookahead: int = 0  # the most tokens this round may have, once it has begun
    reads: bool = False  # whether `should_stop` looks at the tokens; if not, a draft is queued without waiting
    estimates: Sequence[float] = ()  # that each token of this round is accepted; empty where the rule makes none
    look: Look | None = None  # where choosing means launching: fills `DraftStep.seen`, so that the rule need not look

    def begin(self, text: Sequence[int]) -> None:
        """Start a round after this text."""

    def should_stop(self, step: DraftStep) -> bool:
        """Asked after every drafted token. The token stays in the draft whatever the answer: dropping it because of
        what it is would bias the output."""
        return False

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        """Learn what became of a draft."""


class Drafter(Protocol):
    def prepare(self, text: Sequence[int]) -> None:
        """Read the prompt, so that rounds begin warm."""
        ...

    def propose(self, text: Sequence[int], limit: int) -> Draft:
        """Up to `limit` tokens to follow the text."""
        ...

    def anticipate(self, text: Sequence[int], draft: Draft) -> None:
        """Called when the target is about to judge this draft. What can run beside the target starts here and
        returns at once."""
        ...

    def meanwhile(self, is_done: Callable[[], bool]) -> None:
        """Called when the target's verdict has been launched: what this thread can do until it is there."""
        ...

    def observe(self, draft: Draft, verdict: Verdict) -> None: ...

    def anticipated(self, number: int) -> Anticipated | None:
        """What was prepared beside the verification of that round. Asked when the next draft is there."""
        ...


class NoDraft:
    """Proposes nothing: verifying an empty draft is autoregressive decoding."""

    def prepare(self, text: Sequence[int]) -> None:
        pass

    def propose(self, text: Sequence[int], limit: int) -> Draft:
        return EMPTY

    def anticipate(self, text: Sequence[int], draft: Draft) -> None:
        pass

    def meanwhile(self, is_done: Callable[[], bool]) -> None:
        pass

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        pass

    def anticipated(self, number: int) -> None:
        return None


@dataclass
class ModelDrafter:
    """Drafts with a model, one token after another, until the rule, an end token or the room says stop."""

    runner: ModelRunner
    rule: StopRule
    dice: Dice
    end_tokens: Collection[int] = field(default_factory=frozenset)
    choosing: Choosing | None = None  # where choosing means launching

    def prepare(self, text: Sequence[int]) -> None:
        if len(text) <= self.runner.context:  # otherwise it never drafts, and the target goes on alone
            read_prompt(self.runner, text)

    def propose(self, text: Sequence[int], limit: int) -> Draft:
        self.rule.begin(text)
        asked = self.rule.lookahead
        room = min(asked, limit, self.runner.context - len(text))
        if room <= 0:
            return EMPTY
        if self.choosing:
            self.choosing.begin(self.dice)
            if not self.rule.reads:  # to read a token would stop the queue
                return self._queued(self.choosing, text, asked, room)
        return self._step_by_step(text, asked, room)

    def anticipate(self, text: Sequence[int], draft: Draft) -> None:
        pass

    def meanwhile(self, is_done: Callable[[], bool]) -> None:
        pass

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        self.rule.observe(draft, verdict)

    def anticipated(self, number: int) -> None:
        return None

    def _step_by_step(self, text: Sequence[int], asked: int, room: int) -> Draft:
        tokens: list[int] = []
        rows: list[Tensor] = []
        fed = align(self.runner, text)
        while True:
            step = self._step(text, tokens, self.runner.extend(fed))
            tokens.append(step.token)
            rows.append(step.scores)
            stop = self._stop(step, asked, room)
            if stop:
                estimates = tuple(self.rule.estimates)
                return Draft(tuple(tokens), torch.cat(rows), asked, stop, "fresh", len(tokens), estimates)
            fed = [step.token]

    def _step(self, text: Sequence[int], tokens: Sequence[int], logits: Tensor) -> DraftStep:
        """The token after these of the draft."""
        if self.choosing:
            launched = self.choosing.launch(logits, self.dice, len(tokens))
            token, *seen = launched.told.tolist()
            step = DraftStep(text, tuple(tokens), int(token), launched.scores, launched.preferences, seen=seen)
        else:
            scores = self.dice.scores(logits, [tokens])
            preferences = self.dice.preferences(scores, [tokens])
            token, row = self.dice.pick_one(preferences, tokens)
            step = DraftStep(text, tuple(tokens), token, scores, preferences, row)
        if step.token < 0:
            raise broken()
        return step

    def _stop(self, step: DraftStep, asked: int, room: int) -> StopReason | None:
        if step.token in self.end_tokens:
            return "eos"
        if self.rule.should_stop(step):
            return "rule"
        if len(step.ahead) + 1 == room:
            return "limit" if room == asked else "length"
        return None

    def _queued(self, choosing: Choosing, text: Sequence[int], asked: int, room: int) -> Draft:
        """The whole chain is launched before its first token is known. What follows an end token is cut: no text can
        contain it."""
        ids: list[Tensor] = []
        rows: list[Tensor] = []
        fed: Sequence[int] | Tensor = align(self.runner, text)
        for number in range(room):
            launched = choosing.launch(self.runner.extend(fed), self.dice, number)
            rows.append(launched.scores)
            ids.append(launched.told[:1].long())
            fed = ids[-1].clamp(min=0)
        tokens: list[int] = torch.cat(ids).tolist()
        if min(tokens) < 0:
            raise broken()
        end = next((i for i, token in enumerate(tokens) if token in self.end_tokens), None)
        stop: StopReason = "eos" if end is not None else "limit" if room == asked else "length"
        kept = room if end is None else end + 1
        return Draft(tuple(tokens[:kept]), torch.cat(rows)[:kept], asked, stop, "fresh", room)


def read_prompt(runner: ModelRunner, text: Sequence[int]) -> None:
    """Start a sample from nothing: what an earlier sample left in the cache must not make this one look faster."""
    runner.rewind(0)
    if len(text) > 1:
        runner.extend(text[:-1])
