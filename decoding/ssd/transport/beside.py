"""The target's end of the exchange with a draft in a process of its own.

The draft's end prepares while the target verifies. It posts what is ready for a single text on a board, where the
target looks its verdict up. If the verdict is found, the target takes that draft and only notifies the draft's end;
otherwise it asks and waits. One message takes the verdicts of a joint verification, and one brings all drafts. If the
process dies or falls silent, the target goes on alone, and says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from time import perf_counter

from decoding.errors import DrafthouseError, DraftLost
from decoding.ssd.speculator.speculator import Postscript
from decoding.ssd.transport import messages
from decoding.ssd.transport.draft_process import DraftProcess
from decoding.ssd.transport.exchange import Answer, Exchange, SsdDrafter

REPLACED = "The draft's process ended between two rounds."


class BesideExchange(Exchange):
    def __init__(self, process: DraftProcess) -> None:
        super().__init__()
        self._process = process
        self._pid: int | None = None
        self._running: dict[int, SsdDrafter] = {}
        self._slowest_s = 0.0  # verification
        self._verifying_since_s: float | None = None

    def enter(self, asking: SsdDrafter, text: Sequence[int]) -> None:
        """Let the draft read the prompt of a new text. A process that was lost is started anew."""
        self._postscripts()  # the next message would overwrite them
        try:
            with asking.clock.stopped():
                self._process.begin()
            if self._pid not in (None, self._process.pid):
                self._lose(REPLACED)
            self._pid = self._process.pid
            entry = messages.pack_entry(asking.number, asking.recipe, text, [*self._running])
            reply = self._process.ask(entry, self._process.patience.reading_s(len(text)))
        except DrafthouseError as lost:
            self._running[asking.number] = asking
            self._lose(str(lost))
        else:
            messages.check_reply(reply)
            self._running[asking.number] = asking

    def leave(self, asking: SsdDrafter) -> None:
        del self._running[asking.number]

    def ask(self, asking: Sequence[SsdDrafter]) -> None:
        self._postscripts()
        if self._verifying_since_s is not None:
            self._slowest_s = max(self._slowest_s, perf_counter() - self._verifying_since_s)
        if asking[0].why_lost:
            return
        try:
            answers = self._look_up(asking) or self._asked(asking)
        except DraftLost as lost:
            self._lose(str(lost))
        else:
            self._answer(asking, answers, partial(self._wait_for_postscripts, self._process.sent))

    def before_verification(self) -> None:
        self._verifying_since_s = perf_counter()

    def _look_up(self, asking: Sequence[SsdDrafter]) -> Sequence[Answer]:
        """Take the draft that is on the board for the verdict on a single text."""
        posted = self._process.posted() if len(asking) == 1 else None
        if not posted:
            return ()
        asked = asking[0].asked
        ready = messages.find_on_board(posted, asked.accepted, asked.token)
        if ready is None:
            return ()
        self._process.notify(messages.pack_asked([asked._replace(taken=len(ready.tokens))]))
        return [partial(messages.draft_from_board, ready, asking[0].recipe.settings.lookahead)]

    def _asked(self, asking: Sequence[SsdDrafter]) -> Sequence[Answer]:
        question = messages.pack_asked([each.asked for each in asking])
        return messages.unpack_answers(self._process.ask(question, self._patience_s))

    @property
    def _patience_s(self) -> float:
        return self._process.patience.answering_s(self._slowest_s)

    def _wait_for_postscripts(self, sent: int) -> Sequence[Postscript]:
        if self._process.sent != sent:
            return ()  # another exchange has overwritten them: these texts broke off
        try:
            return messages.unpack_postscripts(self._process.postscript(self._patience_s))
        except DraftLost as lost:
            self._lose(str(lost))
            return ()

    def _lose(self, why: str) -> None:
        self._pid, self._postscripts = None, tuple
        for each in self._running.values():
            each.lose(why)
