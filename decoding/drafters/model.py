"""Drafter that drafts with a model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from decoding.choosing import Choices, Choosing
from decoding.crowd import Crowd
from decoding.dice import Dice, broken
from decoding.drafters.base import EMPTY, Draft, Drafter
from decoding.drafters.rule import DraftStep, StopRule
from decoding.events import StopReason
from decoding.models.runner import ModelRunner, Steps, align, read_prompt, run_together
from decoding.verify import Verdict


@dataclass
class ModelDrafter(Drafter):
    """Drafts one token after another until the stop rule says so, an end token comes, or no room is left."""

    runner: ModelRunner
    rule: StopRule
    dice: Dice
    end_tokens: Collection[int] = field(default_factory=frozenset)
    choosing: Choosing | None = None  # if a GPU chooses the tokens

    def join(self, crowd: Crowd) -> None:
        self.rule.join(crowd)

    def prepare(self, text: Sequence[int]) -> None:
        if self.rule.rests:
            self.runner.rewind(0)
        elif len(text) <= self.runner.context:  # if the prompt is longer, the target decodes alone
            read_prompt(self.runner, text)

    def propose(self, text: Sequence[int], limit: int) -> Draft:
        return run_together([self.drafting(text, limit)])[0]

    def drafting(self, text: Sequence[int], limit: int) -> Steps[Draft]:
        return (yield from self.going_on(text, (), limit))

    def going_on(self, text: Sequence[int], copied: Sequence[int], limit: int) -> Steps[Draft]:
        """Draft on after tokens from another source, which are not part of the draft that this returns."""
        self.rule.begin(text)
        asked = self.rule.lookahead
        room = min(asked, limit, self.runner.context - len(text) - len(copied))
        if room <= 0:
            return EMPTY
        choosing = None if copied else self.choosing  # it counts from the committed text
        choices = choosing.begin(self.dice) if choosing else None
        if choices and not self.rule.reads:  # reading a token would wait for the device
            return (yield from self._queued(choices, text, asked, room))
        return (yield from self._step_by_step(text, copied, asked, room, choices))

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        self.rule.observe(draft, verdict)

    def _step_by_step(
        self, text: Sequence[int], copied: Sequence[int], asked: int, room: int, choices: Choices | None
    ) -> Steps[Draft]:
        tokens = list(copied)
        rows: list[Tensor] = []
        fed = align(self.runner, [*text, *copied] if copied else text)
        while True:
            step = self._step(text, tokens, (yield self.runner, fed, 1), choices)
            tokens.append(step.token)
            rows.append(step.scores)
            stop = self._stop(step, len(rows), asked, room)
            if stop:
                kept = self.rule.keeps(len(rows))
                own, estimates = tuple(tokens[len(copied) :][:kept]), tuple(self.rule.estimates)[:kept]
                scores = torch.cat(rows[:kept]) if kept else None
                return Draft(own, scores, asked, stop, "fresh", len(rows), estimates)
            fed = [step.token]

    def _step(self, text: Sequence[int], tokens: Sequence[int], logits: Tensor, choices: Choices | None) -> DraftStep:
        """Draft the token that follows these."""
        if choices:
            launched = choices.launch(logits)
            token, *seen = launched.values.tolist()
            step = DraftStep(text, tuple(tokens), int(token), launched.scores, launched.preferences, seen=seen)
        else:
            chosen = self.dice.choose(logits, [tokens])
            step = DraftStep(text, tuple(tokens), int(chosen.ids), chosen.scores, chosen.preferences)
        if step.token < 0:
            raise broken()
        return step

    def _stop(self, step: DraftStep, drafted: int, asked: int, room: int) -> StopReason | None:
        if step.token in self.end_tokens:
            return "eos"
        if self.rule.should_stop(step):
            return "rule"
        if drafted == room:
            return "limit" if room == asked else "length"
        return None

    def _queued(self, choices: Choices, text: Sequence[int], asked: int, room: int) -> Steps[Draft]:
        """Launch the whole draft before its first token is known. Then cut what follows an end token, where the text
        would end."""
        ids: list[Tensor] = []
        rows: list[Tensor] = []
        fed: Sequence[int] | Tensor = align(self.runner, text)
        for _ in range(room):
            launched = choices.launch((yield self.runner, fed, 1))
            rows.append(launched.scores)
            ids.append(launched.values[:1].long())
            fed = ids[-1].clamp(min=0)
        tokens: list[int] = torch.cat(ids).tolist()
        if min(tokens) < 0:
            raise broken()
        end = next((i for i, token in enumerate(tokens) if token in self.end_tokens), None)
        stop: StopReason = "eos" if end is not None else "limit" if room == asked else "length"
        kept = room if end is None else end + 1
        return Draft(tuple(tokens[:kept]), torch.cat(rows)[:kept], asked, stop, "fresh", room)
