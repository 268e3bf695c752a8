"""Drafter and Draft: the loop asks a drafter for a draft each round, and tells it the verdict.

A drafter drafts in steps. Each step yields one pass of a model, so that the loop can run the passes of many texts
together. A drafter that runs no model, or runs one by itself, takes no step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from decoding.core.batch_state import BatchState
from decoding.dice.verify import Verdict
from decoding.models.devices import Launched
from decoding.models.runner import Steps
from decoding.trace.events import Anticipated, Backup, Origin, StopReason


@dataclass(frozen=True)
class Draft:
    """The tokens that one round proposes."""

    tokens: tuple[int, ...]
    scores: Tensor | None  # [k, V], what each token was drawn from; None: not drawn, so each is judged as certain
    lookahead: int  # number of tokens asked for
    stop: StopReason
    source: Origin
    passes: int
    estimates: tuple[float, ...] = ()  # the probability that each token is accepted, if its drafter has one
    backup: Backup = ""
    lost: str = ""  # why drafting has ended; set in the first round without a draft
    parents: tuple[int, ...] = ()  # of a tree: the number of the token before each, -1 at the text's end; else empty
    chances: tuple[float, ...] = ()  # the model's own probability of each token, where a GPU has computed it
    late: Callable[[], tuple[Any, ...]] | None = None  # of a draft from elsewhere: confidence, then late estimates

    @property
    def aheads(self) -> list[tuple[int, ...]]:
        """The tokens before each choice of the target: at the text's end, then after each drafted token."""
        if not self.parents:
            return [self.tokens[:count] for count in range(len(self.tokens) + 1)]
        found: list[tuple[int, ...]] = [()]
        for token, parent in zip(self.tokens, self.parents, strict=True):
            found.append((*found[parent + 1], token))
        return found

    def accepted(self, verdict: Verdict) -> list[int]:
        numbers = verdict.path if self.parents else range(verdict.accepted)
        return [self.tokens[number] for number in numbers]

    def ranks(self, verdict: Verdict) -> tuple[int, ...]:
        """Return where each accepted token of a tree stood among the alternatives there, then how many alternatives
        the place had at which the target left the tree. Empty for a chain."""
        if not self.parents:
            return ()
        alternatives = [self._after(place) for place in (-1, *verdict.path)]
        stood = [listed.index(number) for listed, number in zip(alternatives, verdict.path, strict=False)]
        return (*stood, len(alternatives[-1]))

    def _after(self, place: int) -> list[int]:
        return [number for number, parent in enumerate(self.parents) if parent == place]

    def best_path(self, verdict: Verdict) -> tuple[int, ...]:
        """The accepted tokens, and the likeliest that follow them in the tree: the draft as a chain."""
        if not self.parents:
            return self.tokens
        path = list(verdict.path)
        last = path[-1] if path else -1
        while last in self.parents:
            last = self.parents.index(last)  # children are in order of likelihood
            path.append(last)
        return tuple(self.tokens[number] for number in path)

    @cached_property
    def confidence(self) -> tuple[float, ...]:
        """The draft model's own probability of each token; empty where no model was asked."""
        if self.scores is None:
            return self.chances
        ids = torch.tensor(self.tokens, device=self.scores.device)[:, None]
        return tuple(torch.softmax(self.scores.float(), -1).gather(1, ids)[:, 0].tolist())

    def details(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return confidence and estimates for the trace. The sequence asks for them after the verification."""
        if self.late is None:
            return self.confidence, self.estimates
        confidence, estimates, *_ = self.late()
        return confidence, self.estimates or estimates


EMPTY = Draft((), None, 0, "length", "none", 0)


@dataclass(frozen=True)
class QueuedDraft:
    """A chain whose passes are launched, and whose tokens nobody has read yet."""

    ids: Sequence[Tensor]  # [1] each, on the draft's device
    launched: Launched  # all passes that make it
    read: Callable[[], Draft]  # waits for the tokens, and cuts what follows an end token
    scores = None
    parents = ()

    @property
    def aheads(self) -> list[Sequence[Tensor]]:
        return [self.ids[:count] for count in range(len(self.ids) + 1)]

    @property
    def tokens(self) -> tuple[int, ...]:
        return self.draft.tokens

    @cached_property
    def draft(self) -> Draft:
        return self.read()


class Drafter(ABC):
    """Proposes tokens for one sample. Only `draft_steps` must be written; the other methods do nothing by default."""

    drafts = True  # whether it ever proposes a token

    @abstractmethod
    def draft_steps(self, text: Sequence[int], limit: int) -> Steps[Draft | QueuedDraft]:
        """Propose up to `limit` tokens to follow the text, in steps, each a pass of a model that other texts may share.
        The tokens may depend on anything except the random numbers that the target's verdict will use."""

    def join(self, batch: BatchState) -> None:  # noqa: B027
        """Learn which texts are decoded together with this one."""

    def prepare(self, text: Sequence[int]) -> None:  # noqa: B027
        """Read the prompt, so that rounds begin warm."""

    def anticipate(self, text: Sequence[int], draft: Draft) -> None:  # noqa: B027
        """Prepare the next draft before the target judges this one, or start work that can run meanwhile."""

    def meanwhile(self, is_done: Callable[[], bool]) -> None:  # noqa: B027
        """Work in this thread until the target's verdict is done. The verdict has been launched already."""

    def observe(self, draft: Draft, verdict: Verdict) -> None:  # noqa: B027
        """Learn from the verdict on a draft."""

    def leave(self) -> None:  # noqa: B027
        """Forget the text, which has ended."""

    def anticipated(self, number: int) -> Anticipated | None:
        """Describe what was prepared during the verification of round `number`. The loop asks after the next draft."""
        return None
