"""All chance in the engine. Every number is a hash of what it belongs to; nothing is drawn from a stream.

The same position in the same text gives the same number, whoever asks and however often. So strategies that split a
text into different rounds still draw the same numbers. The arithmetic is on integers, so CPU and GPU agree to the last
bit before the logarithm.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from decoding.models.devices import sent_to

CHANCE_VERSION = 1  # stored with results: another scheme gives other texts for the same seed

Role = Literal["draft", "accept", "resample"]

_WORD = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB
_ROLES: dict[Role, int] = {"draft": 0xD1B54A32D192ED03, "accept": 0xABC98388FB8FAC03, "resample": 0x8CB92BA72F3D8DD7}


def mix(value: int) -> int:
    """Finalise a splitmix64 state: every input bit affects every output bit."""
    value &= _WORD
    value = ((value ^ (value >> 30)) * _FIRST) & _WORD
    value = ((value ^ (value >> 27)) * _SECOND) & _WORD
    return value ^ (value >> 31)


def digest(tokens: Iterable[int], start: int = 0) -> int:
    """Running hash of a text: `digest(a + b) == digest(b, digest(a))`."""
    for token in tokens:
        start = mix(start * 3 + (token + 1) * _GOLDEN)
    return start


def uniform(seed: int, role: Role, context: int) -> float:
    """Number in [0, 1) for one role after one text; `context` is the text's digest."""
    return (mix(mix(seed ^ _ROLES[role]) ^ context) >> 11) * 2.0**-53


def seed_for(seed: int, prompt: str, repeat: int) -> int:
    """Seed of one sample. Each sample has its own, the same under each strategy."""
    return digest(prompt.encode(), mix(seed * _GOLDEN + repeat)) >> 1


@cache
def compiled() -> Any:
    """Return the kernels for a CPU, None where numba is missing or cannot compile them: torch needs neither."""
    try:
        from decoding.dice import kernels as dice_kernels
    except Exception:  # whatever a compiler, or a missing one, fails with
        return None
    return dice_kernels


def gumbel(seed: int, positions: Sequence[int], vocab: int, device: torch.device) -> Tensor:
    """Standard Gumbel noise for every token at each position of a text: float32 [positions, vocab].

    All steps work in place: on a CPU memory takes the time, not arithmetic.
    """
    starts = [mix(mix(seed) ^ (position * _GOLDEN)) for position in positions]
    if device.type == "cpu" and (kernels := compiled()):
        noise = torch.empty(len(starts), vocab)
        kernels.gumbel(np.array(starts, np.uint64), vocab, _GOLDEN, _FIRST, _SECOND, noise.data_ptr())
        return noise
    steps = torch.arange(1, vocab + 1, dtype=torch.int64, device=device).mul_(_signed(_GOLDEN))
    state = sent_to(device, [_signed(start) for start in starts], torch.int64)[:, None] + steps
    spare = torch.empty_like(state)
    state.bitwise_xor_(_shifted(state, 30, spare)).mul_(_signed(_FIRST))
    state.bitwise_xor_(_shifted(state, 27, spare)).mul_(_signed(_SECOND))
    state.bitwise_xor_(_shifted(state, 31, spare))
    # Never 0 or 1, so both logarithms are finite.
    unit = _shifted(state, 11, spare).to(torch.float64).add_(0.5).mul_(2.0**-53)
    return unit.log_().neg_().log_().neg_().to(torch.float32)


def _shifted(state: Tensor, bits: int, out: Tensor) -> Tensor:
    """Shift right logically: torch's own shift copies the sign."""
    return torch.bitwise_right_shift(state, bits, out=out).bitwise_and_((1 << (64 - bits)) - 1)


def _signed(word: int) -> int:
    word &= _WORD
    return word - (1 << 64) if word >> 63 else word
