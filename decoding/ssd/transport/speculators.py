"""The draft's side of the texts that are decoded together: their passes are joint, and the branches of all are one
budget. One text is a batch of one.

A question names every text that goes on, with its verdict. All that missed draft in joint passes. Until the next
question, all texts prepare.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from decoding.core.batch_state import BatchState
from decoding.core.drafter import EMPTY, Draft
from decoding.drafting.fan_outs import ChosenOutcomes
from decoding.errors import DrafthouseError
from decoding.models.runner import ModelRunner, Steps, run_together
from decoding.ssd.policy.together import shared_out
from decoding.ssd.speculator.answering import Ready
from decoding.ssd.speculator.speculator import Speculator
from decoding.ssd.transport.messages import Postscript, Question, SpeculatorRecipe, no_postscript


@dataclass
class Speculated:
    """A text whose drafts are prepared ahead."""

    recipe: SpeculatorRecipe
    prompt: list[int]
    speculator: Speculator
    batch: BatchState
    draft: Draft = EMPTY  # the last one
    error: DrafthouseError | None = None  # why this text gets no more drafts
    chosen: ChosenOutcomes = field(default_factory=ChosenOutcomes)

    def answering(self, asked: Question, at_ns: int) -> Steps[None]:
        self.draft = EMPTY
        yield from self._guarded(self._drafting(asked, at_ns))

    def opening(self) -> Steps[None]:
        self.chosen = ChosenOutcomes()
        yield from self._guarded(self._choosing())

    def deepening(self) -> Steps[None]:
        yield from self._guarded(self.speculator.deepening())

    @property
    def answer(self) -> tuple[Draft | DrafthouseError, Tensor | None]:
        """The draft, or why there is none, and the scores that the verdict needs."""
        if self.error:
            return self.error, None
        return self.draft, self.draft.scores if self.recipe.sends_scores else None

    def postscript(self) -> Postscript:
        if self.error:
            return no_postscript()
        return Postscript(self.draft.confidence, self.speculator.estimate(), self.speculator.last_preparation)

    def _drafting(self, asked: Question, at_ns: int) -> Steps[None]:
        speculator = self.speculator
        if asked.accepted is None:
            self.draft = yield from speculator.beginning(self.prompt, asked.limit)
        elif asked.taken:
            self.draft = speculator.take(asked.accepted, asked.token, asked.limit, asked.taken, at_ns)
        else:
            self.draft = yield from speculator.answering(asked.accepted, asked.token, asked.limit, at_ns)

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
    """Texts that are decoded together, by their numbers."""

    def __init__(self, hides: bool = True) -> None:
        """`hides` says whether they prepare while the target verifies; otherwise the target waits for every step."""
        self.texts: dict[int, Speculated] = {}
        self._hides = hides
        self._batches: dict[Hashable, BatchState] = defaultdict(BatchState)  # by kind of sample
        self._is_open = True  # whether outcomes were chosen since the last answer

    def read(self, number: int, recipe: SpeculatorRecipe, prompt: list[int], runner: ModelRunner) -> None:
        """Read the prompt of a text that enters."""
        speculator, batch = recipe.speculator(runner), self._batches[recipe.kind]
        if not self.texts:
            batch.begin(0)  # the pause before a new batch belongs to no round
        speculator.join(batch, self._hides)
        speculator.read(prompt)
        self.texts[number] = Speculated(recipe, prompt, speculator, batch)

    def answer(self, asked: Sequence[Question], at_ns: int) -> list[Speculated]:
        """Take the verdicts on these texts, and return the texts with their next drafts. All others have ended."""
        self.texts = {each.text: self.texts[each.text] for each in asked}
        texts = [*self.texts.values()]
        texts[0].batch.begin(len(texts))
        self._is_open = False
        run_together([text.answering(each, at_ns) for text, each in zip(texts, asked, strict=True)])
        for text, each in zip(texts, asked, strict=True):  # none has its draft before all others
            text.speculator.note_draft(at_ns if each.taken else None)
        return texts

    def step(self) -> bool:
        """Take one joint step of preparing, or none if the policies put it off. False if nothing is worth preparing any
        more."""
        texts = [text for text in self.texts.values() if not text.error]
        if not self._is_open:
            self._open(texts)
            return True
        growing = [text for text in texts if text.speculator.has_more]
        if not all(text.speculator.puts_off_step for text in growing):
            run_together([text.deepening() for text in growing])
        return bool(growing)

    def ready(self) -> Sequence[Ready]:
        """Drafts that the target may take without asking, if it has a single text. A verdict by scores needs them, so
        there the target asks."""
        if len(self.texts) != 1:
            return ()
        [text] = self.texts.values()
        return () if text.error or text.recipe.sends_scores else text.speculator.ready()

    def keep(self, numbers: Collection[int]) -> None:
        """Forget all other texts."""
        for number in self.texts.keys() - set(numbers):
            del self.texts[number]

    def _open(self, texts: list[Speculated]) -> None:
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
