"""Ways in which the rows of a static pass can attend. `passes` and `slab` take the fastest for each form.

Queries [rows, heads, head_dim] are dealt: head h belongs to key head `h % kv_heads`.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from decoding.models.fast.kv import HIDDEN

# Queries, storage [2, kv_heads, texts, slots, head_dim], and the rows' positions [rows] -> [rows, heads * head_dim].
# Each text has as many rows, and a row sees the slots of its text up to its position.
AttendChains = Callable[[Tensor, Tensor, Tensor], Tensor]
# Queries [kv_heads, rows * group, head_dim], keys and values [kv_heads, slots, head_dim], mask -> the shape of queries
Attend = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def attend_at_once(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(queries[None], keys[None], values[None], mask)[0]


def attend_in_steps(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Attend by ordinary products: more launches, but all of the device works on one long text."""
    scores = torch.add(mask, _scores(queries, keys.transpose(1, 2)), alpha=queries.shape[-1] ** -0.5)
    return torch.bmm(scores.softmax(-1).to(values.dtype), values)


def attend_texts(queries: Tensor, storage: Tensor, mask: Tensor) -> Tensor:
    """Attend in several texts at once: queries and storage as `AttendChains` takes them, and a mask
    [texts, 1, rows of a text * group, slots]."""
    rows, heads, width = queries.shape
    _, kv_heads, texts, _, _ = storage.shape
    grouped = queries.to(storage.dtype).reshape(texts, -1, kv_heads, width).transpose(1, 2)
    keys, values = storage.transpose(1, 2).unbind(0)
    mixed = F.scaled_dot_product_attention(grouped, keys, values, mask)
    return mixed.transpose(1, 2).reshape(rows, heads * width)


def attend_chains(queries: Tensor, storage: Tensor, positions: Tensor) -> Tensor:
    """Do by a mask what a kernel does without one."""
    _, kv_heads, texts, slots, _ = storage.shape
    asked = positions.repeat_interleave(queries.shape[1] // kv_heads).view(texts, 1, -1, 1)
    age = asked - torch.arange(slots, device=positions.device)
    mask = torch.zeros(age.shape, dtype=storage.dtype, device=storage.device)
    hide(age, mask)
    return attend_texts(queries, storage, mask)


def hide(age: Tensor, mask: Tensor) -> None:
    """Write a mask by how old each key is for each row."""
    mask.zero_().masked_fill_(age < 0, HIDDEN)


def _scores(queries: Tensor, keys: Tensor) -> Tensor:
    """Multiply into float32 whatever the inputs are: rounded scores would be other scores than a CPU's."""
    if queries.dtype == torch.float32:
        return torch.bmm(queries, keys)
    if queries.device.type == "cuda":
        return torch.bmm(queries, keys, out_dtype=torch.float32)
    return torch.bmm(queries.float(), keys.float())
