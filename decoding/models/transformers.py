"""The runner for any model that `AutoModelForCausalLM` loads. It is slower than our own decoder, but no pair is refused
for its architecture.

It keeps a cache that can be cut and continued. Where the model's cache cannot be cut (a recurrent state), it keeps none
and reads the whole text again each time. It finds out which by trying the model itself at load, not from a list.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from decoding.models.config_bounds import CONTEXTS
from decoding.models.devices import facts_of
from decoding.models.runner import check_extend, check_ids, check_open, check_rewind, extend_each

DEFAULT_CONTEXT = 4096  # for the few models that name none


class CachingReader:
    """A model that has read one text. It keeps every layer's keys and values, also those that a sliding window no
    longer sees. The model's own mask hides them, so the cache can always be cut."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._cache = DynamicCache()
        self._length = 0
        self._keeps = {"logits_to_keep"} & set(inspect.signature(model.forward).parameters)

    def read(self, ids: Tensor, need: int) -> Tensor:
        """Ids [n] -> logits [need, V]"""
        output = self._model(
            input_ids=ids.unsqueeze(0), past_key_values=self._cache, use_cache=True, **dict.fromkeys(self._keeps, need)
        )
        self._length += len(ids)
        return _last(output, need)

    def cut(self, length: int) -> None:
        self._cache.crop(length - self._length)
        self._length = length

    def copy(self) -> CachingReader:
        """Copy the reader, not the tensors: they are replaced, never written to, when the cache grows or is cut."""
        twin = copy.copy(self)
        twin._cache = copy.copy(self._cache)
        twin._cache.layers = [copy.copy(layer) for layer in self._cache.layers]
        return twin


class RereadingReader:
    """The same for a model whose cache cannot be cut: it reads the whole text each time."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._ids = torch.empty(0, dtype=torch.long, device=model.device)

    def read(self, ids: Tensor, need: int) -> Tensor:
        self._ids = torch.cat((self._ids, ids))
        return _last(self._model(input_ids=self._ids.unsqueeze(0), use_cache=False), need)

    def cut(self, length: int) -> None:
        self._ids = self._ids[:length]

    def copy(self) -> RereadingReader:
        return copy.copy(self)


class TransformersModel:
    """`module` is loaded, in eval mode, and on its device. Its cache takes so many values for a token."""

    extend_all = staticmethod(extend_each)

    def __init__(self, module: Any, context: int | None, values_per_token: int) -> None:
        config = module.config.get_text_config()
        made_for = next((made for name in CONTEXTS if (made := getattr(config, name, None))), DEFAULT_CONTEXT)
        self.module = module
        self.vocab_size = int(module.get_output_embeddings().weight.shape[0])
        self.context = min(context or made_for, made_for)
        self.device: torch.device = module.device
        self.facts = facts_of("transformers", self.device, module.dtype, "plain", self.context)
        self.rereads = not _can_be_cut(module, self.context)
        self._bytes_per_token: int = values_per_token * module.dtype.itemsize

    def new_runner(self) -> TransformersRunner:
        return TransformersRunner(self)

    def new_runners(self, count: int, room: int = 0) -> list[TransformersRunner]:
        return [self.new_runner() for _ in range(count)]

    def bytes_for(self, room: int) -> int:
        return min(room or self.context, self.context) * self._bytes_per_token

    def new_reader(self) -> CachingReader | RereadingReader:
        return RereadingReader(self.module) if self.rereads else CachingReader(self.module)


class TransformersRunner:
    def __init__(self, model: TransformersModel) -> None:
        self.model = model
        self.vocab_size = model.vocab_size
        self.context = model.context
        self.device = model.device
        self.facts = model.facts
        self._reader = model.new_reader()
        self.tokens: list[int] = []
        self._tree: TransformersTree | None = None

    @torch.inference_mode()
    def extend(self, tokens: Sequence[int] | Tensor, need: int = 1) -> Tensor:
        new = tokens.tolist() if isinstance(tokens, Tensor) else list(tokens)
        check_extend(len(self.tokens), len(new), need, self.context)
        check_ids(new, self.vocab_size)
        self._close()
        self.tokens.extend(new)
        return self._reader.read(torch.tensor(new, device=self.device), need)

    @torch.inference_mode()
    def rewind(self, length: int) -> None:
        check_rewind(len(self.tokens), length)
        self._close()
        del self.tokens[length:]
        if length:
            self._reader.cut(length)
        else:
            self._reader = self.model.new_reader()

    def grow(self) -> TransformersTree:
        self._close()
        self._tree = TransformersTree(self)
        return self._tree

    def twin(self) -> TransformersRunner:
        """Return a runner that has read the same text."""
        twin = copy.copy(self)
        twin.tokens, twin._reader, twin._tree = list(self.tokens), self._reader.copy(), None
        return twin

    def adopt(self, twin: TransformersRunner) -> None:
        self._close()
        self.tokens, self._reader = twin.tokens, twin._reader

    def _close(self) -> None:
        if self._tree is not None:
            self._tree.is_open = False
            self._tree = None


class TransformersTree:
    """One runner for each path, run one after the other: simple, and right for any architecture."""

    def __init__(self, runner: TransformersRunner) -> None:
        self.is_open = True
        self.model = runner.model
        self._runner = runner
        self._read: list[tuple[TransformersRunner, int]] = []  # by token: a runner, and how much of its text it sees

    def extend(self, tokens: Sequence[int], parents: Sequence[int]) -> Tensor:
        check_open(self.is_open)
        logits = []
        for token, parent in zip(tokens, parents, strict=True):
            twin = self._after(parent)
            logits.append(twin.extend([token]))
            self._read.append((twin, len(twin.tokens)))
        return torch.cat(logits)

    def adopt(self, path: Sequence[int]) -> None:
        check_open(self.is_open)
        if path:
            self._runner.adopt(self._after(path[-1]))

    def _after(self, parent: int) -> TransformersRunner:
        """Return a runner that has read up to a token: that token's own, unless a child has taken it over."""
        own, length = self._read[parent] if parent >= 0 else (self._runner, len(self._runner.tokens) + 1 + parent)
        if parent >= 0 and len(own.tokens) == length:
            return own
        twin = own.twin()
        if length < len(twin.tokens):
            twin.rewind(length)
        return twin


def _last(output: Any, need: int) -> Tensor:
    logits: Tensor = output.logits[0, -need:].float()
    return logits


@torch.inference_mode()
def _can_be_cut(model: Any, context: int) -> bool:
    """Read, cut and read on, and compare the logits with those of the same text read at once."""
    vocab_size = model.get_output_embeddings().weight.shape[0]
    length = min(24, context)
    text = (torch.arange(length, device=model.device) * 7 + 3) % vocab_size
    half = length // 2
    try:
        reader = CachingReader(model)
        reader.read(text, 1)
        reader.cut(half)
        got = reader.read(text[half:], length - half)
    except (TypeError, ValueError, AttributeError, RuntimeError, IndexError, NotImplementedError):
        return False  # it takes no such cache, or cannot cut it
    want = RereadingReader(model).read(text, length - half)
    tolerance = 1e-3 if model.dtype == torch.float32 else 0.1
    return bool((got - want).abs().max() <= tolerance * want.abs().max())
