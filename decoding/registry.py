"""Turn a choice into a drafter, with the parts that builders of strategies may use."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

from decoding.choosing import Choosings
from decoding.dice import Dice, dice_for
from decoding.disco.classifier import Classifier
from decoding.disco.copies import judge_of
from decoding.disco.stops import estimating
from decoding.drafters.base import Drafter
from decoding.drafters.best_source import BestSourceDrafter
from decoding.drafters.hybrid import HybridDrafter
from decoding.drafters.lookup import LookupDrafter
from decoding.drafters.model import ModelDrafter
from decoding.drafters.none import NoDraft
from decoding.drafters.retokenised import RetokenisedDrafter
from decoding.drafters.rule import StopRule
from decoding.drafters.tree import Likeliest, Shaped, TreeDrafter
from decoding.errors import BadStrategy
from decoding.mixing import Mix
from decoding.models.runner import ModelRunner
from decoding.proposing import Proposer
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
from decoding.stopping import Driven, Foreseeing, Reading, ReadingLeads, ReadingPeaks, Words, no_words
from decoding.strategy import CLASSIFIER, Policy
from decoding.timing import Clock
from decoding.tree_shapes import LikeliestPaths, TreePolicy
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

    def no_draft(self) -> Drafter:
        return NoDraft()

    def copying(self, proposer: Proposer) -> Drafter:
        """Return a drafter without a model."""
        return LookupDrafter(proposer, self.end_tokens, self.dice.vocab)

    def mixing(self, mix: Mix, classifier: Classifier | None = None) -> Drafter:
        """Return a drafter that copies, lets the draft model draft, or both. A policy that sees estimates needs a
        classifier."""
        if self.bridge:
            self.bridge.require_scores("A mix of copies and drafts")
        model = self.drafter(mix.policy, classifier)
        assert isinstance(model, ModelDrafter)
        if mix.policy.sees == "fate":
            return BestSourceDrafter(mix, model, self.target, self.dice, self.end_tokens, self.clock)
        return HybridDrafter(mix, model, self.dice, self.end_tokens, self.clock)

    def drafter(self, policy: Policy, classifier: Classifier | None = None) -> Drafter:
        """Return a drafter whose draft model goes on until the policy stops it. A policy that sees estimates needs a
        classifier."""
        return self.ruled(self._stop(policy, classifier))

    def ruled(self, rule: StopRule) -> Drafter:
        if self.bridge and self.bridge.matches_text:
            return self._retokenised(rule, self.bridge)
        choosing = self.choosings.of(self.dice.sampling, rule.look)
        return ModelDrafter(self._draft, rule, self.dice, self.end_tokens, choosing)

    def shaped(self, policy: TreePolicy) -> Drafter:
        """Return a drafter whose draft model fills the shapes that a policy chooses."""
        if self.bridge:
            self.bridge.require_scores("A tree")
        growth = Likeliest(policy, self.end_tokens) if isinstance(policy, LikeliestPaths) else Shaped(policy)
        return TreeDrafter(self._draft, growth, self.dice)

    def _retokenised(self, rule: StopRule, bridge: Bridge) -> Drafter:
        """Return a drafter for a draft that has its own tokens here."""
        sampling = replace(self.dice.sampling, temperature=0.0)
        dice = dice_for(sampling, self._draft.vocab_size, self.dice.seed)
        ends = bridge.draft_ends if self.end_tokens else ()
        choosing = self.choosings.of(sampling, rule.look)
        return RetokenisedDrafter(ModelDrafter(self._draft, rule, dice, ends, choosing), bridge)

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

    def _stop(self, policy: Policy, classifier: Classifier | None) -> StopRule:
        match policy.sees:
            case "nothing":
                return Driven(policy, self.words)
            case "confidence":
                return Reading(policy, self.words)
            case "peak":
                return ReadingPeaks(policy, self.words)
            case "lead":
                return ReadingLeads(policy, self.words)
            case "fate":
                return Foreseeing(policy, self.words, self.target, self.dice, self.clock)
            case _:
                assert classifier, "a policy that sees estimates needs a classifier"
                return estimating(policy, classifier, self.words)


def build(choice: Choice, parts: Parts) -> Drafter:
    params: dict[str, Any] = choice.settled
    spec = choice.spec
    if spec.build:
        drafter: Drafter = spec.build(parts, **params)
        return drafter
    classifier = parts.classifier(params[CLASSIFIER.name]) if spec.needs_classifier else None
    judge = judge_of(classifier) if classifier and spec.judges_copies else None
    if spec.mixes:
        return parts.mixing(choice.mix(parts.memory, parts.clock.now, judge), classifier)
    if spec.proposer:
        return parts.copying(choice.proposer(parts.memory, judge))
    return parts.drafter(choice.policy())
