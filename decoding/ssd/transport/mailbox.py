"""Two processes tell each other things through memory that both have: heard within a microsecond by one that is
looking, and within some tens by one that sleeps.

There is a slot for questions, one for answers, one for what is added to an answer later, off the path that somebody
waits on, and a board, on which the answering side posts what may save a question. Postscripts and what is posted carry
the number of the question that they belong to, so that none is taken for another's. A message is written first and
counted after; the checksum covers both, so that a reader who sees a count before the words that belong to it
(processors may show another's writes in another order) looks again.

Each side has a bell, a pipe: it wakes a reader who sleeps, and it tells of the writer's death, however that came.
Memory and bells have no name anywhere, so nothing is left when both processes are gone.
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

# How long to look before going to sleep, in ns; being woken takes some 50 us. Who asks looks for as long as an answer
# that was prepared takes; any other takes ten times as long. Who answers has its core to itself, and looks for about a
# verification. Neither yields (decision 0018).
ASKING_LOOKS, ANSWERING_LOOKS = 300_000, 5_000_000
_WRAP = 1 << 32
_HEADER = struct.Struct("<II")  # length and checksum, behind the count
_COUNT = 4  # bytes
_WORDS_AT = _COUNT + _HEADER.size
_QUESTION = struct.Struct("<I")  # its number, in front of what belongs to it

Octets = bytes | bytearray | memoryview


class Silence(Exception):
    """No message came in time."""


class Gone(Exception):
    """The other process has ended, so no message will ever come."""


@dataclass(frozen=True)
class Connection:
    """What the asking side hands down to the answering one: descriptors to inherit, and how large the slots are."""

    memory: int
    hears: int
    rings: int
    sizes: tuple[int, int, int, int]  # of question, answer, postscript and board

    @property
    def descriptors(self) -> tuple[int, int, int]:
        return self.memory, self.hears, self.rings

    def close(self) -> None:
        """Here; whoever inherited them keeps theirs. A bell rings on while anybody can ring it."""
        for descriptor in self.descriptors:
            os.close(descriptor)


class Slot:
    """One process writes, the other reads. What is not read before the next is written is lost."""

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
        """The next message; None where there is none, or not all of it yet."""
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
    """One side's end."""

    def __init__(self, memory: mmap.mmap, slots: Sequence[Slot], bells: tuple[int, int], looks: int) -> None:
        self._memory, self._looks = memory, looks
        self._incoming, self._outgoing, self._later, self._board = slots
        self._hears, self._rings = bells
        self._bell = select.poll()
        self._bell.register(self._hears, select.POLLIN)
        os.set_blocking(self._rings, False)

    @property
    def has_mail(self) -> bool:
        return self._incoming.has_news

    def send(self, *parts: Octets) -> None:
        self._outgoing.write(*parts)
        self._ring()

    def add(self, *parts: Octets) -> None:
        """A postscript to the last question that was read."""
        self._later.write(_QUESTION.pack(self._incoming.count), *parts)
        self._ring()

    def post(self, *parts: Octets) -> None:
        """On the board. Nobody is woken: who is interested looks."""
        self._board.write(_QUESTION.pack(self._incoming.count), *parts)

    def wait(self, patience: float | None = None) -> bytearray:
        """The next message, within so many seconds. Raises Silence where none comes, Gone where none can."""
        return self._wait(self._incoming, patience)

    def postscript(self, patience: float) -> bytearray:
        """What was added to the last question, once."""
        while True:
            octets = self._wait(self._later, patience)
            if self._belongs(octets):
                return octets[_QUESTION.size :]

    def posted(self) -> bytearray | None:
        """What was posted last, if it is news, whole, and belongs to the last question."""
        octets = self._board.read()
        return octets[_QUESTION.size :] if octets and self._belongs(octets) else None

    def close(self) -> None:
        for slot in (self._incoming, self._outgoing, self._later, self._board):
            slot.close()
        self._memory.close()
        os.close(self._hears)
        os.close(self._rings)

    def _belongs(self, octets: bytearray) -> bool:
        [question] = _QUESTION.unpack_from(octets)
        return bool(question == self._outgoing.count)

    def _ring(self) -> None:
        try:
            os.write(self._rings, b"!")
        except BlockingIOError:
            pass  # it has been ringing all along: whoever sleeps wakes
        except BrokenPipeError:
            pass  # nobody is there, which is told to whoever waits for an answer

    def _wait(self, slot: Slot, patience: float | None) -> bytearray:
        started = perf_counter_ns()
        deadline = None if patience is None else started + int(patience * 1e9)
        asleep_from = started + self._looks
        while (message := slot.read()) is None:
            now = perf_counter_ns()
            if deadline is not None and now > deadline:
                raise Silence
            if now > asleep_from:
                self._sleep(slot, None if deadline is None else (deadline - now) / 1e6)
                asleep_from = perf_counter_ns() + self._looks
        return message

    def _sleep(self, slot: Slot, milliseconds: float | None) -> None:
        """Until the bell rings. It may have rung for a message that was read long ago, so look again, and again."""
        if self._bell.poll(milliseconds) and not os.read(self._hears, 4096) and not slot.has_news:
            raise Gone


def connect(question: int, answer: int, postscript: int, board: int) -> tuple[Mailbox, Connection]:
    """The asking side's end, and what the answering side opens its own with. Slots take messages of so many bytes;
    memory is used only as far as it is written."""
    sizes = (_whole_pages(question), _whole_pages(answer), _whole_pages(postscript), _whole_pages(board))
    memory = _nameless_memory(sum(sizes))
    hears, far_rings = os.pipe()
    far_hears, rings = os.pipe()
    far = Connection(memory, far_hears, far_rings, sizes)
    mapped, (questions, answers, *others) = _mapped(far)
    return Mailbox(mapped, (answers, questions, *others), (hears, rings), ASKING_LOOKS), far


def answering(far: Connection) -> Mailbox:
    """The other end."""
    mapped, slots = _mapped(far)
    return Mailbox(mapped, slots, (far.hears, far.rings), ANSWERING_LOOKS)


def _mapped(far: Connection) -> tuple[mmap.mmap, list[Slot]]:
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
