"""A pair of models that is loaded, or a target alone, and who may decode with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import torch

from decoding.backends import contestants, without_draft
from decoding.backends.contestants.base import Backend, Contestant
from decoding.backends.contestants.servers.endpoint import Reach
from decoding.backends.misfit import misfit
from decoding.backends.serving import CachePool
from decoding.choice import Choice
from decoding.dice.choosing import Pickers
from decoding.dice.sampling import Sampling
from decoding.disco.classifier import DraftClassifier, load_classifier
from decoding.drafting.source import Words
from decoding.errors import BadPair, BadStrategy
from decoding.models.checkpoints import load
from decoding.models.runner import ModelRunner
from decoding.models.tokenizer_files import Tokenizer
from decoding.prices.cost_model import CostModel
from decoding.prompts.chat.renderer import Renderer
from decoding.ssd.transport.draft_process import DraftProcess, placed
from decoding.ssd.transport.two_lanes import PLACEMENTS, Lanes, open_lanes
from decoding.vocabularies.bridge import Bridge
from decoding.vocabularies.translated import TranslatedRunner


@dataclass
class ModelPair(Backend):
    """A target and its draft, if it has one, loaded, and what contestants need of them."""

    target: ModelRunner
    draft: ModelRunner | None  # None: a target alone
    tokenizer: Tokenizer
    end_tokens: frozenset[int]
    dtype: torch.dtype
    target_folder: Path | None = None  # where another contestant finds the same weights
    draft_folder: Path | None = None
    classifier_at: Callable[[str], Path | None] = lambda _: None  # name -> folder; no name asks for the pair's own
    fingerprints: tuple[str, str] | None = None  # of target and draft: a classifier must have been trained for them
    draft_process: DraftProcess | None = None  # where the draft can run beside the target
    bridge: Bridge | None = None  # if the draft has another tokenizer; `draft` is then translated
    draft_left_out: str = ""  # why a study runs on the target alone, though the pair has a draft
    renderer: Renderer | None = None  # of chat prompts, by the target's template
    servers: Reach = field(default_factory=Reach)  # servers that may be contestants
    lanes: dict[str, Lanes] = field(default_factory=dict)  # those opened so far, by placement
    contestants: dict[str, Contestant] = field(default_factory=dict)  # those met so far, by their module's name
    _classifiers: dict[str, DraftClassifier] = field(default_factory=dict)

    @property
    def vocab(self) -> int:
        """The part of the vocabulary that all models have: the rest is padding."""
        return min(model.vocab_size for model in (self.target, self.draft) if model)

    def own(self, draft: ModelRunner | None) -> ModelRunner | None:
        """Return the draft as drafters run it: with its own tokens where they match text, else with the target's."""
        is_own = self.bridge and self.bridge.matches_text
        return draft.inner if is_own and isinstance(draft, TranslatedRunner) else draft

    @property
    def words(self) -> Words:
        """Decode of the tokens that drafters draft."""
        return self.bridge.words if self.bridge and self.bridge.matches_text else self.tokenizer.decode

    @cached_property
    def pickers(self) -> Pickers:
        """The draft's ways of choosing a token where that means launching."""
        draft = self.own(self.draft)
        if draft is None:
            return Pickers(self.vocab, self.target.device)
        vocab = self.vocab if draft is self.draft else draft.vocab_size
        return Pickers(vocab, draft.device)

    def caches(self) -> CachePool:
        """Return places for texts, none of which is made yet."""
        return CachePool(self.target.model, self.draft.model if self.draft else None)

    def require_draft(self, what: str) -> ModelRunner:
        """Return the draft. If there is none, refuse `what`, which needs it."""
        if self.draft is None:
            raise BadPair(f"{without_draft.lacks_draft(what)} Take a pair with a draft.")
        return self.draft

    def contestant(self, choice: Choice) -> Contestant:
        """Return who runs the choice, made when first asked for. Refuse a choice that lacks its draft."""
        if self.draft is None and choice.spec.needs_draft:
            raise BadStrategy(without_draft.why_not(choice.label))
        module = contestants.runs(choice.strategy)
        if module.__name__ not in self.contestants:
            self.contestants[module.__name__] = module.contestant(self)
        return self.contestants[module.__name__]

    def close(self) -> None:
        for one in self.contestants.values():
            one.close()
        if self.draft_process:
            self.draft_process.end()
        if self.renderer:
            self.renderer.close()

    def classifier(self, name: str, sampling: Sampling | None = None) -> DraftClassifier:
        """The named one, or the pair's own where none is named: as trained, or as it estimates under a sampling."""
        if name not in self._classifiers:
            folder = self.classifier_at(name)
            if folder is None:
                raise BadStrategy(
                    f"disco needs a classifier and there is none {f'called {name}' if name else 'with this pair'}; "
                    "train one for the pair, or name one: disco:classifier=NAME."
                )
            judges_copies_alone = bool(self.bridge and self.bridge.matches_text)
            self._classifiers[name] = load_classifier(folder, self.fingerprints, or_alone=judges_copies_alone)
        found = self._classifiers[name]
        return found.greedy if sampling and sampling.is_greedy else found

    def usable(self, names: Iterable[str]) -> list[str]:
        """Return the classifiers among these that can decide here: on a target alone, those that know copies."""
        return [name for name in names if self.draft or self.classifier(name).knows_copies]

    def hold(self, name: str, classifier: DraftClassifier) -> None:
        """Let a classifier that is not stored yet be asked for by name."""
        self._classifiers[name] = classifier

    def priced(self, name: str, costs: CostModel, sampling: Sampling) -> DraftClassifier:
        """Let a classifier use its prices at these costs from now on. Return it as it estimates under the sampling."""
        prices = self.classifier(name, sampling).at(costs).prices
        self.hold(name, dataclasses.replace(self.classifier(name), prices=prices))
        return self.classifier(name, sampling)

    def misfits(self, choices: Sequence[Choice], sampling: Sampling) -> list[str]:
        machine = self.target.facts.device_name
        asked = [(choice, name) for choice in choices if (name := choice.classifier) is not None]
        named = [(choice, self.classifier(name, sampling).card) for choice, name in asked]
        found = [misfit(c.label, card, sampling, machine, weighs=bool(c.price_rule)) for c, card in named]
        return list(filter(None, found))

    def misfit(self, what: str, name: str, sampling: Sampling) -> str:
        """Warn of anything else that decides with a classifier, at prices measured here; empty if it fits."""
        return misfit(what, self.classifier(name, sampling).card, sampling)

    def process_of(self, choice: Choice) -> DraftProcess | None:
        """The draft's own process, if the choice has the draft beside the target."""
        return placed(self.placement_of(choice), self.draft_process)

    def placement_of(self, choice: Choice) -> str:
        """Return where the choice has its draft work. One processor core takes longer for a draft than a GPU for a
        whole target, so `auto` keeps the draft on the target's GPU."""
        placement = str(choice.params.get("placement", "in-turn"))
        return "two-streams" if placement == "auto" and self.target.device.type == "cuda" else placement

    def lanes_of(self, choice: Choice) -> Lanes | None:
        """The queues that target and draft launch on, if one thread drives both at once."""
        placement = self.placement_of(choice)
        if placement in PLACEMENTS and placement not in self.lanes:
            draft = self.require_draft(choice.label)
            self.lanes[placement] = open_lanes(placement, self.target, draft, self._draft_on)
        return self.lanes.get(placement)

    def _draft_on(self, device: torch.device) -> ModelRunner:
        assert self.draft_folder is not None
        dtype = str(self.dtype).removeprefix("torch.")
        own = self.require_draft("Preparing ahead")
        context = own.inner.context if isinstance(own, TranslatedRunner) else own.context
        draft = load(self.draft_folder, dtype=dtype, device=device, context=context).runner
        return self.bridge.over(draft) if self.bridge else draft
