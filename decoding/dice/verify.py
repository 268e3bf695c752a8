"""Draft, verdict, and the two lossless rules of acceptance, as pure functions. They do not depend on who drafted, or
why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from decoding.models.devices import Launched
from decoding.trace.events import Backup, Origin, Outcome, StopReason


@dataclass(frozen=True, slots=True)
class Verdict:
    accepted: int
    token: int  # the one the target adds
    outcome: Outcome
    path: tuple[int, ...] = ()  # of a tree: the numbers of the accepted tokens


@dataclass(frozen=True)
class Draft:
    """The tokens that one round proposes."""

    tokens: tuple[int, ...]
    scores: Tensor | None  # [k, V], what each token was drawn from; None: not drawn, so each is judged as certain
    lookahead: int  # number of tokens asked for
    stop: StopReason
    origin: Origin
    passes: int
    estimates: tuple[float, ...] = ()  # the probability that each token is accepted, if its drafter has one
    backup: Backup = ""
    lost: str = ""  # why drafting has ended; set in the first round without a draft
    parents: tuple[int, ...] = ()  # of a tree: the number of the token before each, -1 at the text's end; else empty
    chances: tuple[float, ...] = ()  # the model's own probability of each token, where a GPU has computed it
    postscript: Callable[[], tuple[Any, ...]] | None = None  # of a draft from elsewhere: confidence, then estimates

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
        if self.postscript is None:
            return self.confidence, self.estimates
        confidence, estimates, *_ = self.postscript()
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


def by_equality(choices: Sequence[int], draft: Sequence[int]) -> Verdict:
    """Keep the drafted tokens that are the target's own choices. Exact for any draft that does not peek: the text is
    the target's, whether its choices are an argmax or drawn with noise that draft and target share."""
    accepted = next((i for i, token in enumerate(draft) if token != choices[i]), len(draft))
    return Verdict(accepted, choices[accepted], "bonus" if accepted == len(draft) else "correction")


def by_tree(choices: Sequence[int], tokens: Sequence[int], parents: Sequence[int]) -> Verdict:
    """Follow the target's own choices through a tree as far as it goes. `choices` are that at the text's end, then
    those after each token of the tree.

    Exact for any dice, because the choices are the target's own: a tree only says where they can be looked up. For
    candidates that were not drawn, the multi-candidate rules of SpecInfer and SpecTr accept with the same chances."""
    children = {(parent, token): number for number, (token, parent) in enumerate(zip(tokens, parents, strict=True))}
    path: list[int] = []
    at = -1
    while (at := children.get((at, choices[at + 1]), -1)) >= 0:
        path.append(at)
    last = path[-1] if path else -1
    is_bonus = last >= 0 and last not in parents
    return Verdict(len(path), choices[last + 1], "bonus" if is_bonus else "correction", tuple(path))


def certain(tokens: Sequence[int], vocab: int, device: torch.device) -> Tensor:
    """The q of tokens that were not drawn: [k, V], one at each token and zero elsewhere."""
    ids = torch.tensor(tokens, dtype=torch.int64, device=device)[:, None]
    return torch.zeros(len(tokens), vocab, dtype=torch.float64, device=device).scatter_(1, ids, 1.0)


def by_ratio(
    p: Tensor,  # [k + 1, V] the target's probabilities
    q: Tensor,  # [k, V] what each drafted token was drawn from, or `certain`
    draft: Sequence[int],
    accept_u: Sequence[float],  # k numbers in [0, 1)
    resample_u: Sequence[float],  # k + 1 numbers in [0, 1), one for each place where the target may add its token
) -> Verdict:
    """Accept each drafted token with probability min(1, p/q), and draw from what p has in excess of q after a
    refusal. Exact for any q that the tokens were truly drawn from."""
    k = len(draft)
    ids = torch.tensor(draft, dtype=torch.int64, device=p.device)[:, None]
    coins = torch.tensor(accept_u, dtype=torch.float64, device=p.device)
    kept = coins * q.gather(1, ids)[:, 0].double() < p[:k].gather(1, ids)[:, 0].double()
    accepted = next((i for i, keep in enumerate(kept.tolist()) if not keep), k)
    if accepted == k:
        return Verdict(k, int(choose_each(p[k:], resample_u[k:])), "bonus")
    excess = (p[accepted].double() - q[accepted].double()).clamp(min=0.0)
    if excess.sum() <= 0.0:  # only by rounding: a refusal means that p is smaller somewhere, so larger elsewhere
        excess = p[accepted]
    return Verdict(accepted, int(choose_each(excess[None], [resample_u[accepted]])), "correction")


def choose_each(weights: Tensor, units: Sequence[float]) -> Tensor:
    """Choose one token of each row [n, V]: the one whose share of the (unnormalised) weights holds the row's number.
    In float64: a float32 running sum over a large vocabulary would skew its tail."""
    cumulated = weights.double().cumsum(-1)
    sought = cumulated[:, -1:] * torch.tensor(units, dtype=torch.float64, device=weights.device)[:, None]
    return torch.searchsorted(cumulated, sought, right=True)[:, 0].clamp(max=weights.shape[-1] - 1)
