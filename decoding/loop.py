"""The one decode loop: propose, verify, commit, until every text is complete.

Each step plays one round of every sequence: all sequences draft, one call feeds their drafts to the target, and each
sequence takes its verdict.
"""

from __future__ import annotations

from collections import abc

from decoding.ending import Decoded
from decoding.models.runner import extend_all
from decoding.sequence import Sequence


def never() -> bool:
    return False


def decode(sequence: Sequence, cancelled: abc.Callable[[], bool] = never) -> Decoded:
    """Decode one text: a set of one."""
    decode_all([sequence], cancelled)
    return sequence.decoded


def decode_all(sequences: abc.Sequence[Sequence], cancelled: abc.Callable[[], bool] = never) -> None:
    """Decode each text to its end. When one text is complete, the others go on."""
    for sequence in sequences:
        sequence.begin()
    growing = list(sequences)
    while growing:
        if cancelled():
            for sequence in growing:
                sequence.finish("cancelled")
            return
        step(growing)
        growing = [sequence for sequence in growing if sequence.reason is None]


def step(sequences: abc.Sequence[Sequence]) -> None:
    """Play one round of every sequence."""
    for sequence in sequences:
        sequence.draft()
    logits = extend_all([sequence.ask() for sequence in sequences])
    for sequence, rows in zip(sequences, logits, strict=True):
        sequence.weigh(rows)
    for sequence in sequences:
        sequence.settle()
