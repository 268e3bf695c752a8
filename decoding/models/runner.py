"""The models as the decode loop sees them: text in, logits out, and a cache that can be wound back.

A *model* owns weights. A *cache* owns the keys and values of one text. A *runner* is a model with one cache. The
runners of one model can share a pass (`extend_all`).

A runner knows the token ids that its cache holds, so nobody else keeps lengths: `rewind_to` compares those ids with the
text and returns what is left to feed. A draft that is one token behind after a full acceptance simply
catches up; a runner that nobody touched for three rounds is still right.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import groupby
from typing import Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor

from decoding.errors import BadPrompt
from decoding.models.devices import Facts


class Tree(Protocol):
    """Tokens behind one runner's text, each with a parent. A token sees the text up to where its path leaves it, its
    ancestors, and nothing else. So several continuations of a text grow side by side, each with a row in every step."""

    @property
    def model(self) -> SharesPasses:
        """Model whose passes this tree can share with other texts."""

    def extend(self, tokens: Sequence[int], parents: Sequence[int]) -> Tensor:
        """Append tokens and return the logits after each: [n, V]. A parent is the number of a token of the tree, -1 for
        the end of the text, -2 for the place before its last token, and so on."""

    def adopt(self, path: Sequence[int]) -> None:
        """Make this path, with the text up to where it begins, the runner's text, without running the model again."""


class Model(Protocol):
    """One model's weights. Any number of texts can be read with them, each by a runner of its own."""

    def new_runner(self) -> ModelRunner:
        """Make a runner with an empty cache."""

    def new_runners(self, count: int, room: int = 0) -> Sequence[ModelRunner]:
        """Make runners whose texts are to share passes. `room` is the most tokens that a text will have, so that its
        cache need hold no more; 0: the model's whole context."""

    def extend_all(self, feeds: Sequence[Feed]) -> list[Tensor]:
        """Extend several runners of this model, each by its own tokens. Return the logits of each."""

    def bytes_for(self, room: int) -> int:
        """Memory that the cache of such a runner takes."""


class ModelRunner(Protocol):
    """A model that reads one text. Every call appends to, cuts, or grows a tree from `tokens`."""

    vocab_size: int
    context: int  # the most tokens it can hold
    device: torch.device

    @property
    def model(self) -> Model: ...

    @property
    def facts(self) -> Facts:
        """Name what it runs on, for people and for results."""

    @property
    def tokens(self) -> list[int]:
        """The ids whose keys and values are cached, oldest first. Callers must not change the list."""

    def extend(self, tokens: Sequence[int] | Tensor, need: int = 1) -> Tensor:
        """Append tokens and return the logits after each of the last `need` of them: [need, V].

        The runner takes a tensor of ids that is already on the device without waiting for its values, so that a chain
        of drafted tokens can be queued without one stop. `tokens` reads them when it is next asked.
        """

    def rewind(self, length: int) -> None:
        """Forget everything past the first `length` tokens."""

    def grow(self) -> Tree:
        """Open a tree behind the text. Extending or rewinding the runner closes it."""


class SharesPasses(Protocol):
    def extend_all(self, feeds: Sequence[Feed]) -> list[Tensor]: ...


class Reader(Protocol):
    """A runner or a `TreePass`: the one that a pass belongs to."""

    @property
    def model(self) -> SharesPasses: ...

    def extend(self, tokens: Sequence[int] | Tensor, need: int = 1) -> Tensor: ...


Feed = tuple[Reader, Sequence[int] | Tensor, int]  # in a pass: who reads, what, and how many rows of logits
Result = TypeVar("Result")
Feeds = Generator[Feed, Tensor, Result]  # yields feeds, receives their logits, and returns a result


def extend_all(feeds: Sequence[Feed]) -> list[Tensor]:
    """Extend each runner and return its logits. Runners of one model share a pass if the model can do that."""
    if len(feeds) == 1:
        [(runner, tokens, need)] = feeds
        return [runner.extend(tokens, need)]
    order = sorted(range(len(feeds)), key=lambda number: id(feeds[number][0].model))
    logits: dict[int, Tensor] = {}
    for _, group in groupby(order, key=lambda number: id(feeds[number][0].model)):
        numbers = list(group)
        found = feeds[numbers[0]][0].model.extend_all([feeds[number] for number in numbers])
        logits |= zip(numbers, found, strict=True)
    return [logits[number] for number in range(len(feeds))]


def extend_each(feeds: Sequence[Feed]) -> list[Tensor]:
    """Extend one runner after another: `extend_all` of a model whose texts cannot share a pass."""
    return [runner.extend(tokens, need) for runner, tokens, need in feeds]


@runtime_checkable
class ReadsBlocks(Protocol):
    """A runner whose model foretells several positions in one pass."""

    def block(self, tokens: Sequence[int] | Tensor, length: int) -> Tensor:
        """Append tokens, and return logits for each of so many positions behind them: [length, V]."""


class BlockPass:
    """One pass for several positions, where the loop expects one for the next. It is read alone."""

    extend_all = staticmethod(extend_each)

    def __init__(self, runner: ReadsBlocks) -> None:
        self._runner = runner

    @property
    def model(self) -> SharesPasses:
        return self

    def extend(self, tokens: Sequence[int] | Tensor, need: int = 1) -> Tensor:
        return self._runner.block(tokens, need)


class TreePass:
    """One pass over new tokens of a tree, where the loop expects one over a chain."""

    def __init__(self, tree: Tree, parents: Sequence[int]) -> None:
        self.tree, self.parents = tree, parents

    @property
    def model(self) -> SharesPasses:
        return self.tree.model

    def extend(self, tokens: Sequence[int] | Tensor, need: int = 1) -> Tensor:
        return self.tree.extend(list(tokens), self.parents)[-need:]


class TreeReading(TreePass):
    """One pass over a tree and over what its runner has not read of the text yet."""

    def __init__(self, runner: ModelRunner, catch_up: Sequence[int], parents: Sequence[int]) -> None:
        """`catch_up`: tokens at the text's end that the runner has not read yet. The tree follows them."""
        unread = self._unread = len(catch_up)
        last = unread - 1
        follow = (parent + unread if parent >= 0 else last for parent in parents)
        super().__init__(runner.grow(), [*range(-1, last), *follow])

    def adopt(self, path: Sequence[int]) -> None:
        """Keep these tokens of the tree as the runner's text."""
        self.tree.adopt([*range(self._unread), *(number + self._unread for number in path)])


def run_together(jobs: Sequence[Feeds[Result]]) -> list[Result]:
    """Run jobs side by side: the next steps of all of them are one pass, as far as models can share it."""
    if len(jobs) == 1:
        return [run_one(jobs[0])]
    results: dict[int, Result] = {}

    def advance(number: int, logits: Tensor | None) -> Feed | None:
        try:
            return next(jobs[number]) if logits is None else jobs[number].send(logits)
        except StopIteration as end:
            results[number] = end.value
            return None

    asked = {number: feed for number in range(len(jobs)) if (feed := advance(number, None))}
    while asked:
        logits = extend_all([*asked.values()])
        asked = {number: feed for number, rows in zip(asked, logits, strict=True) if (feed := advance(number, rows))}
    return [results[number] for number in range(len(jobs))]


def run_one(job: Feeds[Result]) -> Result:
    """Run one job alone. This takes less time per step than running it together with none."""
    try:
        runner, tokens, need = next(job)
        while True:
            runner, tokens, need = job.send(runner.extend(tokens, need))
    except StopIteration as end:
        result: Result = end.value
        return result


def rewind_to(runner: ModelRunner, text: Sequence[int], need: int = 1) -> Sequence[int]:
    """Rewind `runner` to what it shares with `text`, and return what is left to feed (at least `need` tokens).

    It compares ids, not lengths: a runner that sat out a round may hold another text of the right length.
    """
    cached = runner.tokens
    limit = min(len(cached), len(text) - need)
    if (cached if limit == len(cached) else cached[:limit]) == text[:limit]:  # copying a long text takes microseconds
        shared = limit
    else:
        shared = next(i for i in range(limit) if cached[i] != text[i])
    if shared < len(cached):
        runner.rewind(shared)
    return text[shared:]


def read_prompt(runner: ModelRunner, text: Sequence[int]) -> None:
    """Read the prompt into an empty cache: what an earlier sample left there must not make this one look faster."""
    runner.rewind(0)
    if len(text) > 1:
        runner.extend(text[:-1])


# Refusals that all runners share, with one wording.


def check_extend(length: int, new: int, need: int, context: int) -> None:
    if not 1 <= need <= new:
        raise ValueError(f"logits after {need} tokens were asked for, and {new} tokens were given")
    if length + new > context:
        raise BadPrompt(
            f"The text would be {length + new} tokens long and the model holds {context}. "
            "Shorten the prompt or ask for fewer new tokens."
        )


def check_ids(ids: Sequence[int], vocab_size: int) -> None:
    worst = next((extreme for extreme in (min(ids), max(ids)) if not 0 <= extreme < vocab_size), None)
    if worst is not None:
        raise BadPrompt(
            f"Token {worst} is not in the model's vocabulary of {vocab_size}. "
            "The text was cut into tokens by another model's tokenizer."
        )


def check_rewind(length: int, to: int) -> None:
    if not 0 <= to <= length:
        raise ValueError(f"cannot rewind {length} tokens to {to}")


def check_open(is_open: bool) -> None:
    if not is_open:
        raise RuntimeError("this tree is closed: its runner has moved on")


def check_tree(is_open: bool, depths: Sequence[int], new: int, context: int) -> None:
    """Check new tokens of a tree. `depths` are how many tokens lie before each."""
    check_open(is_open)
    if new != len(depths) or not new:
        raise ValueError(f"{new} tokens with {len(depths)} parents")
    if min(depths) < 0:
        raise ValueError("a parent lies before the text")
    if max(depths) >= context:
        raise BadPrompt(f"A path would be longer than the model holds, which is {context} tokens.")
