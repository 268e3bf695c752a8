"""Messages between the target's process and the draft's, as bytes.

Questions and answers are packed by hand, because the target waits on that path. The target reads a postscript once a
round; it is marshalled, which takes 1/4 of pickling. What is rare is pickled: both ends are of one version.
"""

from __future__ import annotations

import ctypes
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

from decoding.dice import dice_for
from decoding.disco.classifier import Classifier
from decoding.drafters.base import EMPTY, Draft
from decoding.errors import DrafthouseError
from decoding.events import Backup, Source, StopReason
from decoding.models.runner import ModelRunner
from decoding.spec import Sampling
from decoding.ssd.settings import Settings
from decoding.ssd.speculator.answering import Ready
from decoding.ssd.speculator.speculator import Preparation, Speculator
from decoding.ssd.transport.mailbox import Octets

_STOPS: tuple[StopReason, ...] = get_args(StopReason)
_SOURCES: tuple[Source, ...] = get_args(Source)
_BACKUPS: tuple[Backup, ...] = get_args(Backup)

_KIND = struct.Struct("<B")
_QUESTION = struct.Struct("<Biiiqi")  # kind, and the fields of `Question`
_DRAFT = struct.Struct("<BBBBiiiii")  # kind, stop, source, backup, lookahead, passes, tokens, estimates, scores a row
READ, BEGIN, ANSWER, ENTER, JOINT = range(5)
_DONE, _DRAFTED, _REFUSED = range(3)


@dataclass(frozen=True)
class Recipe:
    """All that a sample's speculator is made of, except the model."""

    settings: Settings
    sampling: Sampling
    vocab: int
    seed: int
    end_tokens: Collection[int]
    classifier: Classifier | None = None  # with one it is `ssd-disco`

    @property
    def sends_scores(self) -> bool:
        """Whether the verdict needs the scores that the draft drew from."""
        return not self.sampling.fixes_the_text

    @property
    def kind(self) -> Hashable:
        """Samples of the same kind learn together."""
        return self.settings, self.sampling, self.classifier is None

    def speculator(self, runner: ModelRunner) -> Speculator:
        """Make a speculator with dice of its own, from the sample's seed."""
        dice = dice_for(self.sampling, self.vocab, self.seed)
        return Speculator(runner, dice, self.settings, self.end_tokens, self.classifier)


# Questions ------------------------------------------------------------------------------------------------------------


class Question(NamedTuple):
    """A verdict, and the room for the next draft."""

    accepted: int
    token: int
    limit: int
    asked_at_ns: int  # by `time.perf_counter_ns()`, which all processes share
    taken: int  # tokens that the target took from the board; then it needs no answer


def pack_text(recipe: Recipe, text: Sequence[int]) -> bytes:
    return _KIND.pack(READ) + pickle.dumps((recipe, list(text)))


def unpack_text(question: bytearray) -> tuple[Recipe, list[int]]:
    recipe, text = pickle.loads(memoryview(question)[_KIND.size :])
    return recipe, text


def pack_begin(limit: int) -> bytes:
    return _QUESTION.pack(BEGIN, 0, 0, limit, time.perf_counter_ns(), 0)


def pack_verdict(accepted: int, token: int, limit: int, taken: int = 0) -> bytes:
    return _QUESTION.pack(ANSWER, accepted, token, limit, time.perf_counter_ns(), taken)


def unpack_question(question: bytearray) -> Question:
    return Question(*_QUESTION.unpack(question)[1:])


# Questions of texts that are decoded together -------------------------------------------------------------------------


class Asked(NamedTuple):
    """One text's question: its verdict, and the room for the next draft."""

    text: int  # its number
    accepted: int | None  # None: it begins
    token: int
    limit: int


def pack_entry(number: int, recipe: Recipe, text: Sequence[int]) -> bytes:
    return _KIND.pack(ENTER) + pickle.dumps((number, recipe, list(text)))


def unpack_entry(question: bytearray) -> tuple[int, Recipe, list[int]]:
    number, recipe, text = pickle.loads(memoryview(question)[_KIND.size :])
    return number, recipe, text


def pack_joint(asked: Sequence[Asked]) -> bytes:
    return _KIND.pack(JOINT) + marshal.dumps((time.perf_counter_ns(), [tuple(each) for each in asked]))


def unpack_joint(question: bytearray) -> tuple[int, list[Asked]]:
    """Return the time of the question, and what each text asks."""
    asked_at_ns, asked = marshal.loads(memoryview(question)[_KIND.size :])
    return asked_at_ns, [Asked(*each) for each in asked]


# Answers --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Postscript:
    """Facts about a draft that are known only after it was sent, and the preparation before it."""

    confidence: tuple[float, ...]
    estimate: tuple[float, ...]
    preparation: Preparation


def no_postscript() -> Postscript:
    return Postscript((), (), Preparation())


def pack_postscript(postscript: Postscript) -> bytes:
    return marshal.dumps((postscript.confidence, postscript.estimate, tuple(postscript.preparation)))


def unpack_postscript(octets: bytearray) -> Postscript:
    confidence, estimate, preparation = marshal.loads(octets)
    return Postscript(confidence, estimate, Preparation(*preparation))


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
    return _KIND.pack(_REFUSED) + pickle.dumps(error)


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


def unpack_draft(reply: bytearray, postscript: Callable[[], Postscript] = no_postscript) -> Draft:
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


def _rows(reply: bytearray, count: int, width: int) -> Tensor | None:
    if not width:
        return None  # nobody on this side needs them, or the tokens were not drawn
    return torch.frombuffer(reply, dtype=torch.float32, offset=len(reply) - 4 * count * width).reshape(count, width)


def pack_answers(answers: Sequence[bytes]) -> bytes:
    """Join drafts and refusals, one for each text that asked."""
    return marshal.dumps([*answers])


def unpack_answers(reply: bytearray) -> list[bytearray]:
    return [bytearray(answer) for answer in marshal.loads(reply)]


def pack_postscripts(postscripts: Sequence[Postscript]) -> bytes:
    return marshal.dumps([pack_postscript(each) for each in postscripts])


def unpack_postscripts(octets: bytearray) -> list[Postscript]:
    return [unpack_postscript(bytearray(each)) for each in marshal.loads(octets)]


# The board ------------------------------------------------------------------------------------------------------------

# The speculator posts the drafts that are ready for the next verdict, and the target looks its verdict up: most hits
# need no answer (docs/decisions/0018). The board holds integers alone, since scores never travel this way.
_FIXED = 4  # integers of an entry before its drafted tokens


def pack_board(ready: Sequence[Ready]) -> bytes:
    numbers = array("i")
    for accepted, token, tokens, stop in ready:
        numbers.extend((accepted, token, _STOPS.index(stop), len(tokens), *tokens))
    return numbers.tobytes()


def find_on_board(posted: bytearray, accepted: int, token: int) -> Ready | None:
    """Find the draft that is ready for this verdict."""
    numbers = array("i", bytes(posted))
    at = 0
    while at < len(numbers):
        begins = at + _FIXED
        ends = begins + numbers[at + 3]
        if numbers[at] == accepted and numbers[at + 1] == token:
            return Ready(accepted, token, tuple(numbers[begins:ends]), _STOPS[numbers[at + 2]])
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
