"""What the draft's process does: answer first, then prepare until the next question is there."""

from __future__ import annotations

import gc
import pickle

import torch

from decoding.drafters.base import Draft
from decoding.errors import DrafthouseError
from decoding.runner import ModelRunner
from decoding.ssd import board, letters
from decoding.ssd.letters import Asked, Postscript, Recipe
from decoding.ssd.mailbox import Mailbox
from decoding.ssd.speculating import Speculator


@torch.inference_mode()
def serve(mailbox: Mailbox) -> None:
    torch.set_num_threads(1)
    try:
        runner: ModelRunner = pickle.loads(mailbox.wait())()
    except DrafthouseError as error:
        mailbox.send(letters.refused(error))
        return
    gc.collect()
    gc.freeze()  # the model and the libraries stay: there is nothing to look for
    mailbox.send(letters.done())
    desk = _Desk(mailbox, runner)
    while True:
        desk.reply()
        desk.prepare()


class _Desk:
    """One question after another, sample after sample."""

    def __init__(self, mailbox: Mailbox, runner: ModelRunner) -> None:
        self._mailbox = mailbox
        self._runner = runner
        self._recipe: Recipe
        self._text: list[int]
        self._speculator: Speculator | None = None
        self._refusal: DrafthouseError | None = None  # what broke this sample

    def reply(self) -> None:
        question = self._mailbox.wait()
        try:
            if question[0] == letters.READ:
                self._read(question)
            else:
                self._draft(question)
        except DrafthouseError as error:
            self._refusal = error
            self._mailbox.send(letters.refused(error))

    def prepare(self) -> None:
        """Until the next question is there. What breaks is told to whoever asks."""
        try:
            while self._speculator and not self._mailbox.has_mail and self._speculator.step_beside():
                self._post(self._speculator)
        except DrafthouseError as error:
            self._refusal = error

    def _read(self, question: bytearray) -> None:
        self._refusal = self._speculator = None
        self._recipe, self._text = letters.to_read(question)
        speculator = self._recipe.speculator(self._runner)
        speculator.read(self._text)
        self._speculator = speculator
        self._mailbox.send(letters.done())

    def _draft(self, question: bytearray) -> None:
        asked = letters.verdict(question)
        if self._speculator is None or (self._refusal and not asked.taken):
            raise self._refusal or RuntimeError("asked for a draft before there was a text")
        if asked.taken:
            draft = self._speculator.take(asked.accepted, asked.token, asked.limit, asked.taken, asked.at)
        else:
            draft = self._answer(self._speculator, question[0], asked)
            self._mailbox.send(*letters.drafted(draft, self._recipe.sends_scores))
        postscript = Postscript(draft.confidence, self._speculator.estimate(), self._speculator.prepared_before())
        self._mailbox.add(letters.addition(postscript))

    def _answer(self, speculator: Speculator, kind: int, asked: Asked) -> Draft:
        if kind == letters.BEGIN:
            return speculator.begin(self._text, asked.limit)
        return speculator.answer(asked.accepted, asked.token, asked.limit, asked.at)

    def _post(self, speculator: Speculator) -> None:
        """What the target may take without asking. A verdict by scores needs them, so there it asks."""
        ready = () if self._recipe.sends_scores else speculator.ready()
        if ready:
            self._mailbox.post(board.written(ready))
