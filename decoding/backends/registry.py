"""Turn a choice into a drafter, with the parts of one sample."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from decoding.choice import Choice
from decoding.core.sequence import Drafter
from decoding.dice.choosing import Pickers
from decoding.dice.dice import Dice, dice_for
from decoding.disco.classifier import DraftClassifier
from decoding.disco.copies import judge_of
from decoding.disco.estimating import estimate_of
from decoding.drafting.driver import DraftDriver
from decoding.drafting.features import Confidence, Fate, Feature, Lead, Peak
from decoding.drafting.source import Given, Sight, Source, View, Words, no_words
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.errors import BadStrategy
from decoding.models.runner import ModelRunner
from decoding.ssd.speculator.speculator import SpeculatorRecipe
from decoding.ssd.transport.beside import BesideExchange
from decoding.ssd.transport.draft_process import DraftProcess
from decoding.ssd.transport.exchange import ExchangeHere, SsdDrafter
from decoding.ssd.transport.two_lanes import Lanes
from decoding.trace.timing import Clock
from decoding.vocabularies.bridge import Bridge
from decoding.vocabularies.retokenised import RetokenisedDrafter
from decoding.vocabularies.shared import require_scores


@dataclass(frozen=True)
class Parts:
    """Parts of one sample. Everything but the runners belongs to that sample alone."""

    target: ModelRunner
    draft: ModelRunner | None  # with its own tokens if the bridge matches text; None: the pair is a target alone
    dice: Dice
    clock: Clock
    end_tokens: Collection[int]
    classifier: Callable[[str], DraftClassifier]
    pickers: Pickers
    draft_process: DraftProcess | None = None  # if the draft runs beside the target
    lanes: Lanes | None = None  # if this thread drives both at once
    words: Words = no_words  # the tokenizer's decode
    memory: dict[str, Any] = field(default_factory=dict)  # shared by all samples of one choice
    bridge: Bridge | None = None  # if the draft has another tokenizer
    is_joint: bool = False  # whether other texts are decoded together with this one

    def drafter(
        self, source: Source, classifier: DraftClassifier | None = None, *, needs_draft: bool = True
    ) -> Drafter:
        """Return a drafter that does what the source asks for. One that sees estimates needs a classifier."""
        feature = self._feature(source, classifier)
        if not needs_draft:
            return DraftDriver(source, self._view(self.end_tokens), self.dice)
        if self.bridge and (source.copies or source.branches):
            require_scores(self.bridge.method, "A mix of copies and drafts" if source.copies else "A tree")
        if self.bridge and self.bridge.matches_text:
            return self._retokenised(source, feature, self.bridge)
        picker = self.pickers.of(self.dice.sampling, feature.look if feature else None)
        return DraftDriver(source, self._view(self.end_tokens), self.dice, self._draft, feature, picker)

    def _view(self, ends: Collection[int]) -> View:
        return View(ends=ends, vocab=self.dice.vocab, now=self.clock.now, spelled=self.words)

    def _retokenised(self, source: Source, feature: Feature | None, bridge: Bridge) -> Drafter:
        """Return a drafter for a draft that has its own tokens here."""
        sampling = replace(self.dice.sampling, temperature=0.0)
        dice = dice_for(sampling, self._draft.vocab_size, self.dice.seed)
        view = self._view(bridge.draft_ends if self.end_tokens else ())
        picker = self.pickers.of(sampling, feature.look if feature else None)
        return RetokenisedDrafter(DraftDriver(source, view, dice, self._draft, feature, picker), bridge)

    def speculating(self, settings: SpeculatorSettings, classifier: DraftClassifier | None = None) -> Drafter:
        """Return a drafter that prepares drafts ahead."""
        if self.bridge:
            require_scores(self.bridge.method, "A draft beside the target")
        dice = self.dice
        recipe = SpeculatorRecipe(
            settings, dice.sampling, dice.vocab, dice.seed, self.end_tokens, classifier, self.is_joint
        )
        exchange = BesideExchange(self.draft_process) if self.draft_process else ExchangeHere(self.lanes)
        return SsdDrafter(self.memory.setdefault("exchange", exchange), recipe, self._draft, self.clock)

    @property
    def _draft(self) -> ModelRunner:
        if self.draft is None:
            raise BadStrategy("A strategy says needs_draft=False and asks the draft model. Remove that from its file.")
        return self.draft

    def _feature(self, source: Source, classifier: DraftClassifier | None) -> Feature | None:
        match source.sees:
            case "nothing":
                return None
            case "confidence":
                return Confidence()
            case "peak":
                return Peak()
            case "lead":
                return Lead()
            case "fate":
                return Fate(self.target, self.dice, self.clock)
            case "estimate" if classifier:
                return estimate_of(classifier)
            case _:
                raise BadStrategy(
                    f"A source sees {source.sees!r}. It may see {', '.join(get_args(Sight))}; an estimate needs a "
                    "parameter of its strategy that names a classifier."
                )


def build(choice: Choice, parts: Parts) -> Drafter:
    classifier = None if choice.classifier is None else parts.classifier(choice.classifier)
    if choice.ahead:
        return parts.speculating(choice.ahead, classifier)
    judge = judge_of(classifier) if classifier and choice.judges_copies else None
    source = choice.source(Given(parts.memory, classifier, judge))
    return parts.drafter(source, classifier, needs_draft=choice.spec.needs_draft)
