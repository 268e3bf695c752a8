"""What target and draft write to each other, as octets. Questions and answers are packed by hand: they lie on the path
that the target waits on. Postscripts, which it reads once a round, are marshalled, which takes a quarter of pickling;
what is rare is pickled: both ends are of one version."""

from __future__ import annotations

import ctypes
import marshal
import pickle
import struct
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple, get_args

import torch
from torch import Tensor

from decoding.dice import dice_for
from decoding.disco.classifier import Classifier
from decoding.drafters.base import EMPTY, Draft
from decoding.errors import DrafthouseError
from decoding.events import Backup, Source, StopReason
from decoding.runner import ModelRunner
from decoding.spec import Sampling
from decoding.ssd.board import Ready
from decoding.ssd.mailbox import Octets
from decoding.ssd.prepared import Prepared
from decoding.ssd.settings import Settings
from decoding.ssd.speculating import Speculator

_STOPS: tuple[StopReason, ...] = get_args(StopReason)
_SOURCES: tuple[Source, ...] = get_args(Source)
_BACKUPS: tuple[Backup, ...] = get_args(Backup)

_KIND = struct.Struct("<B")
_VERDICT = struct.Struct("<Biiiqi")  # kind, accepted, token, limit, when it was sent, tokens taken
_DRAFT = struct.Struct("<BBBBiiiii")  # kind, stop, source, backup, lookahead, passes, tokens, estimates, scores a row
READ, BEGIN, ANSWER = range(3)
_DONE, _DRAFTED, _REFUSED = range(3)


@dataclass(frozen=True)
class Recipe:
    """All that a sample's speculator is made of, but for the model."""

    settings: Settings
    sampling: Sampling
    vocab: int
    seed: int
    end_tokens: Collection[int]
    classifier: Classifier | None = None  # with one it is `ssd-disco`

    @property
    def sends_scores(self) -> bool:
        """Whether the verdict needs what the draft drew from."""
        return not self.sampling.fixes_the_text

    def speculator(self, runner: ModelRunner) -> Speculator:
        """Its dice are its own, with the sample's seed."""
        dice = dice_for(self.sampling, self.vocab, self.seed)
        return Speculator(runner, dice, self.settings, self.end_tokens, self.classifier)


# Questions ------------------------------------------------------------------------------------------------------------


def read(recipe: Recipe, text: Sequence[int]) -> bytes:
    return _KIND.pack(READ) + pickle.dumps((recipe, list(text)))


def begin(limit: int) -> bytes:
    return _VERDICT.pack(BEGIN, 0, 0, limit, time.perf_counter_ns(), 0)


def answer(accepted: int, token: int, limit: int, taken: int = 0) -> bytes:
    """A verdict. Who has looked up what is ready for it says how many tokens it took, and needs no answer."""
    return _VERDICT.pack(ANSWER, accepted, token, limit, time.perf_counter_ns(), taken)


def to_read(question: bytearray) -> tuple[Recipe, list[int]]:
    recipe, text = pickle.loads(memoryview(question)[_KIND.size :])
    return recipe, text


class Asked(NamedTuple):
    accepted: int
    token: int
    limit: int
    at: int  # by `time.perf_counter_ns()`, which all processes share
    taken: int  # tokens that the target has of this draft already


def verdict(question: bytearray) -> Asked:
    return Asked(*_VERDICT.unpack(question)[1:])


# Answers --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Postscript:
    """What is known of a draft only after it has been sent, and of the time before it."""

    confidence: tuple[float, ...]
    estimate: tuple[float, ...]
    prepared: Prepared


def nothing_more() -> Postscript:
    return Postscript((), (), Prepared())


def addition(postscript: Postscript) -> bytes:
    return marshal.dumps((postscript.confidence, postscript.estimate, tuple(postscript.prepared)))


def added(octets: bytearray) -> Postscript:
    confidence, estimate, prepared = marshal.loads(octets)
    return Postscript(confidence, estimate, Prepared(*prepared))


@dataclass(frozen=True)
class Told(Draft):
    """A draft from another process: its confidences, and estimates that were not there when it was sent, come when
    somebody asks for them."""

    postscript: Callable[[], Postscript] = nothing_more

    def details(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        more = self.postscript()
        return more.confidence, self.estimates or more.estimate


def taken(ready: Ready, lookahead: int, postscript: Callable[[], Postscript]) -> Draft:
    """What was looked up on the board."""
    return Told(
        tokens=tuple(ready.tokens),
        scores=None,  # nobody on this side asks
        lookahead=lookahead,
        stop=ready.stop,
        source="hit",
        passes=0,
        postscript=postscript,
    )


def done() -> bytes:
    return _KIND.pack(_DONE)


def refused(error: DrafthouseError) -> bytes:
    return _KIND.pack(_REFUSED) + pickle.dumps(error)


def drafted(draft: Draft, with_scores: bool) -> list[Octets]:
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
    words = struct.pack(f"<{estimates}d{count}i", *draft.estimates, *draft.tokens)
    return [head, words] if scores is None else [head, words, _octets(scores)]


def opened(reply: bytearray, postscript: Callable[[], Postscript] = nothing_more) -> Draft:
    """The draft in a reply; raises what the other side refused with."""
    if reply[0] == _REFUSED:
        raise pickle.loads(memoryview(reply)[_KIND.size :])
    if reply[0] == _DONE:
        return EMPTY
    _, stop, source, backup, lookahead, passes, count, estimates, width = _DRAFT.unpack_from(reply)
    if not count:
        return EMPTY
    words = struct.unpack_from(f"<{estimates}d{count}i", reply, _DRAFT.size)
    return Told(
        tokens=words[estimates:],
        scores=_rows(reply, count, width),
        lookahead=lookahead,
        stop=_STOPS[stop],
        source=_SOURCES[source],
        passes=passes,
        estimates=words[:estimates],
        backup=_BACKUPS[backup],
        postscript=postscript,
    )


def _octets(scores: Tensor) -> bytes:
    rows = scores.float().contiguous()
    return ctypes.string_at(rows.data_ptr(), rows.nbytes)


def _rows(reply: bytearray, count: int, width: int) -> Tensor | None:
    if not width:
        return None  # nobody on this side asks, or the tokens were not drawn
    return torch.frombuffer(reply, dtype=torch.float32, offset=len(reply) - 4 * count * width).reshape(count, width)
