"""The one decode loop: propose, verify, commit, until every text is complete.

A batch holds the sequences that are decoded together. In each round all draft, one call feeds their drafts to the
target, and each takes its verdict. Prompts that are still being read take part in that call, a bounded piece at a time,
so that no text waits long for the prompt of another.
"""

from __future__ import annotations

import sys
import time
from collections import abc

from torch import Tensor

from decoding.core.batch_state import BatchState
from decoding.core.ending import Decoded
from decoding.core.sequence import Sequence, SharedPass
from decoding.models.runner import Feed, extend_all, run_together

PIECE = 64  # tokens of prompts that one round reads while other texts grow


OnProgress = abc.Callable[[int, int], None]  # how many are done, and how many are due


def never() -> bool:
    return False


def unheard(done: int, due: int) -> None:
    """Progress that nobody follows."""


def decode(sequence: Sequence, cancelled: abc.Callable[[], bool] = never) -> Decoded:
    """Decode one text: a set of one."""
    decode_all([sequence], cancelled)
    return sequence.decoded


def decode_all(
    sequences: abc.Iterable[Sequence], cancelled: abc.Callable[[], bool] = never, state: BatchState | None = None
) -> None:
    """Decode each text to its end. When one text is complete, the others go on."""
    batch = Batch(state)
    for sequence in sequences:
        batch.admit(sequence)
    while batch.sequences:
        if cancelled():
            batch.cancel()
            return
        batch.play_round()


class Batch:
    """The sequences that are decoded together. They enter and leave between rounds."""

    def __init__(self, state: BatchState | None = None) -> None:
        self.sequences: list[Sequence] = []
        self.state = state or BatchState()
        self._prompts_ns = 0  # time in which drafts read prompts at the end of the last round

    def admit(self, sequence: Sequence) -> None:
        sequence.drafter.join(self.state)
        sequence.begin()
        self.sequences.append(sequence)

    def play_round(self) -> list[Sequence]:
        """Play one round of every sequence. Return those that have ended, and let them leave."""
        growing = [sequence for sequence in self.sequences if not sequence.is_reading]
        self.state.begin(len(growing))
        run_together([sequence.propose() for sequence in growing])
        drafted = [sequence for sequence in growing if not sequence.error]
        pieces = self._pieces(PIECE if drafted else sys.maxsize)
        shared = SharedPass(len(drafted), sum(len(tokens) for _, tokens, _ in pieces.values()), self._prompts_ns)
        logits = extend_all([*(sequence.begin_verification() for sequence in drafted), *pieces.values()])
        _launch_verdicts(drafted, logits[: len(drafted)])
        for sequence in drafted:
            sequence.commit_verdict(shared)
        began = time.perf_counter_ns()
        for (sequence, (_, tokens, _)), rows in zip(pieces.items(), logits[len(drafted) :], strict=True):
            sequence.note_prompt_read(len(tokens), rows)
        self._prompts_ns = time.perf_counter_ns() - began if pieces else 0
        if self.state.costs and drafted:
            self.state.note_round([sequence.draft_passes for sequence in drafted])
        return self._release_ended()

    def cancel(self) -> None:
        """End every text where it is."""
        for sequence in self.sequences:
            sequence.finish("cancelled")
        self.sequences = []

    def _pieces(self, most: int) -> dict[Sequence, Feed]:
        """Return the next pieces of prompts, at most so many tokens in all. Who came first reads first."""
        pieces: dict[Sequence, Feed] = {}
        for sequence in self.sequences:
            if sequence.is_reading and most:
                pieces[sequence] = sequence.prompt_piece(most)
                most -= len(pieces[sequence][1])
        return pieces

    def _release_ended(self) -> list[Sequence]:
        ended = [sequence for sequence in self.sequences if sequence.has_ended]
        if ended:
            self.sequences = [sequence for sequence in self.sequences if not sequence.has_ended]
        for sequence in ended:
            sequence.drafter.leave()
        return ended


def _launch_verdicts(drafted: list[Sequence], logits: abc.Sequence[Tensor]) -> None:
    """Launch the verdicts on all drafts."""
    each = list(zip(drafted, logits, strict=True))
    if len(each) > 1 and all(sequence.shares_choice(rows) for sequence, rows in each):
        Sequence.launch_verdicts(drafted, logits)
        return
    for sequence, rows in each:
        sequence.launch_verdict(rows)
