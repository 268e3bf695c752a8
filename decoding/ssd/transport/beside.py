"""Both ends of the way to a draft in a process of its own.

The draft's end prepares while the target verifies, and posts what is ready on a board. The target's end looks its
verdict up there. If the verdict is found, the target takes that draft and only notifies the draft's end; otherwise it
asks and waits. If the process dies or falls silent, the target goes on alone, and says why.
"""

from __future__ import annotations

import gc
import pickle
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import cache, partial
from time import perf_counter

import torch

from decoding import chance
from decoding.drafters.base import EMPTY, Draft
from decoding.errors import DrafthouseError, DraftLost
from decoding.models.runner import ModelRunner
from decoding.ssd.policy.misses import Experience
from decoding.ssd.speculator.speculator import Preparation, Speculator
from decoding.ssd.transport import messages
from decoding.ssd.transport.draft_process import DraftProcess
from decoding.ssd.transport.joint_server import JointServer
from decoding.ssd.transport.mailbox import Mailbox
from decoding.ssd.transport.messages import Postscript, Question, Recipe, no_postscript


class BesideTransport:
    """The target's end, for one sample that is decoded alone."""

    def __init__(self, process: DraftProcess, recipe: Recipe) -> None:
        self._process = process
        self._recipe = recipe
        self._patience = process.patience
        self._slowest_s = 0.0  # verification
        self._verifying_since_s: float | None = None
        self._fetch: Callable[[], bytearray | None] = _nothing  # the last draft's postscript
        self._postscript: Callable[[], Postscript] = no_postscript
        self._why_lost = ""
        self._has_reported_loss = False
        try:
            process.begin()  # if the last one was lost
        except DrafthouseError as lost:
            self._lose(lost)

    def read(self, text: Sequence[int]) -> None:
        if self._why_lost:
            return
        try:
            reply = self._process.ask(messages.pack_text(self._recipe, text), self._patience.reading_s(len(text)))
        except DraftLost as lost:
            self._lose(lost)
        else:
            messages.unpack_draft(reply)

    def begin(self, text: Sequence[int], limit: int) -> Draft:
        return self._ask(messages.pack_begin(limit))

    def answer(self, accepted: int, token: int, limit: int) -> Draft:
        return self._look_up(accepted, token, limit) or self._ask(messages.pack_verdict(accepted, token, limit))

    def prepare(self) -> None:
        """Note that the verification begins. The draft has been preparing since it answered."""
        self._verifying_since_s = perf_counter()

    def meanwhile(self, is_done: Callable[[], bool]) -> None:
        pass

    def preparation(self) -> Preparation:
        return self._postscript().preparation

    def _look_up(self, accepted: int, token: int, limit: int) -> Draft | None:
        """Take the draft that is on the board for this verdict."""
        posted = None if self._why_lost else self._process.posted()
        ready = messages.find_on_board(posted, accepted, token) if posted else None
        if ready is None:
            return None
        self._finish_last()
        if self._why_lost:
            return None
        self._process.notify(messages.pack_verdict(accepted, token, limit, len(ready.tokens)))
        self._expect_postscript()
        return messages.draft_from_board(ready, self._recipe.settings.lookahead, self._postscript)

    def _ask(self, question: bytes) -> Draft:
        self._finish_last()
        if self._why_lost:
            return self._alone()
        try:
            reply = self._process.ask(question, self._patience.answering_s(self._slowest_s))
        except DraftLost as lost:
            self._lose(lost)
            return self._alone()
        self._expect_postscript()
        return messages.unpack_draft(reply, self._postscript)

    def _finish_last(self) -> None:
        if self._verifying_since_s is not None:
            self._slowest_s = max(self._slowest_s, perf_counter() - self._verifying_since_s)
        self._fetch()  # the next postscript would overwrite it

    def _expect_postscript(self) -> None:
        """Fetch the postscript once, and unpack it when somebody asks."""
        self._fetch = cache(self._wait_for_postscript)
        self._postscript = cache(partial(_unpack, self._fetch))

    def _wait_for_postscript(self) -> bytearray | None:
        try:
            return self._process.postscript(self._patience.answering_s(self._slowest_s))
        except DraftLost as lost:
            self._lose(lost)
            return None

    def _lose(self, lost: DrafthouseError) -> None:
        self._why_lost = str(lost)
        self._fetch, self._postscript = _nothing, no_postscript

    def _alone(self) -> Draft:
        """An empty draft. The first one says why."""
        if self._has_reported_loss:
            return EMPTY
        self._has_reported_loss = True
        return replace(EMPTY, lost=f"{self._why_lost} The target went on alone.")


def _nothing() -> None:
    return None


def _unpack(fetch: Callable[[], bytearray | None]) -> Postscript:
    octets = fetch()
    return messages.unpack_postscript(octets) if octets else no_postscript()


@torch.inference_mode()
def serve(mailbox: Mailbox) -> None:
    """Run the draft's end: load the model, then answer first and prepare until the next question, for ever."""
    torch.set_num_threads(1)
    try:
        runner: ModelRunner = pickle.loads(mailbox.wait())()
    except DrafthouseError as error:
        mailbox.send(messages.pack_refusal(error))
        return
    chance.compiled()  # its first use may compile for seconds, which no answer has
    gc.collect()
    gc.freeze()  # the model and the libraries stay: the collector need not look at them
    mailbox.send(messages.pack_done())
    alone, together = _Server(mailbox, runner), JointServer(mailbox, runner)
    while True:
        question = mailbox.wait()
        server = together if question[0] in (messages.ENTER, messages.JOINT) else alone
        server.reply(question)
        server.prepare()


class _Server:
    """Answers one question after another, sample after sample, for one text at a time."""

    def __init__(self, mailbox: Mailbox, runner: ModelRunner) -> None:
        self._mailbox = mailbox
        self._runner = runner
        self._recipe: Recipe
        self._text: list[int]
        self._speculator: Speculator | None = None
        self._experience: dict[Hashable, Experience] = defaultdict(Experience)  # by kind
        self._refusal: DrafthouseError | None = None  # the error that broke this sample

    def reply(self, question: bytearray) -> None:
        try:
            if question[0] == messages.READ:
                self._read(question)
            else:
                self._draft(question)
        except DrafthouseError as error:
            self._refusal = error
            self._mailbox.send(messages.pack_refusal(error))

    def prepare(self) -> None:
        """Prepare until the next question is there. The next answer reports an error."""
        try:
            while self._speculator and not self._mailbox.has_mail and self._speculator.step_beside():
                self._post(self._speculator)
        except DrafthouseError as error:
            self._refusal = error

    def _read(self, question: bytearray) -> None:
        self._refusal = self._speculator = None
        self._recipe, self._text = messages.unpack_text(question)
        speculator = self._recipe.speculator(self._runner)
        speculator.share(self._experience[self._recipe.kind])
        speculator.read(self._text)
        self._speculator = speculator
        self._mailbox.send(messages.pack_done())

    def _draft(self, octets: bytearray) -> None:
        question = messages.unpack_question(octets)
        if self._speculator is None or (self._refusal and not question.taken):
            raise self._refusal or RuntimeError("asked for a draft before there was a text")
        if question.taken:
            accepted, token, limit, asked_at_ns, taken = question
            draft = self._speculator.take(accepted, token, limit, taken, asked_at_ns)
        else:
            draft = self._answer(self._speculator, octets[0], question)
            self._mailbox.send(*messages.pack_draft(draft, self._recipe.sends_scores))
        postscript = Postscript(draft.confidence, self._speculator.estimate(), self._speculator.last_preparation())
        self._mailbox.add(messages.pack_postscript(postscript))

    def _answer(self, speculator: Speculator, kind: int, question: Question) -> Draft:
        if kind == messages.BEGIN:
            return speculator.begin(self._text, question.limit)
        return speculator.answer(question.accepted, question.token, question.limit, question.asked_at_ns)

    def _post(self, speculator: Speculator) -> None:
        """Post what the target may take without asking. A verdict by scores needs them, so there the target asks."""
        ready = () if self._recipe.sends_scores else speculator.ready()
        if ready:
            self._mailbox.post(messages.pack_board(ready))
