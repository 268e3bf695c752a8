"""The draft's side in a process of its own: it prepares while the target verifies, and posts what is ready. Where that
holds the verdict, the target takes it and only tells; otherwise it asks. Where the process dies or falls silent, the
target goes on alone, and says why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from time import perf_counter

from decoding.drafters.base import EMPTY, Draft
from decoding.errors import DrafthouseError, DraftLost
from decoding.ssd import board, letters
from decoding.ssd.letters import Postscript, Recipe, nothing_more
from decoding.ssd.prepared import Prepared
from decoding.ssd.resident import DraftProcess


class Beside:
    """One sample's way to the draft's process."""

    def __init__(self, process: DraftProcess, recipe: Recipe) -> None:
        self._process = process
        self._recipe = recipe
        self._patience = process.patience
        self._slowest = 0.0  # verification, in seconds
        self._verifying_since: float | None = None
        self._added: Callable[[], bytearray | None] = _nothing  # the last draft's postscript
        self._later: Callable[[], Postscript] = nothing_more
        self._why_lost = ""
        self._is_told = False
        try:
            process.begin()  # where the last one was lost
        except DrafthouseError as lost:
            self._lose(lost)

    def read(self, text: Sequence[int]) -> None:
        if self._why_lost:
            return
        try:
            reply = self._process.ask(letters.read(self._recipe, text), self._patience.reading(len(text)))
        except DraftLost as lost:
            self._lose(lost)
        else:
            letters.opened(reply)

    def begin(self, text: Sequence[int], limit: int) -> Draft:
        return self._ask(letters.begin(limit))

    def answer(self, accepted: int, token: int, limit: int) -> Draft:
        return self._look_up(accepted, token, limit) or self._ask(letters.answer(accepted, token, limit))

    def anticipate(self) -> None:
        """It has been preparing since it answered."""
        self._verifying_since = perf_counter()

    def meanwhile(self, is_done: Callable[[], bool]) -> None:
        pass  # nor has it to be told

    def prepared(self) -> Prepared:
        return self._later().prepared

    def _look_up(self, accepted: int, token: int, limit: int) -> Draft | None:
        """The draft that is on the board for this verdict."""
        posted = None if self._why_lost else self._process.posted()
        ready = board.find(posted, accepted, token) if posted else None
        if ready is None:
            return None
        self._finish_last()
        if self._why_lost:
            return None
        self._process.tell(letters.answer(accepted, token, limit, len(ready.tokens)))
        self._expect_more()
        return letters.taken(ready, self._recipe.settings.lookahead, self._later)

    def _ask(self, question: bytes) -> Draft:
        self._finish_last()
        if self._why_lost:
            return self._alone()
        try:
            reply = self._process.ask(question, self._patience.answering(self._slowest))
        except DraftLost as lost:
            self._lose(lost)
            return self._alone()
        self._expect_more()
        return letters.opened(reply, self._later)

    def _finish_last(self) -> None:
        if self._verifying_since is not None:
            self._slowest = max(self._slowest, perf_counter() - self._verifying_since)
        self._added()  # the next one would lie over it

    def _expect_more(self) -> None:
        """A postscript, fetched once and read when somebody asks."""
        self._added = cache(self._hear_more)
        self._later = cache(partial(_read, self._added))

    def _hear_more(self) -> bytearray | None:
        try:
            return self._process.postscript(self._patience.answering(self._slowest))
        except DraftLost as lost:
            self._lose(lost)
            return None

    def _lose(self, lost: DrafthouseError) -> None:
        self._why_lost = str(lost)
        self._added, self._later = _nothing, nothing_more

    def _alone(self) -> Draft:
        """An empty draft, which says why when it is the first."""
        if self._is_told:
            return EMPTY
        self._is_told = True
        return replace(EMPTY, lost=f"{self._why_lost} The target went on alone.")


def _nothing() -> None:
    return None


def _read(added: Callable[[], bytearray | None]) -> Postscript:
    octets = added()
    return letters.added(octets) if octets else nothing_more()
