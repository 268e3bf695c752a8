"""Our decoder: FastModel has a model's weights, laid out for a device; FastRunner reads a text with them; FastTree is a
tree in the slots behind the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from decoding.models.devices import facts_of, indexed, sent_to
from decoding.models.fast.capturing import Capturing
from decoding.models.fast.decoder import Decoder
from decoding.models.fast.fused import chosen
from decoding.models.fast.kv import Cache, JointRows, Rows, TreeMask
from decoding.models.fast.lean import Lean
from decoding.models.fast.linear import Layout, fastest
from decoding.models.fast.passes import Follower, Passes, SlicedPasses, StaticPasses
from decoding.models.fast.products import with_tiles
from decoding.models.fast.shape import Shape
from decoding.models.fast.slab import NewRows, Slab, SlabCache, SlabPasses, fits
from decoding.models.fast.weights import ModelWeights
from decoding.models.runner import (
    Feed,
    ModelRunner,
    Reader,
    TreePass,
    check_extend,
    check_ids,
    check_open,
    check_rewind,
    check_tree,
)

SCRATCH = 256  # slots for branches to begin with; more are made when they are needed
DEEPEST = 32  # steps of a tree for which a static cache makes room at once
PASS = 512  # rows of one pass: a long prompt is read in pieces, so that no mask is as large as its square
TRIED = 4  # rounds of each way to judge a draft: together fewer than a warm-up has
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


class FastModel:
    """`dtype` is what rows travel in between the layers; scores and logits are float32 always. On a CPU, `auto` takes
    bfloat16 where the checkpoint is no finer and it is clearly faster here, measured now."""

    def __init__(
        self,
        shape: Shape,
        weights: ModelWeights,
        *,
        dtype: str = "auto",
        context: int | None = None,
        device: torch.device | None = None,
        static: bool | None = None,
        layout: Layout | None = None,
        capturing: Capturing | None = None,
    ) -> None:
        """`static` chooses the GPU's layout of passes, and `capturing` records them; by default, where there is a GPU.
        `layout` is that of the matrices; by default the fastest, measured now."""
        self.shape = shape
        self.vocab_size = shape.vocab_size
        self.context = min(context or shape.context, shape.context)
        self.device = indexed(device or torch.device("cpu"))
        self._is_static = self.device.type == "cuda" if static is None else static
        layout = layout or _layout(weights, dtype, self.device, self._is_static)
        self._capturing = capturing or (Capturing(self.device) if self.device.type == "cuda" else None)
        kernels = chosen(shape, layout, self._capturing) if self._capturing and self._is_static else None
        self.decoder = Decoder(shape, weights, layout, self.context, self.device, kernels)
        if self._capturing and self._is_static:
            self.decoder.kernels = with_tiles(self.decoder, self._capturing)
        self._lean = Lean(self.decoder)
        told = self.decoder.kernels.told
        self.facts = facts_of("fast", self.device, layout.dtype, layout.way, self.context, told)

    def new_runner(self) -> FastRunner:
        return FastRunner(self, self.new_cache(), self.context)

    def new_runners(self, count: int, room: int = 0) -> list[ModelRunner]:
        held = self._held(room)
        if not self._is_static:
            return [FastRunner(self, self.new_cache(held), held) for _ in range(count)]
        slab = Slab(self.decoder, count, _slots(held), self._capturing)
        return [FastRunner(self, SlabCache(slab, place), held) for place in range(count)]

    @torch.inference_mode()
    def extend_all(self, feeds: Sequence[Feed]) -> list[Tensor]:
        if self._is_static:
            return _extend_in_slabs(feeds)
        logits: list[Tensor] = []
        for some in _packed(feeds):
            if len(some) == 1:
                [(reader, tokens, need)] = some
                logits.append(reader.extend(tokens, need))
            else:
                logits += self._joint_pass(some)
        return logits

    def _joint_pass(self, feeds: Sequence[Feed]) -> Sequence[Tensor]:
        """Read all texts in one pass on a CPU. They share every matrix product; each attends to its own cache."""
        ids, parts = zip(*[_taken(feed, self.shape) for feed in feeds], strict=True)
        needs = [need for _, _, need in feeds]
        needed = _needed([part.count for part in parts], needs)
        rows = JointRows(parts, self.shape)
        hidden = self._lean.layered(*self.decoder.embedded(torch.cat(ids), rows), parts, rows)
        return torch.split_with_sizes(self.decoder.logits(hidden, needed), needs)

    def bytes_for(self, room: int) -> int:
        item = torch.float32 if not self._is_static else self.decoder.layout.dtype
        return self.shape.kv_values_per_token * item.itemsize * _slots(self._held(room))

    def new_cache(self, room: int = 0) -> Cache:
        slots = _slots(self._held(room))
        if not self._is_static:
            return Cache(self.shape, slots, torch.float32, self.device)
        cache = Cache(self.shape, slots, self.decoder.layout.dtype, self.device)
        cache.values.zero_()  # hidden slots are read too, and zero times what memory held before may be NaN
        return cache

    def _held(self, room: int) -> int:
        return min(room or self.context, self.context)

    def passes_over(self, cache: Cache) -> Passes:
        if isinstance(cache, SlabCache):
            return SlabPasses(self.decoder, cache, self._capturing)
        if self._is_static:
            return StaticPasses(self.decoder, cache, self._capturing)
        return SlicedPasses(self.decoder, cache, self._lean)


class FastRunner:
    """A model with one cache."""

    def __init__(self, model: FastModel, cache: Cache, context: int) -> None:
        """`context` is the most tokens that its text can have; the cache holds them."""
        self.model = model
        self.vocab_size = model.vocab_size
        self.context = context
        self.device = model.device
        self.facts = model.facts
        self.decoder = model.decoder
        self.cache = cache
        self.passes = model.passes_over(cache)
        self.length = 0
        self._tokens: list[int] = []
        self._unread: list[Tensor] = []  # ids that were fed as tensors and have not been looked at yet
        self._tree: FastTree | None = None
        self.followers: dict[object, Follower] = {}  # used so far, by how they choose
        self.judging = UnreadDrafts()

    @property
    def can_follow(self) -> bool:
        """Whether its passes can choose their next token themselves. Those of a slab are shared with other texts."""
        return self.passes.captures and not isinstance(self.cache, SlabCache)

    @property
    def tokens(self) -> list[int]:
        if self._unread:  # one read for all: each waits for the device
            self._tokens.extend(torch.cat(self._unread).tolist())
            self._unread.clear()
        return self._tokens

    def tell(self, ids: Sequence[int]) -> None:
        """Take these ids as those of all tokens that were fed as tensors, if they are as many: a read would wait."""
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
        check_extend(self.length, len(tokens), need, self.context)
        self._close()
        return self._ids(tokens)

    def advance(self, count: int) -> int:
        """Count rows that a pass reads. Return where they start."""
        start = self.length
        self.decoder.reach(start + count)
        self.length += count
        return start

    def follow(self, follower: Follower) -> Tensor:
        """Launch a pass over the token that `follower` holds for the end of the text, and return what it chooses. The
        text grows when somebody has read that token, and notes it."""
        assert isinstance(self.passes, StaticPasses)
        self.decoder.reach(self.length + 1)
        return self.passes.follow(follower, self.length)

    def note(self, tokens: Sequence[int] | Tensor) -> None:
        """Append tokens that a pass has read."""
        self.tokens.extend(int(token) for token in tokens)
        self.length += len(tokens)

    def rewind(self, length: int) -> None:
        check_rewind(self.length, length)
        self._close()
        del self.tokens[length:]
        self.length = length
        if not length and self.passes.captures:
            self.cache.clear()

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
        return self.passes.chain(ids, self.advance(len(ids)), need)

    def adopt(self, length: int, chain: list[int], slots: Tensor) -> None:
        """Let `chain`, stored in `slots`, follow the first `length` tokens."""
        self.cache.move(slots, length)
        self._close()
        self.tokens[length:] = chain
        self.length = length + len(chain)

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
        return self._runner.passes.tree(*self.take(tokens, parents))

    @torch.inference_mode()
    def adopt(self, path: Sequence[int]) -> None:
        check_open(self.is_open)
        kept = self._mask.kept[path[0]] if path else self._length
        slots = torch.tensor([self._length + row for row in path], device=self._runner.device, dtype=torch.long)
        self._runner.adopt(kept, [self._tokens[row] for row in path], slots)

    def take(self, tokens: Sequence[int], parents: Sequence[int]) -> tuple[Tensor, Rows]:
        """Check and note the tokens, and return their ids and rows. A pass must follow."""
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
        return ids, Rows(runner.cache, runner.decoder.shape, start, count, where, self._mask.last())


def _slots(tokens: int) -> int:
    """Slots of a cache for so many tokens and branches behind them. Masks are read fastest in whole blocks."""
    return -(-(tokens + SCRATCH) // 64) * 64


def _layout(weights: ModelWeights, dtype: str, device: torch.device, is_static: bool) -> Layout:
    """Choose how the matrices lie, and in which dtype rows travel between them. `auto` never rounds the weights."""
    stored = weights.embedding.dtype
    if is_static or device.type != "cpu":
        return Layout("plain", stored if dtype == "auto" else DTYPES[dtype], is_fused=is_static)
    dtypes = [DTYPES[dtype]] if dtype != "auto" else [torch.float32, *[torch.bfloat16] * (stored == torch.bfloat16)]
    first = weights.layer(0)
    return fastest([part.weight[:2048] for part in (first.qkv, first.out, first.inner, first.down)], dtypes)


def _packed(feeds: Sequence[Feed]) -> Iterator[list[Feed]]:
    """Put as many texts into a pass as `PASS` rows allow."""
    pack: list[Feed] = []
    rows = 0
    for feed in feeds:
        if pack and rows + len(feed[1]) > PASS:
            yield pack
            pack, rows = [], 0
        pack.append(feed)
        rows += len(feed[1])
    yield pack


def _taken(feed: Feed, shape: Shape) -> tuple[Tensor, Rows]:
    """Return the ids and rows of one text, which goes on with a chain or a tree. All are of this model."""
    reader, tokens, need = feed
    if isinstance(reader, TreePass):
        tree: FastTree = reader.tree  # type: ignore[assignment]
        return tree.take(list(tokens), reader.parents)
    runner: FastRunner = reader  # type: ignore[assignment]
    ids = runner.take(tokens, need)
    return ids, Rows(runner.cache, shape, runner.advance(len(ids)), len(ids))


def _needed(counts: Sequence[int], needs: Sequence[int]) -> int | Tensor:
    """Say which rows' logits are asked for: the last ones of each text."""
    if [*counts] == [*needs]:
        return sum(counts)
    rows: list[int] = []
    end = 0
    for count, need in zip(counts, needs, strict=True):
        end += count
        rows += range(end - need, end)
    return torch.tensor(rows)


def _extend_in_slabs(feeds: Sequence[Feed]) -> list[Tensor]:
    """Extend each runner of one model, in one pass for each slab. Texts without one, and pieces of prompts, read
    alone."""
    logits: dict[int, Tensor] = {}
    together: dict[Slab, list[int]] = {}
    for number, (runner, tokens, need) in enumerate(feeds):
        slab = _slab_of(runner) if fits(len(tokens), need) else None
        if slab:
            together.setdefault(slab, []).append(number)
        else:
            logits[number] = runner.extend(tokens, need)
    for slab, numbers in together.items():
        found = slab.read([_new_rows(feeds[number]) for number in numbers])
        logits |= {number: rows[-feeds[number][2] :] for number, rows in zip(numbers, found, strict=True)}
    return [logits[number] for number in range(len(feeds))]


def _slab_of(runner: Reader) -> Slab | None:
    is_in_slab = isinstance(runner, FastRunner) and isinstance(runner.cache, SlabCache)
    return runner.cache.slab if is_in_slab else None  # type: ignore[attr-defined]


def _new_rows(feed: Feed) -> NewRows:
    runner, tokens, need = feed
    assert isinstance(runner, FastRunner) and isinstance(runner.cache, SlabCache)
    ids = runner.noted(tokens, need)
    return NewRows(runner.cache, runner.advance(len(ids)), ids)
