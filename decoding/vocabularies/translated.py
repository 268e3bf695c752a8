"""TLI: a runner that reads and scores a target's tokens with a draft of another vocabulary (arXiv 2502.05202).

A token that both vocabularies have is one id in each. The draft reads any other token of the target as several of its
own. It says only shared tokens: all others have the score -inf, so a softmax renormalises over the shared ones. To
everybody else this is a draft with the target's vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, cast

import torch
from torch import Tensor

from decoding.models.runner import (
    Feed,
    Model,
    ModelRunner,
    Tree,
    TreePass,
    check_extend,
    check_ids,
    check_rewind,
    extend_all,
)
from decoding.vocabularies.shared import SharedTokens
from decoding.vocabularies.spelling import Coder

REMEMBERED = 1 << 16  # tokens whose reading is kept


class Translation:
    """Maps between the ids of a target and of a draft."""

    def __init__(self, shared: SharedTokens, draft: Coder, outputs: int) -> None:
        """`outputs` is the target's number of logits."""
        self.outputs = outputs
        self._shared = shared
        self._draft = draft
        self._to_draft = {theirs: ours for ours, theirs in shared.to_target.items()}
        self._tables: dict[torch.device, tuple[Tensor, Tensor, Tensor]] = {}
        self.read = lru_cache(REMEMBERED)(self._read)

    def _read(self, token: int) -> tuple[int, ...]:
        """Return the draft's ids for a token of the target, at least one."""
        if token in self._to_draft:
            return (self._to_draft[token],)
        target = self._shared.target
        text = target.specials.get(token, "").encode() or target.written.get(token, b"")
        return tuple(self._draft.ids_of(text)) or (self._unreadable,)

    @cached_property
    def _unreadable(self) -> int:
        """The draft's id for a token that it cannot write."""
        return self._shared.draft.ids.get(b" ", next(iter(self._shared.to_target)))

    def ids(self, tokens: Tensor) -> Tensor:
        """Return one id of the draft for each token, without waiting for the device: exact for shared tokens, which
        are all that the draft says."""
        if tokens.device.type == "cpu":
            return torch.tensor([self.read(token)[-1] for token in tokens.tolist()])
        return self._on(tokens.device)[2][tokens]

    def nothing(self, rows: int, device: torch.device) -> Tensor:
        """Return the logits of a draft that knows nothing: all shared tokens are equally likely."""
        return self.logits(torch.zeros(rows, max(self._shared.to_target) + 1, device=device))

    def logits(self, logits: Tensor) -> Tensor:
        """Spread the draft's logits [n, draft's V] over the target's vocabulary."""
        theirs, ours, _ = self._on(logits.device)
        spread = logits.new_full((len(logits), self.outputs), -torch.inf)
        return spread.index_copy_(1, theirs, logits.index_select(1, ours))

    def _on(self, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        if device not in self._tables:
            ours, theirs = (
                torch.tensor([*ids], device=device) for ids in zip(*self._shared.to_target.items(), strict=True)
            )
            whole = torch.full((self.outputs,), self._unreadable, device=device)
            self._tables[device] = theirs, ours, whole.index_copy_(0, theirs, ours)
        return self._tables[device]


class TranslatedPass(NamedTuple):
    """A pass of the draft that reads tokens of the target."""

    feed: Feed | None  # None where the draft has no room for what it reads as several ids
    rows: list[int]  # the rows of its logits that follow the tokens asked for
    device: torch.device


@dataclass(frozen=True, eq=False)
class TranslatedModel:
    model: Model
    translation: Translation

    def bytes_for(self, room: int) -> int:
        """A text may have more tokens of the draft than of the target, so its cache holds the whole context."""
        return self.model.bytes_for(0)

    def new_runner(self) -> TranslatedRunner:
        return TranslatedRunner(self.model.new_runner(), self)

    def new_runners(self, count: int, room: int = 0) -> Sequence[TranslatedRunner]:
        return [TranslatedRunner(inner, self) for inner in self.model.new_runners(count)]

    def extend_all(self, feeds: Sequence[Feed]) -> list[Tensor]:
        """Extend several runners: the draft reads their texts as it would read those of its own runners."""
        readings = [_taken(feed) for feed in feeds]
        found = iter(extend_all([reading.feed for reading in readings if reading.feed]))
        return [self._logits(reading, found) for reading in readings]

    def _logits(self, reading: TranslatedPass, found: Iterator[Tensor]) -> Tensor:
        if reading.feed is None:
            return self.translation.nothing(len(reading.rows), reading.device)
        logits = next(found)
        return self.translation.logits(logits if len(logits) == len(reading.rows) else logits[reading.rows])


def _taken(feed: Feed) -> TranslatedPass:
    reader, tokens, need = feed
    if isinstance(reader, TreePass):
        return cast(TranslatedTree, reader.tree).take(list(tokens), reader.parents, need)
    return cast(TranslatedRunner, reader).take(tokens, need)


class TranslatedRunner:
    """A draft's runner, as one that reads the target's tokens."""

    def __init__(self, inner: ModelRunner, model: TranslatedModel) -> None:
        self.inner = inner
        self.model = model
        self.vocab_size = model.translation.outputs
        self.device = inner.device
        self.facts = inner.facts
        self.context = inner.context  # if all that follows is shared: the draft may read a token as several ids
        self._tokens: list[int] = []
        self._ids: list[int] = []  # the same text in the draft's ids
        self._ends: list[int] = []  # how many of them there are after each token
        self._unread: list[Tensor] = []  # tokens that were fed as tensors; each is one id

    @property
    def tokens(self) -> list[int]:
        for tensor in self._unread:
            self.note(tensor.tolist())
        self._unread.clear()
        return self._tokens

    def extend(self, tokens: Sequence[int] | Tensor, need: int = 1) -> Tensor:
        return self.model.extend_all([(self, tokens, need)])[0]

    def take(self, tokens: Sequence[int] | Tensor, need: int) -> TranslatedPass:
        """Note the tokens, and return what the draft must read. A pass must follow."""
        if isinstance(tokens, Tensor) and tokens.device.type != "cpu":
            self._unread.append(tokens.clone())
            return TranslatedPass((self.inner, self.model.translation.ids(tokens), need), [*range(need)], self.device)
        new: list[int] = tokens.tolist() if isinstance(tokens, Tensor) else list(tokens)
        check_extend(len(self.tokens), len(new), need, self.inner.context)
        check_ids(new, self.vocab_size)
        self.note(new)
        rows = [end - self._ends[-need] for end in self._ends[-need:]]
        if len(self._ids) > self.inner.context:
            return TranslatedPass(None, rows, self.device)
        return TranslatedPass((self.inner, self._ids[len(self.inner.tokens) :], rows[-1] + 1), rows, self.device)

    def rewind(self, length: int) -> None:
        check_rewind(len(self.tokens), length)
        self._cut(length)
        self.inner.rewind(min(len(self._ids), len(self.inner.tokens)))

    def grow(self) -> TranslatedTree:
        has_read = len(self._ids) == len(self.inner.tokens)
        return TranslatedTree(self, self.inner.grow() if has_read else None)

    def place(self, length: int) -> int:
        """Say in the inner runner's tree where the first `length` tokens end."""
        return self._end(length) - len(self._ids) - 1

    def adopt(self, length: int, chain: Sequence[int]) -> None:
        """Let a chain that the inner runner has adopted follow the first `length` tokens."""
        self._cut(length)
        self._tokens += chain
        self._ends += range(len(self._ids) + 1, len(self.inner.tokens) + 1)
        self._ids = list(self.inner.tokens)

    def note(self, new: Sequence[int]) -> None:
        """Add tokens that the inner runner has not read. It reads them with the next ones."""
        for token in new:
            self._ids += self.model.translation.read(token)
            self._ends.append(len(self._ids))
        self._tokens += new
        self._measure()

    def _cut(self, length: int) -> None:
        kept = self._end(length)
        del self._tokens[length:], self._ends[length:], self._ids[kept:]
        self._measure()

    def _measure(self) -> None:
        self.context = self.inner.context - (len(self._ids) - len(self._tokens))

    def _end(self, length: int) -> int:
        return self._ends[length - 1] if length else 0


class TranslatedTree:
    """A tree reads one id a token: it holds what the draft itself has said, or is likely to hear."""

    def __init__(self, runner: TranslatedRunner, inner: Tree | None) -> None:
        """`inner` is None where the draft had no room for the text."""
        self.model = runner.model
        self._runner = runner
        self._inner = inner
        self._length = len(runner.tokens)
        self._tokens: list[int] = []
        self._kept: list[int] = []  # by token: how much of the text belongs to its path

    def extend(self, tokens: Sequence[int], parents: Sequence[int]) -> Tensor:
        return self.model.extend_all([(TreePass(self, parents), tokens, len(tokens))])[0]

    def take(self, tokens: Sequence[int], parents: Sequence[int], need: int) -> TranslatedPass:
        """Note the tokens, and return what the draft must read. A pass must follow."""
        check_ids(tokens, self._runner.vocab_size)
        self._tokens += tokens
        for parent in parents:
            self._kept.append(self._kept[parent] if parent >= 0 else self._length + 1 + parent)
        rows, device = [*range(len(tokens))[-need:]], self._runner.device
        if self._inner is None:
            return TranslatedPass(None, rows, device)
        ids = [self.model.translation.read(token)[-1] for token in tokens]
        theirs = [parent if parent >= 0 else self._runner.place(self._length + 1 + parent) for parent in parents]
        return TranslatedPass((TreePass(self._inner, theirs), ids, len(ids)), rows, device)

    def adopt(self, path: Sequence[int]) -> None:
        kept, chain = self._kept[path[0]] if path else self._length, [self._tokens[number] for number in path]
        if self._inner is None:
            self._runner.rewind(kept)
            self._runner.note(chain)
        else:
            self._inner.adopt(path)
            self._runner.adopt(kept, chain)
