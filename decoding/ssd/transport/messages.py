"""Messages between the target's process and the draft's, as bytes.

The target waits for questions and answers, so they are marshalled, which takes 1/4 of pickling, and scores are not
copied again. What is rare is pickled: both ends are of one version.
"""

from __future__ import annotations

import ctypes
import marshal
import pickle
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from decoding.dice.verify import EMPTY, Draft
from decoding.errors import DrafthouseError
from decoding.ssd.speculator.speculator import Postscript, Preparation, Question, Ready, SpeculatorRecipe
from decoding.ssd.transport.mailbox import Octets

ENTER, ASK = range(2)  # the first byte of a question
_ALIGNED = 4  # bytes: scores that follow are read where they lie
NO_SCORES = torch.empty(0)


# Questions ------------------------------------------------------------------------------------------------------------


def pack_entry(number: int, recipe: SpeculatorRecipe, text: Sequence[int], running: Sequence[int]) -> bytes:
    """Pack a text that enters. `running` are the numbers of the texts that go on."""
    return bytes([ENTER]) + pickle.dumps((number, recipe, list(text), running))


def unpack_entry(question: bytearray) -> tuple[int, SpeculatorRecipe, list[int], Sequence[int]]:
    number, recipe, text, running = pickle.loads(memoryview(question)[1:])
    return number, recipe, text, running


def pack_asked(asked: Sequence[Question]) -> bytes:
    return bytes([ASK]) + marshal.dumps((time.perf_counter_ns(), [tuple(each) for each in asked]))


def unpack_asked(question: bytearray) -> tuple[int, list[Question]]:
    """Return the time of the question, by the clock that all processes share, and what each text asks."""
    asked_at_ns, asked = marshal.loads(memoryview(question)[1:])
    return asked_at_ns, [Question(*each) for each in asked]


# Answers --------------------------------------------------------------------------------------------------------------


def pack_postscripts(postscripts: Sequence[Postscript]) -> bytes:
    return marshal.dumps([(each.confidence, each.estimate, tuple(each.preparation)) for each in postscripts])


def unpack_postscripts(octets: bytearray) -> list[Postscript]:
    found = marshal.loads(octets)
    return [Postscript(confidence, estimate, Preparation(*prepared)) for confidence, estimate, prepared in found]


def pack_reply(error: DrafthouseError | None = None) -> bytes:
    """Pack the reply to what needs no draft: nothing, or why it is refused."""
    return pickle.dumps(error)


def check_reply(reply: bytearray) -> None:
    if error := pickle.loads(reply):
        raise error


def pack_answers(answers: Sequence[tuple[Draft | DrafthouseError, Tensor | None]]) -> list[Octets]:
    """Pack drafts, or why there is none, of the texts that asked. Behind them lie the scores that verdicts need."""
    head = marshal.dumps([_packed(answer, scores) for answer, scores in answers])
    return [head, bytes(-len(head) % _ALIGNED), *(_octets(scores) for _, scores in answers if scores is not None)]


def _packed(answer: Draft | DrafthouseError, scores: Tensor | None) -> bytes | tuple[object, ...]:
    if isinstance(answer, DrafthouseError):
        return pickle.dumps(answer)
    more = answer.estimates, answer.backup, 0 if scores is None else scores.shape[1]
    return tuple(answer.tokens), answer.lookahead, answer.stop, answer.origin, answer.passes, *more


def unpack_answers(reply: bytearray) -> list[Callable[[Callable[[], Postscript]], Draft]]:
    packed: list[Any] = marshal.loads(reply)
    sizes = [0 if isinstance(each, bytes) else len(each[0]) * each[-1] for each in packed]
    rows = torch.frombuffer(reply, dtype=torch.float32, offset=len(reply) - 4 * sum(sizes)) if any(sizes) else NO_SCORES
    parts = rows.split_with_sizes(sizes)
    return [partial(_unpacked, *each) for each in zip(packed, parts, strict=True)]


def _unpacked(packed: Any, rows: Tensor, postscript: Callable[[], Postscript]) -> Draft:
    """Return the draft of a reply. Raises the error that the other side refused with."""
    if isinstance(packed, bytes):
        raise pickle.loads(packed)
    tokens, lookahead, stop, origin, passes, estimates, backup, width = packed
    if not tokens:
        return EMPTY
    scores = rows.view(-1, width) if width else None  # without: nobody here needs them, or the tokens were not drawn
    return Draft(tokens, scores, lookahead, stop, origin, passes, estimates, backup=backup, postscript=postscript)


def _octets(scores: Tensor) -> bytes:
    rows = scores.float().contiguous()
    return ctypes.string_at(rows.data_ptr(), rows.nbytes)


# The board ------------------------------------------------------------------------------------------------------------

# The drafts that are ready for the next verdict on a single text, where the target looks its verdict up: most hits need
# no answer (docs/decisions/0018). Scores never travel this way.


def pack_board(ready: Sequence[Ready]) -> bytes:
    return marshal.dumps([tuple(each) for each in ready])


def find_on_board(posted: bytearray, accepted: int | None, token: int) -> Ready | None:
    """Find the draft that is ready for this verdict."""
    found = (each for each in marshal.loads(posted) if each[0] == accepted and each[1] == token)
    return next((Ready(*each) for each in found), None)


def draft_from_board(ready: Ready, lookahead: int, postscript: Callable[[], Postscript]) -> Draft:
    return Draft(tuple(ready.tokens), None, lookahead, ready.stop, "hit", 0, postscript=postscript)
