"""The target's end of the exchange with a draft in a process of its own.

The draft's end prepares while the target verifies. It posts what is ready for a single text on a board, where the
target looks its verdict up. If the verdict is found, the target takes that draft and only notifies the draft's end;
otherwise it asks and waits. One message takes the verdicts of a joint verification, and one brings all drafts. If the
process dies or falls silent, the target goes on alone, and says why.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from time import perf_counter

from decoding.errors import DrafthouseError, DraftLost
from decoding.models.runner import ModelRunner
from decoding.ssd.transport import messages
from decoding.ssd.transport.draft_process import DraftProcess
from decoding.ssd.transport.exchange import Exchange, Questioner
from decoding.ssd.transport.messages import Answer, Postscript, SpeculatorRecipe
from decoding.trace.timing import Clock

REPLACED = "The draft's process ended between two rounds."
_NUMBERS = itertools.count()  # of texts; a process may serve several exchanges, one after another


class BesideExchange(Exchange):
    def __init__(self, process: DraftProcess) -> None:
        super().__init__()
        self._process = process
        self._pid: int | None = None
        self._running: dict[int, Questioner] = {}
        self._slowest_s = 0.0  # verification
        self._verifying_since_s: float | None = None

    def enter(self, recipe: SpeculatorRecipe, text: Sequence[int], draft: ModelRunner, clock: Clock) -> Questioner:
        """Let the draft read the prompt of a new text. A process that was lost is started anew."""
        self._postscripts()  # the next message would overwrite them
        made = Questioner(self, next(_NUMBERS), recipe)
        why = self._begin(clock) or self._read(made, text)
        self._running[made.number] = made
        if why:
            self._lose(str(why))
        return made

    def leave(self, questioner: Questioner) -> None:
        del self._running[questioner.number]

    def ask(self, questioners: Sequence[Questioner]) -> None:
        self._postscripts()
        if self._verifying_since_s is not None:
            self._slowest_s = max(self._slowest_s, perf_counter() - self._verifying_since_s)
        if questioners[0].why_lost:
            return
        try:
            answers = self._look_up(questioners) or self._asked(questioners)
        except DraftLost as lost:
            self._lose(str(lost))
        else:
            self._answer(questioners, answers, partial(self._wait_for_postscripts, self._process.sent))

    def verifies(self) -> None:
        self._verifying_since_s = perf_counter()

    def _begin(self, clock: Clock) -> DrafthouseError | None:
        try:
            with clock.stopped():
                self._process.begin()
        except DrafthouseError as lost:
            return lost
        if self._pid not in (None, self._process.pid):
            self._lose(REPLACED)
        self._pid = self._process.pid
        return None

    def _read(self, questioner: Questioner, text: Sequence[int]) -> DraftLost | None:
        entry = messages.pack_entry(questioner.number, questioner.recipe, text, [*self._running])
        try:
            reply = self._process.ask(entry, self._process.patience.reading_s(len(text)))
        except DraftLost as lost:
            return lost
        messages.check_reply(reply)
        return None

    def _look_up(self, questioners: Sequence[Questioner]) -> Sequence[Answer]:
        """Take the draft that is on the board for the verdict on a single text."""
        posted = self._process.posted() if len(questioners) == 1 else None
        if not posted:
            return ()
        [questioner] = questioners
        ready = messages.find_on_board(posted, questioner.asked.accepted, questioner.asked.token)
        if ready is None:
            return ()
        self._process.notify(messages.pack_asked([questioner.asked._replace(taken=len(ready.tokens))]))
        return [partial(messages.draft_from_board, ready, questioner.recipe.settings.lookahead)]

    def _asked(self, questioners: Sequence[Questioner]) -> Sequence[Answer]:
        question = messages.pack_asked([questioner.asked for questioner in questioners])
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
        for questioner in self._running.values():
            questioner.lose(why)
