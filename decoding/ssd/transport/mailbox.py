"""Messages between two processes through shared memory. A reader that polls gets one within 1 us, a reader that sleeps
within some 50 us.

There is a slot for questions, one for answers, one for postscripts, which nobody waits for, and a board, on which the
answering side posts what may save a question. Postscripts and the board carry the number of their question, so that
none is taken for another's. A message is written first and counted after. The checksum covers both: processors may show
another's writes in another order, and a reader who sees a count before its message looks again.

Each side has a bell, a pipe. It wakes a reader who sleeps, and it closes when the writer dies. Memory and bells have no
name, so nothing is left when both processes are gone.
"""

from __future__ import annotations

import itertools
import mmap
import os
import select
import struct
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter_ns

# How long to poll before sleeping; being woken takes some 50 us. The asking side polls for as long as a prepared answer
# takes; any other takes 10 times as long. The answering side has its core to itself, and polls for about a
# verification. Neither yields (decision 0018).
ASKING_POLLS_NS, ANSWERING_POLLS_NS = 300_000, 5_000_000
_WRAP = 1 << 32
_HEADER = struct.Struct("<II")  # length and checksum, behind the count
_COUNT = 4  # bytes
_WORDS_AT = _COUNT + _HEADER.size
_QUESTION = struct.Struct("<I")  # its number, before what belongs to it

Octets = bytes | bytearray | memoryview


class MailboxTimeout(Exception):
    """No message came in time."""


class ProcessGone(Exception):
    """The other process has ended, so no message will ever come."""


@dataclass(frozen=True)
class MailboxHandles:
    """Descriptors that the answering process inherits, and the sizes of the slots."""

    memory: int
    bell_read: int
    bell_write: int
    sizes: tuple[int, int, int, int]  # of question, answer, postscript and board

    @property
    def descriptors(self) -> tuple[int, int, int]:
        return self.memory, self.bell_read, self.bell_write

    def close(self) -> None:
        """Close the descriptors in this process. A process that inherited them keeps its own."""
        for descriptor in self.descriptors:
            os.close(descriptor)


class Slot:
    """Memory for one message. One process writes, the other reads. A new message overwrites one that was not read."""

    def __init__(self, memory: memoryview, count: int = 0) -> None:
        self._memory = memory
        self._count_here = memory[:_COUNT].cast("I")
        self.count = count  # of the last message written or read

    @property
    def room(self) -> int:
        return len(self._memory) - _WORDS_AT

    @property
    def has_news(self) -> bool:
        return self._count_here[0] != self.count

    def write(self, *parts: Octets) -> None:
        octets = b"".join(parts)
        if len(octets) > self.room:
            raise ValueError(f"a message of {len(octets)} bytes, where {self.room} have room")
        self.count = (self.count + 1) % _WRAP
        self._memory[_WORDS_AT : _WORDS_AT + len(octets)] = octets
        _HEADER.pack_into(self._memory, _COUNT, len(octets), zlib.crc32(octets, self.count))
        self._count_here[0] = self.count

    def read(self) -> bytearray | None:
        """The next message. None if there is none, or not all of it yet."""
        count = self._count_here[0]
        if count == self.count:
            return None
        length, checksum = _HEADER.unpack_from(self._memory, _COUNT)
        octets = bytearray(self._memory[_WORDS_AT : _WORDS_AT + length])
        if zlib.crc32(octets, count) != checksum:
            return None
        self.count = count
        return octets

    def close(self) -> None:
        self._count_here.release()
        self._memory.release()


class Mailbox:
    """One process's end of the connection."""

    def __init__(self, memory: mmap.mmap, slots: Sequence[Slot], bells: tuple[int, int], polls_ns: int) -> None:
        self._memory, self._polls_ns = memory, polls_ns
        self._incoming, self._outgoing, self._later, self._board = slots
        self._bell_read, self._bell_write = bells
        self._bell = select.poll()
        self._bell.register(self._bell_read, select.POLLIN)
        os.set_blocking(self._bell_write, False)

    @property
    def has_mail(self) -> bool:
        return self._incoming.has_news

    def send(self, *parts: Octets) -> None:
        self._outgoing.write(*parts)
        self._ring()

    def add(self, *parts: Octets) -> None:
        """Send a postscript to the last question that was read."""
        self._later.write(_QUESTION.pack(self._incoming.count), *parts)
        self._ring()

    def post(self, *parts: Octets) -> None:
        """Write on the board. This wakes nobody: the other side looks when it wants to."""
        self._board.write(_QUESTION.pack(self._incoming.count), *parts)

    def wait(self, patience_s: float | None = None) -> bytearray:
        """The next message. Raises Silence if none comes in time, Gone if none can come."""
        return self._wait(self._incoming, patience_s)

    def postscript(self, patience_s: float) -> bytearray:
        """The postscript to the last question, once."""
        while True:
            octets = self._wait(self._later, patience_s)
            if self._belongs(octets):
                return octets[_QUESTION.size :]

    def posted(self) -> bytearray | None:
        """The board, if it is new, complete, and belongs to the last question."""
        octets = self._board.read()
        return octets[_QUESTION.size :] if octets and self._belongs(octets) else None

    def close(self) -> None:
        for slot in (self._incoming, self._outgoing, self._later, self._board):
            slot.close()
        self._memory.close()
        os.close(self._bell_read)
        os.close(self._bell_write)

    def _belongs(self, octets: bytearray) -> bool:
        [question] = _QUESTION.unpack_from(octets)
        return bool(question == self._outgoing.count)

    def _ring(self) -> None:
        try:
            os.write(self._bell_write, b"!")
        except BlockingIOError:
            pass  # the pipe is full, so it wakes the reader anyway
        except BrokenPipeError:
            pass  # the other process has ended; waiting for its answer will say so

    def _wait(self, slot: Slot, patience_s: float | None) -> bytearray:
        started_ns = perf_counter_ns()
        deadline_ns = None if patience_s is None else started_ns + int(patience_s * 1e9)
        sleep_at_ns = started_ns + self._polls_ns
        while (message := slot.read()) is None:
            now_ns = perf_counter_ns()
            if deadline_ns is not None and now_ns > deadline_ns:
                raise MailboxTimeout
            if now_ns > sleep_at_ns:
                self._sleep(slot, None if deadline_ns is None else (deadline_ns - now_ns) / 1e6)
                sleep_at_ns = perf_counter_ns() + self._polls_ns
        return message

    def _sleep(self, slot: Slot, most_ms: float | None) -> None:
        """Sleep until the bell rings. It may have rung for a message that was read long ago, so callers look again."""
        if self._bell.poll(most_ms) and not os.read(self._bell_read, 4096) and not slot.has_news:
            raise ProcessGone


def connect(question: int, answer: int, postscript: int, board: int) -> tuple[Mailbox, MailboxHandles]:
    """Make the asking side's end, and the connection for the answering side. Sizes are bytes of the longest message;
    memory is used only as far as it is written."""
    sizes = (_whole_pages(question), _whole_pages(answer), _whole_pages(postscript), _whole_pages(board))
    memory = _nameless_memory(sum(sizes))
    bell_read, far_bell_write = os.pipe()
    far_bell_read, bell_write = os.pipe()
    far = MailboxHandles(memory, far_bell_read, far_bell_write, sizes)
    mapped, (questions, answers, *others) = _mapped(far)
    return Mailbox(mapped, (answers, questions, *others), (bell_read, bell_write), ASKING_POLLS_NS), far


def answering(far: MailboxHandles) -> Mailbox:
    """Open the answering side's end."""
    mapped, slots = _mapped(far)
    return Mailbox(mapped, slots, (far.bell_read, far.bell_write), ANSWERING_POLLS_NS)


def _mapped(far: MailboxHandles) -> tuple[mmap.mmap, list[Slot]]:
    mapped = mmap.mmap(far.memory, sum(far.sizes))
    with memoryview(mapped) as whole:
        ends = list(itertools.accumulate(far.sizes))
        return mapped, [Slot(whole[end - size : end]) for end, size in zip(ends, far.sizes, strict=True)]


def _nameless_memory(size: int) -> int:
    if hasattr(os, "memfd_create"):
        memory = os.memfd_create("drafthouse-mailbox")
    else:
        with tempfile.TemporaryFile() as file:
            memory = os.dup(file.fileno())
    os.ftruncate(memory, size)
    return memory


def _whole_pages(size: int) -> int:
    return -(-(_WORDS_AT + size) // mmap.PAGESIZE) * mmap.PAGESIZE
