"""Messages between the target's process and the draft's, as bytes.

The target waits for questions and answers, so answers are packed by hand, and scores are not copied again. Questions
and postscripts are marshalled, which takes 1/4 of pickling. What is rare is pickled: both ends are of one version.
"""

from __future__ import annotations

import ctypes
import itertools
import marshal
import pickle
import struct
import time
from array import array
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, get_args

import torch
from torch import Tensor

from decoding.core.drafter import EMPTY, Draft
from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.disco.classifier import DraftClassifier
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.errors import DrafthouseError
from decoding.models.runner import ModelRunner
from decoding.ssd.speculator.answering import Ready
from decoding.ssd.speculator.speculator import Preparation, Speculator
from decoding.ssd.transport.mailbox import Octets
from decoding.trace.events import Backup, Origin, StopReason

_STOPS: tuple[StopReason, ...] = get_args(StopReason)
_SOURCES: tuple[Origin, ...] = get_args(Origin)
_BACKUPS: tuple[Backup, ...] = get_args(Backup)

_KIND = struct.Struct("<B")
_DRAFT = struct.Struct("<BBBBiiiii")  # kind, stop, source, backup, lookahead, passes, tokens, estimates, scores a row
ENTER, ASK = range(2)
_DONE, _DRAFTED, _REFUSED = range(3)
_LENGTH = struct.Struct("<I")
_ALIGNED = 4  # bytes: scores that follow are read where they lie


@dataclass(frozen=True)
class SpeculatorRecipe:
    """All that a sample's speculator is made of, except the model."""

    settings: SpeculatorSettings
    sampling: Sampling
    vocab: int
    seed: int
    end_tokens: Collection[int]
    classifier: DraftClassifier | None = None  # with one it is `ssd-disco`
    is_joint: bool = False  # whether other texts are decoded together with this one

    @property
    def sends_scores(self) -> bool:
        """Whether the verdict needs the scores that the draft drew from."""
        return not self.sampling.fixes_the_text

    @property
    def kind(self) -> Hashable:
        """Samples of the same kind learn together."""
        return self.settings, self.sampling, self.classifier is None, self.is_joint

    def speculator(self, runner: ModelRunner) -> Speculator:
        """Make a speculator with dice of its own, from the sample's seed."""
        dice = dice_for(self.sampling, self.vocab, self.seed)
        return Speculator(runner, dice, self.settings, self.end_tokens, self.classifier)


# Questions ------------------------------------------------------------------------------------------------------------


class Question(NamedTuple):
    """One text's question: its verdict, and the room for the next draft."""

    text: int  # its number
    accepted: int | None  # None: it begins
    token: int
    limit: int
    taken: int = 0  # tokens that the target took from the board; then it needs no answer


def pack_entry(number: int, recipe: SpeculatorRecipe, text: Sequence[int], running: Sequence[int]) -> bytes:
    """Pack a text that enters. `running` are the numbers of the texts that go on."""
    return _KIND.pack(ENTER) + pickle.dumps((number, recipe, list(text), running))


def unpack_entry(question: bytearray) -> tuple[int, SpeculatorRecipe, list[int], Sequence[int]]:
    number, recipe, text, running = pickle.loads(memoryview(question)[_KIND.size :])
    return number, recipe, text, running


def pack_asked(asked: Sequence[Question]) -> bytes:
    return _KIND.pack(ASK) + marshal.dumps((time.perf_counter_ns(), [tuple(each) for each in asked]))


def unpack_asked(question: bytearray) -> tuple[int, list[Question]]:
    """Return the time of the question, by the clock that all processes share, and what each text asks."""
    asked_at_ns, asked = marshal.loads(memoryview(question)[_KIND.size :])
    return asked_at_ns, [Question(*each) for each in asked]


# Answers --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Postscript:
    """Facts about a draft that are known only after it was sent, and the preparation before it."""

    confidence: tuple[float, ...]
    estimate: tuple[float, ...]
    preparation: Preparation


def no_postscript() -> Postscript:
    return Postscript((), (), Preparation())


def pack_postscripts(postscripts: Sequence[Postscript]) -> bytes:
    return marshal.dumps([(each.confidence, each.estimate, tuple(each.preparation)) for each in postscripts])


def unpack_postscripts(octets: bytearray) -> list[Postscript]:
    found = marshal.loads(octets)
    return [Postscript(confidence, estimate, Preparation(*prepared)) for confidence, estimate, prepared in found]


@dataclass(frozen=True)
class RemoteDraft(Draft):
    """A draft from another process or lane. Its confidences, and estimates that were not known when it was sent, are
    read from the postscript when somebody asks for them."""

    postscript: Callable[[], Postscript] = no_postscript

    def details(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        more = self.postscript()
        return more.confidence, self.estimates or more.estimate


def pack_done() -> bytes:
    return _KIND.pack(_DONE)


def pack_refusal(error: DrafthouseError) -> bytes:
    octets = _KIND.pack(_REFUSED) + pickle.dumps(error)
    return octets + bytes(-len(octets) % _ALIGNED)


def pack_draft(draft: Draft, with_scores: bool) -> list[Octets]:
    count, estimates = len(draft.tokens), len(draft.estimates)
    scores = draft.scores if with_scores else None
    width = 0 if scores is None else scores.shape[1]
    head = _DRAFT.pack(
        _DRAFTED,
        _STOPS.index(draft.stop),
        _SOURCES.index(draft.source),
        _BACKUPS.index(draft.backup),
        draft.lookahead,
        draft.passes,
        count,
        estimates,
        width,
    )
    numbers = struct.pack(f"<{estimates}d{count}i", *draft.estimates, *draft.tokens)
    return [head, numbers] if scores is None else [head, numbers, _octets(scores)]


def unpack_draft(reply: bytearray | memoryview, postscript: Callable[[], Postscript] = no_postscript) -> Draft:
    """Read the draft in a reply. Raises the error that the other side refused with."""
    if reply[0] == _REFUSED:
        raise pickle.loads(memoryview(reply)[_KIND.size :])
    if reply[0] == _DONE:
        return EMPTY
    _, stop, source, backup, lookahead, passes, count, estimates, width = _DRAFT.unpack_from(reply)
    if not count:
        return EMPTY
    numbers = struct.unpack_from(f"<{estimates}d{count}i", reply, _DRAFT.size)
    return RemoteDraft(
        tokens=numbers[estimates:],
        scores=_rows(reply, count, width),
        lookahead=lookahead,
        stop=_STOPS[stop],
        source=_SOURCES[source],
        passes=passes,
        estimates=numbers[:estimates],
        backup=_BACKUPS[backup],
        postscript=postscript,
    )


def _octets(scores: Tensor) -> bytes:
    rows = scores.float().contiguous()
    return ctypes.string_at(rows.data_ptr(), rows.nbytes)


def _rows(reply: bytearray | memoryview, count: int, width: int) -> Tensor | None:
    if not width:
        return None  # nobody on this side needs them, or the tokens were not drawn
    return torch.frombuffer(reply, dtype=torch.float32, offset=len(reply) - 4 * count * width).reshape(count, width)


def pack_answers(answers: Sequence[Sequence[Octets]]) -> list[Octets]:
    """Join drafts and refusals, one for each text that asked, behind their number and their lengths."""
    lengths = [sum(map(len, parts)) for parts in answers]
    return [struct.pack(f"<{len(lengths) + 1}I", len(lengths), *lengths), *itertools.chain.from_iterable(answers)]


def unpack_answers(reply: bytearray) -> list[memoryview]:
    [count] = _LENGTH.unpack_from(reply)
    lengths = struct.unpack_from(f"<{count}I", reply, _LENGTH.size)
    ends = itertools.accumulate(lengths, initial=_LENGTH.size * (count + 1))
    return [memoryview(reply)[begins:end] for begins, end in itertools.pairwise(ends)]


# The board ------------------------------------------------------------------------------------------------------------

# The drafts that are ready for the next verdict on a single text, where the target looks its verdict up: most hits need
# no answer (docs/decisions/0018). The board holds integers alone, since scores never travel this way.
_FIXED = 4  # integers of an entry before its drafted tokens


def pack_board(ready: Sequence[Ready]) -> bytes:
    numbers = array("i")
    for accepted, token, tokens, stop in ready:
        numbers.extend((accepted, token, _STOPS.index(stop), len(tokens), *tokens))
    return numbers.tobytes()


def find_on_board(posted: bytearray, accepted: int | None, token: int) -> Ready | None:
    """Find the draft that is ready for this verdict."""
    numbers = array("i", bytes(posted))
    at = 0
    while at < len(numbers):
        begins = at + _FIXED
        ends = begins + numbers[at + 3]
        if numbers[at] == accepted and numbers[at + 1] == token:
            return Ready(numbers[at], token, tuple(numbers[begins:ends]), _STOPS[numbers[at + 2]])
        at = ends
    return None


def draft_from_board(ready: Ready, lookahead: int, postscript: Callable[[], Postscript]) -> Draft:
    return RemoteDraft(
        tokens=tuple(ready.tokens),
        scores=None,  # nobody on this side needs them
        lookahead=lookahead,
        stop=ready.stop,
        source="hit",
        passes=0,
        postscript=postscript,
    )
