"""FastRunner: a fast model that reads one text, with a tree in the slots behind the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from decoding.models.bounds import (
    check_extend,
    check_ids,
    check_open,
    check_rewind,
    check_tree,
)
from decoding.models.devices import Facts, sent_to
from decoding.models.fast.decoder import Decoder
from decoding.models.fast.kv import Cache, Rows, TreeMask
from decoding.models.fast.passes import Follower, Passes, StaticPasses
from decoding.models.runner import Model

DEEPEST = 32  # steps of a tree for which a static cache makes room at once
PASS = 512  # rows of one pass: a long prompt is read in pieces, so that no mask is as large as its square
TRIED = 4  # rounds of each way to judge a draft: together fewer than a warm-up has


class RunnerModel(Model, Protocol):
    """The parts of a `FastModel` that a runner uses."""

    vocab_size: int
    context: int
    device: torch.device
    facts: Facts
    decoder: Decoder

    def new_runner(self) -> FastRunner: ...
    def passes_over(self, cache: Cache) -> Passes: ...


class FastRunner:
    """A model with one cache."""

    def __init__(self, model: RunnerModel, cache: Cache, context: int) -> None:
        """`context` is the most tokens that its text can have; the cache holds them."""
        self.model = model
        self.vocab_size = model.vocab_size
        self.context = context
        self.device = model.device
        self.facts = model.facts
        self.decoder = model.decoder
        self.cache = cache
        self.passes = model.passes_over(cache)
        self._length = 0
        self._tokens: list[int] = []
        self._unread: list[Tensor] = []  # ids that were fed as tensors and have not been looked at yet
        self._tree: FastTree | None = None
        self.followers: dict[object, Follower] = {}  # used so far, by how they choose
        self.judging = UnreadDrafts()

    @property
    def can_follow(self) -> bool:
        return isinstance(self.passes, StaticPasses) and self.passes.can_follow

    @property
    def length(self) -> int:
        return self._length

    @property
    def tokens(self) -> list[int]:
        if self._unread:  # one read for all: each waits for the device
            self._tokens.extend(torch.cat(self._unread).tolist())
            self._unread.clear()
        return self._tokens

    def tell(self, ids: Sequence[int]) -> None:
        if self._unread and sum(map(len, self._unread)) == len(ids):
            self._unread.clear()
            self._tokens.extend(ids)

    @torch.inference_mode()
    def extend(self, tokens: Sequence[int] | Tensor, need: int = 1) -> Tensor:
        left = len(tokens)
        if left <= PASS:
            return self._pass(self.take(tokens, need), need)
        logits = []
        for ids in torch.split(self.take(tokens, need), PASS):
            left -= len(ids)
            needed = min(need - left, len(ids))
            last = self._pass(ids, max(needed, 1))
            if needed > 0:
                logits.append(last)
        return logits[0] if len(logits) == 1 else torch.cat(logits)

    def take(self, tokens: Sequence[int] | Tensor, need: int) -> Tensor:
        """Check the tokens, note them, and return their ids on the device. A pass must follow."""
        ids = self.noted(tokens, need)
        return ids if isinstance(ids, Tensor) else sent_to(self.device, ids)

    def noted(self, tokens: Sequence[int] | Tensor, need: int) -> Tensor | list[int]:
        """Do the same, and leave ids on the host that are there."""
        check_extend(self._length, len(tokens), need, self.context)
        self._close()
        return self._ids(tokens)

    def advance(self, count: int) -> int:
        """Count rows that a pass reads which other texts share. Return where they start."""
        start = self._length
        self.decoder.reach(start + count)
        self._length += count
        return start

    def follow(self, follower: Follower) -> Tensor:
        """Launch a pass over the token that `follower` holds for the end of the text, and return what it chooses. The
        text grows when somebody has read that token, and notes it."""
        assert isinstance(self.passes, StaticPasses)
        self.decoder.reach(self._length + 1)
        return self.passes.follow(follower, self._length)

    def note(self, tokens: Sequence[int] | Tensor) -> None:
        """Append tokens that a pass has read."""
        self.tokens.extend(int(token) for token in tokens)
        self._length += len(tokens)

    def rewind(self, length: int) -> None:
        check_rewind(self._length, length)
        self._close()
        del self.tokens[length:]
        self._length = length
        if not length:
            self.passes.forget()

    def grow(self) -> FastTree:
        self._close()
        self._tree = FastTree(self)
        return self._tree

    def _ids(self, tokens: Sequence[int] | Tensor) -> Tensor | list[int]:
        """Note the ids now, or, if a captured pass can take them where they are, when `tokens` is next asked for."""
        if isinstance(tokens, Tensor) and tokens.device == self.device and self.passes.captures:
            ids = tokens.clone()  # the caller may write the next ids over these
            self._unread.append(ids)
            return ids
        listed = tokens.tolist() if isinstance(tokens, Tensor) else list(tokens)
        check_ids(listed, self.vocab_size)
        self.tokens.extend(listed)
        return listed

    def _pass(self, ids: Tensor, need: int) -> Tensor:
        start, count = self._length, len(ids)
        self.decoder.reach(start + count)
        logits = self.passes.chain(ids, start, need)
        self._length += count
        return logits

    def adopt(self, length: int, chain: list[int], slots: Tensor) -> None:
        """Let `chain`, stored in `slots`, follow the first `length` tokens."""
        self.cache.move(slots, length)
        self._close()
        self.tokens[length:] = chain
        self._length = length + len(chain)

    def _close(self) -> None:
        if self._tree is not None:
            self._tree.is_open = False
            self._tree = None


class UnreadDrafts:
    """Choice, for drafts of each length, whether the target judges them before the host has read them. The first rounds
    try both ways in turn; from then on all go the way of the fastest of them. Once this is settled, lengths that were
    not tried as often are not read first: nothing is tried in rounds that count."""

    is_settled = False

    def __init__(self) -> None:
        self._took: dict[int, tuple[list[int], list[int]]] = {}  # by length: rounds with an unread and a read draft, ns

    def takes_unread(self, length: int) -> bool:
        unread, read = self._took.setdefault(length, ([], []))
        if len(read) < TRIED:
            return self.is_settled or len(unread) == len(read)
        return min(unread) <= min(read)

    def note(self, length: int, is_unread: bool, took_ns: int) -> None:
        took = self._took[length][0 if is_unread else 1]
        if len(took) < TRIED:
            took.append(took_ns)

    @property
    def told(self) -> dict[str, str]:
        """Say of each length what was found, beside the kernels."""
        return {
            f"unread draft of {length}": f"{'used' if self.takes_unread(length) else 'not used'}; a round takes "
            f"{min(unread) / 1e3:.1f} µs with it, {min(read) / 1e3:.1f} µs without"
            for length, (unread, read) in sorted(self._took.items())
            if len(read) == TRIED
        }


class FastTree:
    """A tree takes the slots behind the text, in the order in which its tokens come."""

    def __init__(self, runner: FastRunner) -> None:
        self.is_open = True
        self.model = runner.model
        self._runner = runner
        self._length = runner.length
        self._mask = TreeMask(self._length, runner.decoder.shape, runner.device)
        self._tokens: list[int] = []

    @torch.inference_mode()
    def extend(self, tokens: Sequence[int], parents: Sequence[int]) -> Tensor:
        return self._runner.passes.tree(*self._take(tokens, parents))

    def take(self, tokens: Sequence[int], parents: Sequence[int]) -> tuple[Tensor, Rows]:
        """Check and note the tokens, and return their ids and rows. A pass that other texts share must follow."""
        ids, start, where, mask = self._take(tokens, parents)
        return ids, Rows(self._runner.cache, self._runner.decoder.shape, start, len(ids), where, mask)

    @torch.inference_mode()
    def adopt(self, path: Sequence[int]) -> None:
        check_open(self.is_open)
        kept = self._mask.kept[path[0]] if path else self._length
        slots = torch.tensor([self._length + row for row in path], device=self._runner.device, dtype=torch.long)
        self._runner.adopt(kept, [self._tokens[row] for row in path], slots)

    def _take(self, tokens: Sequence[int], parents: Sequence[int]) -> tuple[Tensor, int, Tensor, Tensor]:
        """Return ids, where they start in the cache, their positions in the text, and what they see."""
        runner, count = self._runner, len(tokens)
        before = self._mask.rows
        start = self._length + before
        positions = self._mask.grow(parents)
        check_tree(self.is_open, positions, count, runner.context)
        check_ids(tokens, runner.vocab_size)
        if start + count > runner.cache.slots:  # where passes are captured, each growth costs all captures
            follow = DEEPEST if runner.passes.captures and max(parents) < before else 0
            runner.cache.reserve(start + count * (1 + follow), used=start)
        runner.decoder.reach(max(positions) + 1)
        ids, where = sent_to(runner.device, [[*tokens], positions])
        self._tokens += tokens
        return ids, start, where, self._mask.last()
