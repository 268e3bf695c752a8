"""Small exact worlds: a target and a draft as tables, decoded by the real loop. What follows a text depends on all of
it, so a cache that forgot to forget gives another text."""

from __future__ import annotations

import time
from collections import abc
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch

from decoding.backends.registry import Parts, build
from decoding.choice import Choice
from decoding.core.batch_state import BatchState
from decoding.core.ending import Decoded, Ending
from decoding.core.loop import Batch, decode
from decoding.core.sequence import Drafter, Sequence
from decoding.dice.choosing import Pickers
from decoding.dice.dice import Dice, dice_for
from decoding.dice.sampling import Sampling
from decoding.dice.verify import Draft
from decoding.disco import features, judging
from decoding.disco.classifier import DraftClassifier, Layers
from decoding.drafting.driver import DraftDriver
from decoding.drafting.features import Feature
from decoding.drafting.source import Source, Words, no_words
from decoding.models.runner import ModelRunner
from decoding.prices.cost_model import CostModel
from decoding.ssd.speculator.speculator import Preparation, Question, Speculator, SpeculatorRecipe
from decoding.ssd.speculator.speculators import Speculators
from decoding.ssd.transport.draft_process import DraftProcess, placed
from decoding.ssd.transport.two_lanes import Lanes
from decoding.strategies.disco import RULES
from decoding.trace.events import Recorder
from decoding.trace.timing import Clock
from decoding.vocabularies.bridge import Bridge
from tests.kit.table import TableRunner, hashed


def some_classifier(seed: int = 0) -> DraftClassifier:
    """Untrained, but as decided as any. Weights for matches come last: recorded behaviour is older than these."""
    dice = torch.Generator().manual_seed(seed)
    hidden, first, last = (
        torch.randn(*size, generator=dice) for size in ((6, len(features.NAMES) - len(judging.MATCHES)), (6,), (1, 6))
    )
    matches = torch.randn(6, len(judging.MATCHES), generator=dice)
    about = {"thresholds": {"priced": 0.3, "threshold": 0.5, "copied": 0.2}}
    return DraftClassifier(Layers(torch.cat((hidden, matches), 1), first, last, torch.zeros(1)), card=about)


def looking_at(names: abc.Sequence[str]) -> DraftClassifier:
    """Untrained, and it looks at nothing else."""
    made = some_classifier(1)
    made.drafted.hidden[:, [i for i, name in enumerate(features.NAMES) if name not in names]] = 0.0
    return made


def stopped_by(rule: str, cap: int, classifier: DraftClassifier, threshold: float) -> Callable[[Parts], Drafter]:
    """One of DISCO's rules with a classifier that need not be stored."""
    return lambda parts: parts.drafter(RULES[rule](threshold, cap), classifier)


def drafter_for(parts: Parts, made: Source | Drafter) -> Drafter:
    """A drafter for a source. One that is a feature too sees that of each token."""
    if isinstance(made, Drafter):
        return made
    drafter = parts.drafter(made, some_classifier())
    if isinstance(made, Feature):
        assert isinstance(drafter, DraftDriver)
        drafter.feature = made
    return drafter


JOINT = CostModel(
    target={n: [(rows, 0.010 + 0.002 * rows) for rows in (n, 4 * n, 8 * n)] for n in (1, 2, 4, 8)},
    steps={n: [(n, 0.001 + 0.0005 * n)] for n in (1, 2, 4, 8)},
    rest=[(n, 0.001) for n in (1, 2, 4, 8)],
)

STATES = 101
state_of = hashed(STATES)


def tables(vocab: int, seed: int = 0, sharpness: float = 1.5, noise: float = 0.8) -> tuple[torch.Tensor, torch.Tensor]:
    """The target's logits in each state and a draft's that resemble them."""
    dice = torch.Generator().manual_seed(seed)
    target = sharpness * torch.randn(STATES, vocab, generator=dice, dtype=torch.float64)
    return target, target + noise * torch.randn(STATES, vocab, generator=dice, dtype=torch.float64)


@torch.inference_mode()
def decode_by(users: int, texts: abc.Iterator[Sequence], state: BatchState) -> None:
    """Decode texts, so many at a time."""
    batch = Batch(state)
    while True:
        for text in islice(texts, users - len(batch.sequences)):
            batch.admit(text)
        if not batch.sequences:
            return
        batch.play_round()


@dataclass
class World:
    target: ModelRunner
    draft: ModelRunner
    end_tokens: frozenset[int] = frozenset()
    draft_process: DraftProcess | None = None
    pickers: type[Pickers] = Pickers
    words: Words = no_words
    bridge: Bridge | None = None  # if the draft has another tokenizer
    clock: Callable[[], Clock] = Clock
    memory: dict[str, Any] | None = None  # that its texts share; None: they share nothing
    lanes: Lanes | None = None  # if one thread drives target and draft at once

    @property
    def vocab(self) -> int:
        return self.target.vocab_size if self.bridge else min(self.target.vocab_size, self.draft.vocab_size)

    @classmethod
    def of_tables(
        cls, vocab: int, seed: int = 0, context: int = 4096, words: Words = no_words, **shape: float
    ) -> World:
        target, draft = tables(vocab, seed, **shape)
        return cls(TableRunner(target, context, state_of), TableRunner(draft, context, state_of), words=words)

    def run(
        self,
        choice: Choice | Callable[[Parts], Source | Drafter],
        prompt: abc.Sequence[int],
        sampling: Sampling,
        seed: int = 0,
        ending: Ending | None = None,
        recorder: Recorder | None = None,
    ) -> tuple[Decoded, Recorder]:
        recorder = recorder or Recorder()
        with torch.inference_mode():
            return decode(self.sequence(choice, prompt, sampling, seed, ending, recorder)), recorder

    def sequence(
        self,
        choice: Choice | Callable[[Parts], Source | Drafter],
        prompt: abc.Sequence[int],
        sampling: Sampling,
        seed: int,
        ending: Ending | None,
        recorder: Recorder,
    ) -> Sequence:
        dice: Dice = dice_for(sampling, self.vocab, seed)
        clock = self.clock()
        parts = Parts(
            self.target,
            self.draft,
            dice,
            clock,
            self.end_tokens,
            lambda name: some_classifier(),
            self.pickers(self.draft.vocab_size if self.bridge else dice.vocab, self.draft.device),
            placed(str(choice.all_params.get("placement")), self.draft_process) if isinstance(choice, Choice) else None,
            lanes=self.lanes,
            words=self.words,
            bridge=self.bridge,
            memory={} if self.memory is None else self.memory,
        )
        made = build(choice, parts) if isinstance(choice, Choice) else choice(parts)
        drafter = drafter_for(parts, made)
        ending = ending or Ending(self.end_tokens, sampling.stop)
        return Sequence(prompt, sampling.max_new_tokens, ending, self.target, drafter, dice, recorder, clock)


class Solo:
    """The draft's side of a single text, driven step by step: in turn, or as beside the target if it `hides`."""

    def __init__(self, runner: ModelRunner, recipe: SpeculatorRecipe, hides: bool = False) -> None:
        self._runner, self._recipe = runner, recipe
        self._side = Speculators(hides)
        self.step = self._side.step

    @property
    def speculator(self) -> Speculator:
        return self._side.texts[0]

    def begin(self, text: abc.Sequence[int], limit: int) -> Draft:
        self._side.read(0, self._recipe, [*text], self._runner)
        return self._ask(Question(0, None, 0, limit))

    def answer(self, accepted: int, token: int, limit: int) -> Draft:
        return self._ask(Question(0, accepted, token, limit))

    def preparation(self) -> Preparation:
        return self.speculator.preparation()

    def estimate(self) -> tuple[float, ...]:
        return self.speculator.estimate()

    def _ask(self, asked: Question) -> Draft:
        [answered] = self._side.answer([asked], time.perf_counter_ns())
        assert answered.error is None
        return answered.draft
