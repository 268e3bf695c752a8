"""How much memory a process may take that opens strangers' files, and what it takes now.

The limit is kept by another process that watches (decision 0037): limits of the system count address space, of which
torch and CUDA reserve far more than they use.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from decoding.choice import Choice
from decoding.errors import DrafthouseError
from decoding.models.folder import ModelFolder
from decoding.prompts.prompt import PromptItem
from decoding.ssd.memory import needed_by
from worker import gauges

MIB, GIB = 1 << 20, 1 << 30
HEADROOM = "DRAFTHOUSE_MEMORY_HEADROOM_GB"  # beside the models' own size; an operator may raise it
OVERSHOOT = 128 * MIB  # a process may take so much more between two looks
CUDA = 4 * GIB  # what CUDA keeps on the machine's side
WIDTH = 4  # bytes of a number, as models are run on a CPU
COPIES = 2  # of the weights: a peer loads them again, and packing copies them
PASS_ROWS = 512  # that a fast decoder reads at once
MOST_ROWS = 4096  # of a mask that transformers makes for a whole text
RECORDED = 16 * 1024  # bytes of what a study keeps of one token, at most
LOOK_EVERY = 0.05  # s
KIN_EVERY = 20  # looks between two searches for the processes that a process has started


class OverLimit(DrafthouseError):
    """A process took more memory than the models and texts it was given can need."""

    code = "memory-limit"

    def __init__(self, doing: str, limit: int) -> None:
        super().__init__(
            f"{doing} took more than {limit / GIB:.2f} GiB of memory and was ended. Models and texts of this size need "
            f"less: a config, tokenizer or prompt is damaged or made to take memory. Use another copy of it; if you "
            f"trust it, start Drafthouse with a larger {HEADROOM} ({headroom() / GIB:.1f} now)."
        )


def headroom() -> int:
    try:
        return max(1, int(float(os.environ.get(HEADROOM, "1")) * GIB))
    except (ValueError, OverflowError):
        return GIB


def limit(own: int = 0) -> int:
    """Bytes at which a process is ended: the models' own size and the headroom."""
    return own + headroom() - OVERSHOOT + (CUDA if _sees_gpus() else 0)


def _sees_gpus() -> bool:
    """Torch would use CUDA here. Asked without torch, which takes seconds to load."""
    return Path("/dev/nvidiactl").exists() and os.environ.get("CUDA_VISIBLE_DEVICES") != ""


def lengths_of(prompts: Iterable[PromptItem], new_tokens: int) -> list[int]:
    """Bound the tokens of each prompt: a token is a byte at least. A later turn also reads the turns and answers before
    it."""
    found: dict[str, int] = {}
    for prompt in prompts:
        before = found[prompt.follows] + new_tokens if prompt.follows in found else 0
        found[prompt.id] = before + len(prompt.content.encode("utf-8", "replace"))
    return list(found.values())


def run_size(
    models: Sequence[ModelFolder],
    lengths: Sequence[int],
    new_tokens: int,
    choices: Sequence[Choice] = (),
    *,
    is_recorded: bool = False,
) -> int:
    """Bytes that a pair and its prompts need at most. `lengths` are those of the prompts, by `lengths_of`.
    `is_recorded`: a study keeps what it saw of every token."""
    longest = max(lengths, default=0)
    size = sum(_size(model, longest + new_tokens) for model in models)
    vocab = min((model.vocab_size for model in models), default=0)
    scores = sum(needed_by(choice, vocab) for choice in choices)
    beside = max((choice.load.most_at_once for choice in choices), default=1) - 1
    size += beside * sum(_text_size(model, longest + new_tokens) for model in models)
    size += beside * new_tokens * vocab * WIDTH  # the noise of shared dice
    return size + scores + (len(lengths) * new_tokens * RECORDED if is_recorded else 0)


def _text_size(model: ModelFolder, longest: int) -> int:
    """Bytes of the keys and values of one text."""
    per_token = min(model.kv_values_per_token or 0, model.parameters)
    return WIDTH * min(longest, model.context or longest) * per_token


def _size(model: ModelFolder, longest: int) -> int:
    length = min(longest, model.context or longest)
    per_token = min(model.kv_values_per_token or 0, model.parameters)
    rows = PASS_ROWS * model.shape.group if model.shape else min(length, MOST_ROWS)
    return COPIES * WIDTH * (model.parameters + length * (per_token + rows))


class MemoryReader:
    """Reads what a process and those it has started take; what they share is left out."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._kin = [pid]
        self._spared: set[int] = set()
        self._looks = 0

    def spare(self, pid: int) -> None:
        """Leave out a program that was started, and all that it starts."""
        self._spared.add(pid)
        self._looks = 0

    def largest(self) -> int:
        """Bytes, of the one that takes most."""
        if self._looks % KIN_EVERY == 0:
            spared = {member for pid in self._spared for member in gauges.family(pid)}
            self._kin = [member for member in gauges.family(self.pid) if member not in spared]
        self._looks += 1
        return max(map(_taken, self._kin))


def _taken(pid: int) -> int:
    resident, shared = gauges.held(pid)
    return resident - shared
