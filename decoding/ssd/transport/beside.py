"""The draft's side in a process of its own: it prepares while the target verifies, and posts what is ready. Where that
holds the verdict, the target takes it and only tells; otherwise it asks. Where the process dies or falls silent, the
target goes on alone, and says why."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from time import perf_counter

import torch

from decoding.drafting import EMPTY, Draft
from decoding.errors import DrafthouseError, DraftLost
from decoding.runner import ModelRunner
from decoding.ssd.speculator.speculator import Preparation, Speculator
from decoding.ssd.transport import messages
from decoding.ssd.transport.draft_process import DraftProcess
from decoding.ssd.transport.mailbox import Mailbox
from decoding.ssd.transport.messages import Asked, Postscript, Recipe, nothing_more


class BesideTransport:
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
            reply = self._process.ask(messages.read(self._recipe, text), self._patience.reading(len(text)))
        except DraftLost as lost:
            self._lose(lost)
        else:
            messages.opened(reply)

    def begin(self, text: Sequence[int], limit: int) -> Draft:
        return self._ask(messages.begin(limit))

    def answer(self, accepted: int, token: int, limit: int) -> Draft:
        return self._look_up(accepted, token, limit) or self._ask(messages.answer(accepted, token, limit))

    def prepare(self) -> None:
        """It has been preparing since it answered."""
        self._verifying_since = perf_counter()

    def meanwhile(self, is_done: Callable[[], bool]) -> None:
        pass  # nor has it to be told

    def preparation(self) -> Preparation:
        return self._later().preparation

    def _look_up(self, accepted: int, token: int, limit: int) -> Draft | None:
        """The draft that is on the board for this verdict."""
        posted = None if self._why_lost else self._process.posted()
        ready = messages.find(posted, accepted, token) if posted else None
        if ready is None:
            return None
        self._finish_last()
        if self._why_lost:
            return None
        self._process.tell(messages.answer(accepted, token, limit, len(ready.tokens)))
        self._expect_more()
        return messages.taken(ready, self._recipe.settings.lookahead, self._later)

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
        return messages.opened(reply, self._later)

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
    return messages.added(octets) if octets else nothing_more()


@torch.inference_mode()
def serve(mailbox: Mailbox) -> None:
    torch.set_num_threads(1)
    try:
        runner: ModelRunner = pickle.loads(mailbox.wait())()
    except DrafthouseError as error:
        mailbox.send(messages.refused(error))
        return
    gc.collect()
    gc.freeze()  # the model and the libraries stay: there is nothing to look for
    mailbox.send(messages.done())
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
            if question[0] == messages.READ:
                self._read(question)
            else:
                self._draft(question)
        except DrafthouseError as error:
            self._refusal = error
            self._mailbox.send(messages.refused(error))

    def prepare(self) -> None:
        """Until the next question is there. What breaks is told to whoever asks."""
        try:
            while self._speculator and not self._mailbox.has_mail and self._speculator.step_beside():
                self._post(self._speculator)
        except DrafthouseError as error:
            self._refusal = error

    def _read(self, question: bytearray) -> None:
        self._refusal = self._speculator = None
        self._recipe, self._text = messages.to_read(question)
        speculator = self._recipe.speculator(self._runner)
        speculator.read(self._text)
        self._speculator = speculator
        self._mailbox.send(messages.done())

    def _draft(self, question: bytearray) -> None:
        asked = messages.verdict(question)
        if self._speculator is None or (self._refusal and not asked.taken):
            raise self._refusal or RuntimeError("asked for a draft before there was a text")
        if asked.taken:
            draft = self._speculator.take(asked.accepted, asked.token, asked.limit, asked.taken, asked.at)
        else:
            draft = self._answer(self._speculator, question[0], asked)
            self._mailbox.send(*messages.drafted(draft, self._recipe.sends_scores))
        postscript = Postscript(draft.confidence, self._speculator.estimate(), self._speculator.last_preparation())
        self._mailbox.add(messages.addition(postscript))

    def _answer(self, speculator: Speculator, kind: int, asked: Asked) -> Draft:
        if kind == messages.BEGIN:
            return speculator.begin(self._text, asked.limit)
        return speculator.answer(asked.accepted, asked.token, asked.limit, asked.at)

    def _post(self, speculator: Speculator) -> None:
        """What the target may take without asking. A verdict by scores needs them, so there it asks."""
        ready = () if self._recipe.sends_scores else speculator.ready()
        if ready:
            self._mailbox.post(messages.written(ready))
