"""Turn a choice into a drafter, with the parts of one sample."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

from decoding.choosing import Choosings
from decoding.dice import Dice, dice_for
from decoding.disco.classifier import Classifier
from decoding.disco.copies import judge_of
from decoding.disco.estimating import estimate_of
from decoding.drafters.base import Drafter
from decoding.drafters.driver import SourceDrafter
from decoding.drafters.features import Confidence, Fate, Feature, Lead, Peak
from decoding.drafters.retokenised import RetokenisedDrafter
from decoding.errors import BadStrategy
from decoding.models.runner import ModelRunner
from decoding.source import Given, Source, View, Words, no_words
from decoding.spec import Choice
from decoding.ssd.policy.misses import Experience
from decoding.ssd.settings import Settings
from decoding.ssd.speculator.speculator import Speculator
from decoding.ssd.transport.beside import BesideTransport
from decoding.ssd.transport.draft_process import DraftProcess, placed
from decoding.ssd.transport.drafter import InTurnDrafter, SsdDrafter, Transport
from decoding.ssd.transport.joint import JointDrafter
from decoding.ssd.transport.joint_lanes import LaneDrafter
from decoding.ssd.transport.messages import Recipe
from decoding.ssd.transport.two_lanes import Lanes, TwoLaneTransport
from decoding.timing import Clock
from decoding.vocabularies.bridge import Bridge


@dataclass(frozen=True)
class Parts:
    """Parts of one sample. Everything but the runners belongs to that sample alone."""

    target: ModelRunner
    draft: ModelRunner | None  # with its own tokens if the bridge matches text; None: the pair is a target alone
    dice: Dice
    clock: Clock
    end_tokens: Collection[int]
    classifier: Callable[[str], Classifier]
    choosings: Choosings
    draft_process: DraftProcess | None = None  # if the draft can run beside the target
    lanes: Lanes | None = None  # if this thread drives both at once
    words: Words = no_words  # the tokenizer's decode
    memory: dict[str, Any] = field(default_factory=dict)  # shared by all samples of one choice
    bridge: Bridge | None = None  # if the draft has another tokenizer
    is_joint: bool = False  # whether other texts are decoded together with this one

    def drafter(self, source: Source, classifier: Classifier | None = None, *, needs_draft: bool = True) -> Drafter:
        """Return a drafter that does what the source asks for. One that sees estimates needs a classifier."""
        feature = self._feature(source, classifier)
        if not needs_draft:
            return SourceDrafter(source, self._view(self.end_tokens), self.dice)
        if self.bridge and self.bridge.matches_text:
            return self._retokenised(source, feature, self.bridge)
        if self.bridge and (source.copies or source.branches):
            self.bridge.require_scores("A mix of copies and drafts" if source.copies else "A tree")
        choosing = self.choosings.of(self.dice.sampling, feature.look if feature else None)
        return SourceDrafter(source, self._view(self.end_tokens), self.dice, self._draft, feature, choosing)

    def _view(self, ends: Collection[int]) -> View:
        return View(ends=ends, vocab=self.dice.vocab, now=self.clock.now, spelled=self.words)

    def _retokenised(self, source: Source, feature: Feature | None, bridge: Bridge) -> Drafter:
        """Return a drafter for a draft that has its own tokens here."""
        sampling = replace(self.dice.sampling, temperature=0.0)
        dice = dice_for(sampling, self._draft.vocab_size, self.dice.seed)
        view = self._view(bridge.draft_ends if self.end_tokens else ())
        choosing = self.choosings.of(sampling, feature.look if feature else None)
        return RetokenisedDrafter(SourceDrafter(source, view, dice, self._draft, feature, choosing), bridge)

    def speculating(self, placement: str, settings: Settings, classifier: Classifier | None = None) -> Drafter:
        """Return a drafter that prepares drafts ahead, at the given placement."""
        if self.bridge:
            self.bridge.require_scores("A draft beside the target")
        dice = self.dice
        recipe = Recipe(settings, dice.sampling, dice.vocab, dice.seed, self.end_tokens, classifier)
        process = None if self.lanes else placed(placement, self.draft_process)
        if not process and not self.lanes:
            return InTurnDrafter(self._speculator(recipe, self._draft, hides=False), self.clock)
        if process and self.is_joint:
            return JointDrafter(process, recipe, self.clock)
        if self.lanes and self.is_joint:
            return LaneDrafter(self.lanes, recipe, self._draft, self.clock)
        return SsdDrafter(self._transport(recipe, process), self.clock)

    def _speculator(self, recipe: Recipe, draft: ModelRunner, hides: bool = True) -> Speculator:
        """Make a speculator in this process. The samples of a choice share what they learn."""
        speculator = recipe.speculator(draft)
        speculator.share(self.memory.setdefault("experience", Experience()), hides)
        return speculator

    def _transport(self, recipe: Recipe, process: DraftProcess | None) -> Transport:
        if self.lanes:
            return TwoLaneTransport(self._speculator(recipe, self.lanes.runner), self.lanes, recipe.sends_scores)
        assert process
        with self.clock.stopped():  # a process that was lost is started anew
            return BesideTransport(process, recipe)

    @property
    def _draft(self) -> ModelRunner:
        if self.draft is None:
            raise BadStrategy("A strategy says needs_draft=False and asks the draft model. Remove that from its file.")
        return self.draft

    def _feature(self, source: Source, classifier: Classifier | None) -> Feature | None:
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
            case _:
                assert classifier, "a source that sees estimates needs a classifier"
                return estimate_of(classifier)


def build(choice: Choice, parts: Parts) -> Drafter:
    params: dict[str, Any] = choice.settled
    classifier = None if choice.classifier is None else parts.classifier(choice.classifier)
    if choice.ahead:
        return parts.speculating(params["placement"], choice.ahead, classifier)
    judge = judge_of(classifier) if classifier and choice.judges_copies else None
    source = choice.source(Given(parts.memory, classifier, judge))
    return parts.drafter(source, classifier, needs_draft=choice.spec.needs_draft)
