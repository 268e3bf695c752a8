"""Messages between two processes: whole and in order at any moment, with a report when the other side is gone."""

from __future__ import annotations

import dataclasses
import random
import struct
from collections.abc import Iterator

import pytest

from decoding.ssd.transport.mailbox import Mailbox, MailboxTimeout, ProcessGone, Slot, answering, connect

DEADLINE = 300.0  # s, for things that take milliseconds: the machine may be busy


@pytest.fixture
def ends() -> Iterator[tuple[Mailbox, Mailbox]]:
    here, far = connect(1000, 1000, 1000, 1000)
    there = answering(far)
    yield here, there
    for end in (here, there):
        end.close()


def slots(size: int = 64, count: int = 0) -> tuple[bytearray, Slot, Slot]:
    """One direction as its writer and its reader have it."""
    memory = bytearray(size)
    struct.pack_into("<I", memory, 0, count)
    return memory, Slot(memoryview(memory), count), Slot(memoryview(memory), count)


def test_half_a_message_is_none() -> None:
    """Another processor may see part of a write: the count before the words, or some of the words."""
    memory, writer, reader = slots()
    writer.write(b"before")
    assert reader.read() == b"before"
    old = bytes(memory)
    writer.write(b"behind")
    new = bytes(memory)
    dice = random.Random(0)
    for _ in range(2000):
        seen = [dice.random() < 0.5 for _ in new]
        seen[0] = True  # the count is there
        memory[:] = bytes(n if s else o for n, o, s in zip(new, old, seen, strict=True))
        if bytes(memory) != new:
            assert reader.read() is None
    memory[:] = new
    assert reader.read() == b"behind"


def test_what_belongs_to_an_earlier_question_is_passed_over(ends: tuple[Mailbox, Mailbox]) -> None:
    """A target that takes a ready branch asks nothing, and may be at the next question before the other side has
    heard."""
    here, there = ends
    assert here.posted() is None
    here.send(b"first")
    there.wait()
    there.post(b"old ", b"board")
    there.add(b"old P.S.")
    here.send(b"second")
    assert here.posted() is None
    with pytest.raises(MailboxTimeout):
        here.postscript(patience_s=0.01)
    there.wait()
    there.post(b"board")
    there.post(b"fuller board")
    there.add(b"P.S.")
    assert here.posted() == b"fuller board" and here.posted() is None
    assert here.postscript(patience_s=DEADLINE) == b"P.S."


def test_what_was_said_before_the_end_is_still_heard(ends: tuple[Mailbox, Mailbox]) -> None:
    here, far = connect(100, 100, 100, 100)
    there = answering(dataclasses.replace(far))
    there.send(b"last words")
    there.close()
    assert here.wait(patience_s=DEADLINE) == b"last words"
    with pytest.raises(ProcessGone):
        here.wait(patience_s=DEADLINE)
    here.send(b"to nobody")
    here.close()
