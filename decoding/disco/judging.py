"""Judge of copied tokens: the part of a classifier that sees them. Standard library only, so that what-if asks it
too."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, log
from operator import mul
from typing import Any

from decoding import bounded_json
from decoding.disco.prices import COPIED, Prices, threshold_in
from decoding.drafting.source import Match
from decoding.errors import BadStrategy

MATCHES = ("copied", "match", "count", "share")  # features of a match; for drafted tokens they are 0
SEEN = ("position", *MATCHES)  # features of a copied token, in this order; all others are 0
POSITION_SCALE = 20.0  # the published cap; positions are divided by it
TENSORS = ("hidden.weight", "hidden.bias", "out.weight", "out.bias")  # of a classifier's file
TENSORS_OF_COPIES = tuple(f"copied.{name}" for name in TENSORS)  # of the network for copied tokens, if it has its own

Unit = tuple[Sequence[float], float, float]  # a hidden unit: its weights, its bias, its weight in the output


def estimate(units: Sequence[Unit], bias: float, seen: Sequence[float]) -> float:
    """Estimate one token in plain Python: a call of torch costs more than so little arithmetic."""
    logit = bias
    for weights, shift, out in units:
        hidden = sum(map(mul, weights, seen), shift)
        if hidden > 0.0:
            logit += out * hidden
    return 1.0 / (1.0 + exp(-max(logit, -700.0)))


def seen_of(match: Match, ahead: int) -> list[float]:
    """Features of a copied token with so many tokens of the draft before it."""
    return [(ahead + 1) / POSITION_SCALE, 1.0, log(match.length), log(match.times), match.times / match.total]


@dataclass
class CopyJudge:
    """Estimates copied tokens. Few combinations of features occur, so it remembers its answers."""

    units: Sequence[Unit]  # with weights for SEEN
    bias: float
    card: Mapping[str, Any]
    prices: Prices | None = None  # of the run that uses it
    _known: dict[tuple[Match, int], float] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if not any(any(weights[-len(MATCHES) :]) for weights, _, _ in self.units):
            raise BadStrategy(
                "This classifier has learned nothing about copied tokens; train one with the design sources: "
                "train-disco --design sources."
            )

    @property
    def threshold(self) -> float:
        return threshold_in(self.card, self.prices, COPIED)

    def __call__(self, match: Match, ahead: int) -> float:
        asked = match, ahead
        if asked not in self._known:
            self._known[asked] = estimate(self.units, self.bias, seen_of(match, ahead))
        return self._known[asked]


def read_judge(weights: bytes, card: Mapping[str, Any]) -> CopyJudge:
    """Read the judge from a classifier's safetensors file and its card. Raise BadStrategy if the file holds none."""
    try:
        size = int.from_bytes(weights[:8], "little")
        header, body = bounded_json.loads(weights[8 : 8 + size].decode()), weights[8 + size :]
        names = TENSORS_OF_COPIES if TENSORS_OF_COPIES[0] in header else TENSORS
        hidden, biases, outs, [bias] = (_numbers(header[name], body) for name in names)
        columns, width = [card["features"].index(name) for name in SEEN], len(card["features"])
        rows = [[hidden[start + column] for column in columns] for start in range(0, len(hidden), width)]
        threshold_in(card, None, COPIED)  # a card that lacks it is refused now
        return CopyJudge(list(zip(rows, biases, outs, strict=True)), bias, card)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, struct.error) as error:
        raise BadStrategy(f"The classifier's weights cannot be read ({error}). Train it again.") from None


def _numbers(entry: Mapping[str, Any], body: bytes) -> tuple[float, ...]:
    if entry["dtype"] != "F32":
        raise ValueError(f"they are {str(entry['dtype'])[:10]}, not F32")
    start, end = entry["data_offsets"]
    return struct.unpack(f"<{(end - start) // 4}f", body[start:end])
