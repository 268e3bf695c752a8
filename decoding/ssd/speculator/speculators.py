"""The draft's side of the texts that are decoded together: their passes are joint, and the branches of all are one
budget. One text is a batch of one.

A question names every text that goes on, with its verdict. All that missed draft in joint passes. Until the next
question, all texts prepare.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Sequence

from decoding.core.batch_state import BatchState
from decoding.models.runner import ModelRunner, run_together
from decoding.ssd.policy.together import shared_out
from decoding.ssd.speculator.speculator import Question, Ready, Speculator, SpeculatorRecipe


class Speculators:
    """Texts that are decoded together, by their numbers."""

    def __init__(self, hides: bool = True) -> None:
        """`hides` says whether they prepare while the target verifies; otherwise the target waits for every step."""
        self.texts: dict[int, Speculator] = {}
        self._hides = hides
        self._batches: dict[Hashable, BatchState] = defaultdict(BatchState)  # by kind of sample
        self._is_open = True  # whether outcomes were chosen since the last answer

    def read(self, number: int, recipe: SpeculatorRecipe, prompt: Sequence[int], runner: ModelRunner) -> None:
        """Read the prompt of a text that enters."""
        batch = self._batches[recipe.kind]
        if not self.texts:
            batch.begin(0)  # the pause before a new batch belongs to no round
        made = Speculator(recipe, runner, batch, self._hides)
        made.read(prompt)
        self.texts[number] = made

    def answer(self, asked: Sequence[Question], at_ns: int) -> list[Speculator]:
        """Take the verdicts on these texts, and return the texts with their next drafts. All others have ended."""
        self.texts = {each.text: self.texts[each.text] for each in asked}
        texts = [*self.texts.values()]
        texts[0].batch.begin(len(texts))
        self._is_open = False
        run_together([text.guarded(text.answering(each, at_ns)) for text, each in zip(texts, asked, strict=True)])
        for text, each in zip(texts, asked, strict=True):  # none has its draft before all others
            text.policy.pace.note_draft(at_ns if each.taken else None)
        return texts

    def step(self) -> bool:
        """Take one joint step of preparing, or none if the policies put it off. False if nothing is worth preparing any
        more."""
        texts = [text for text in self.texts.values() if not text.error]
        if not self._is_open:
            self._open(texts)
            return True
        growing = [text for text in texts if text.has_more]
        if not all(text.puts_off_step for text in growing):
            run_together([text.guarded(text.deepening()) for text in growing])
        return bool(growing)

    def ready(self) -> Sequence[Ready]:
        """Drafts that the target may take without asking, if it has a single text."""
        if len(self.texts) != 1:
            return ()
        [text] = self.texts.values()
        return text.ready()

    def keep(self, numbers: Collection[int]) -> None:
        """Forget all other texts."""
        for number in self.texts.keys() - set(numbers):
            del self.texts[number]

    def _open(self, texts: list[Speculator]) -> None:
        """Give the rows to the likeliest outcomes of all texts."""
        self._is_open = True
        run_together([text.guarded(text.opening()) for text in texts])
        asked = {number: text.chosen for number, text in enumerate(texts)}
        rows = texts[0].policy.budget.rows(asked.values()) if texts else 0
        granted = shared_out(asked, rows)
        count = sum(len(chosen.outcomes) for chosen in granted.values())
        for number, text in enumerate(texts):
            if not text.error:
                text.branch(granted[number], count)
