"""The draft's end of the exchange, in a process of its own: it answers first, then prepares until the next question."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Sequence

import torch

from decoding.dice import chance
from decoding.errors import DrafthouseError
from decoding.models.runner import ModelRunner
from decoding.ssd.speculator.speculators import Speculators
from decoding.ssd.transport import messages
from decoding.ssd.transport.mailbox import Mailbox

NO_TEXT = -1


@torch.inference_mode()
def serve(mailbox: Mailbox) -> None:
    """Load the model, then answer and prepare for ever."""
    torch.set_num_threads(1)
    try:
        runner: ModelRunner = pickle.loads(mailbox.wait())()
    except DrafthouseError as error:
        mailbox.send(messages.pack_reply(error))
        return
    chance.compiled()  # its first use may compile for seconds, which no answer has
    gc.collect()
    gc.freeze()  # the model and the libraries stay: the collector need not look at them
    mailbox.send(messages.pack_reply())
    server = DraftServer(mailbox, runner)
    while True:
        server.reply(mailbox.wait())
        server.prepare()


class DraftServer:
    """Answers one question after another, batch after batch."""

    def __init__(self, mailbox: Mailbox, runner: ModelRunner) -> None:
        self._mailbox = mailbox
        self._model = runner.model
        self._runners = {NO_TEXT: runner}  # by the text that has used each last
        self._speculators = Speculators()

    def reply(self, question: bytearray) -> None:
        if question[0] == messages.ENTER:
            self._enter(question)
            return
        asked_at_ns, asked = messages.unpack_asked(question)
        texts = self._speculators.answer(asked, asked_at_ns)
        if not asked[0].taken:
            self._mailbox.send(*messages.pack_answers([text.answer for text in texts]))
        self._mailbox.add(messages.pack_postscripts([text.postscript() for text in texts]))

    def prepare(self) -> None:
        """Prepare until the next question is there."""
        while not self._mailbox.has_mail and self._speculators.step():
            ready = self._speculators.ready()
            if ready:
                self._mailbox.post(messages.pack_board(ready))

    def _enter(self, question: bytearray) -> None:
        number, recipe, prompt, running = messages.unpack_entry(question)
        self._speculators.keep(running)
        try:
            self._speculators.read(number, recipe, prompt, self._runner_for(number, running))
        except DrafthouseError as error:
            self._mailbox.send(messages.pack_reply(error))
        else:
            self._mailbox.send(messages.pack_reply())

    def _runner_for(self, number: int, running: Sequence[int]) -> ModelRunner:
        """Return the runner of a text that has ended, or a new one."""
        ended = next((text for text in self._runners if text not in running), None)
        self._runners[number] = self._model.new_runner() if ended is None else self._runners.pop(ended)
        return self._runners[number]
