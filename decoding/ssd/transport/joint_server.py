"""The draft's end for texts that are decoded together: their passes are joint, and the branches of all are one budget.

A joint question names every text that goes on, with its verdict. All that missed draft in joint passes, and one answer
brings all drafts. Until the next question, all texts prepare.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

from decoding.crowd import Crowd
from decoding.drafters.base import EMPTY, Draft
from decoding.errors import DrafthouseError
from decoding.models.runner import ModelRunner, Steps, run_together
from decoding.ssd.policy.fanout import Chosen
from decoding.ssd.policy.misses import Experience
from decoding.ssd.policy.together import shared_out
from decoding.ssd.speculator.speculator import Speculator
from decoding.ssd.transport import messages
from decoding.ssd.transport.mailbox import Mailbox
from decoding.ssd.transport.messages import Asked, Postscript, Recipe, no_postscript


class Answer(NamedTuple):
    draft: Draft
    error: DrafthouseError | None  # why this text gets no more drafts
    sends_scores: bool


@dataclass
class _Text:
    recipe: Recipe
    prompt: list[int]
    runner: ModelRunner | None  # to use again when the text has ended
    speculator: Speculator
    draft: Draft = EMPTY
    error: DrafthouseError | None = None
    chosen: Chosen = field(default_factory=Chosen)

    def answering(self, asked: Asked, at_ns: int) -> Steps[None]:
        self.draft = EMPTY
        yield from self._guarded(self._drafting(asked, at_ns))

    def opening(self) -> Steps[None]:
        self.chosen = Chosen()
        yield from self._guarded(self._choosing())

    def deepening(self) -> Steps[None]:
        yield from self._guarded(self.speculator.deepening())

    def answer(self) -> Answer:
        return Answer(self.draft, self.error, self.recipe.sends_scores)

    def postscript(self) -> Postscript:
        if self.error:
            return no_postscript()
        return Postscript(self.draft.confidence, self.speculator.estimate(), self.speculator.last_preparation())

    def _drafting(self, asked: Asked, at_ns: int) -> Steps[None]:
        if asked.accepted is None:
            self.draft = yield from self.speculator.beginning(self.prompt, asked.limit)
        else:
            self.draft = yield from self.speculator.answering(asked.accepted, asked.token, asked.limit, at_ns)

    def _choosing(self) -> Steps[None]:
        self.chosen = yield from self.speculator.opening()

    def _guarded(self, steps: Steps[None]) -> Steps[None]:
        """Take the steps. An error ends this text alone."""
        if self.error:
            return
        try:
            yield from steps
        except DrafthouseError as error:
            self.error = error


class Speculators:
    """Speculators of the texts that are decoded together, by the texts' numbers."""

    def __init__(self, runner: ModelRunner) -> None:
        self._model = runner.model
        self._free = [runner]
        self._texts: dict[int, _Text] = {}
        self._crowd = Crowd()
        self._experience: dict[Hashable, Experience] = defaultdict(Experience)  # by kind
        self._is_open = True  # whether outcomes were chosen since the last answer

    def read(self, number: int, recipe: Recipe, prompt: list[int], runner: ModelRunner | None = None) -> None:
        """Read the prompt of a text that enters, with its own runner if it brings one."""
        used = runner or (self._free.pop() if self._free else self._model.new_runner())
        speculator = recipe.speculator(used)
        self._texts[number] = _Text(recipe, prompt, None if runner else used, speculator)
        speculator.share(self._experience[recipe.kind])
        speculator.join(self._crowd)
        speculator.read(prompt)

    def answer(self, asked: list[Asked], at_ns: int) -> list[Answer]:
        """Take the verdicts on all texts, and return their next drafts. Texts that are not named have ended."""
        self._keep([each.text for each in asked])
        self._crowd.begin(len(asked))
        self._is_open = False
        run_together([self._texts[each.text].answering(each, at_ns) for each in asked])
        return [self._texts[each.text].answer() for each in asked]

    def postscripts(self, asked: list[Asked]) -> list[Postscript]:
        return [self._texts[each.text].postscript() for each in asked]

    def step(self) -> bool:
        """Take one joint step of preparing, or none if the policies put it off. False if nothing is worth preparing any
        more."""
        texts = [text for text in self._texts.values() if not text.error]
        if not self._is_open:
            self._open(texts)
            return True
        growing = [text for text in texts if text.speculator.has_more]
        if not all(text.speculator.puts_off_step for text in growing):
            run_together([text.deepening() for text in growing])
        return bool(growing)

    def _open(self, texts: list[_Text]) -> None:
        """Give the rows to the likeliest outcomes of all texts."""
        self._is_open = True
        run_together([text.opening() for text in texts])
        asked = {number: text.chosen for number, text in enumerate(texts)}
        rows = texts[0].speculator.budget.rows(asked.values()) if texts else 0
        granted = shared_out(asked, rows)
        count = sum(len(chosen.outcomes) for chosen in granted.values())
        for number, text in enumerate(texts):
            if not text.error:
                text.speculator.branch(granted[number], count)

    def _keep(self, numbers: list[int]) -> None:
        for number in self._texts.keys() - set(numbers):
            runner = self._texts.pop(number).runner
            if runner:
                self._free.append(runner)


class JointServer:
    """Answers one joint question after another."""

    def __init__(self, mailbox: Mailbox, runner: ModelRunner) -> None:
        self._mailbox = mailbox
        self._speculators = Speculators(runner)

    def reply(self, question: bytearray) -> None:
        if question[0] == messages.ENTER:
            self._enter(question)
            return
        asked_at_ns, asked = messages.unpack_joint(question)
        answers = self._speculators.answer(asked, asked_at_ns)
        self._mailbox.send(messages.pack_answers([_packed(answer) for answer in answers]))
        self._mailbox.add(messages.pack_postscripts(self._speculators.postscripts(asked)))

    def prepare(self) -> None:
        """Prepare until the next question is there."""
        while not self._mailbox.has_mail and self._speculators.step():
            pass

    def _enter(self, question: bytearray) -> None:
        try:
            self._speculators.read(*messages.unpack_entry(question))
        except DrafthouseError as error:
            self._mailbox.send(messages.pack_refusal(error))
        else:
            self._mailbox.send(messages.pack_done())


def _packed(answer: Answer) -> bytes:
    if answer.error:
        return messages.pack_refusal(answer.error)
    return b"".join(messages.pack_draft(answer.draft, answer.sends_scores))
