"""Slug to drafter: the one place where a strategy's parameters become objects. `decoding.spec` has the same slugs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from decoding.choosing import Choosings
from decoding.dice import Dice
from decoding.disco.classifier import Classifier
from decoding.disco.stops import stop_of
from decoding.drafters.base import Drafter
from decoding.drafters.model import ModelDrafter
from decoding.drafters.none import NoDraft
from decoding.drafters.rule import StopRule
from decoding.runner import ModelRunner
from decoding.spec import Choice
from decoding.ssd.alongside import Alongside
from decoding.ssd.beside import Beside
from decoding.ssd.drafter import InTurn, SsdDrafter, Transport
from decoding.ssd.lanes import Lanes
from decoding.ssd.letters import Recipe
from decoding.ssd.resident import DraftProcess, placed
from decoding.ssd.settings import Settings
from decoding.stopping import AdaptiveThreshold, FixedLength, Heuristic, Oracle, Threshold
from decoding.timing import Clock


@dataclass(frozen=True)
class Parts:
    """What a builder may use: everything belongs to one sample except the runners."""

    target: ModelRunner
    draft: ModelRunner
    dice: Dice
    clock: Clock
    end_tokens: Collection[int]
    classifier: Callable[[str], Classifier]
    choosings: Choosings
    draft_process: DraftProcess | None = None  # where the draft can run beside the target
    lanes: Lanes | None = None  # where this thread drives both at once

    def drafter(self, rule: StopRule) -> Drafter:
        choosing = self.choosings.of(self.dice.sampling, rule.look)
        return ModelDrafter(self.draft, rule, self.dice, self.end_tokens, choosing)


def _threshold(parts: Parts, threshold: float, cap: int, adaptive: bool) -> Drafter:
    return parts.drafter((AdaptiveThreshold if adaptive else Threshold)(cap, threshold))


def _disco(parts: Parts, rule: str, threshold: float, cap: int, classifier: str) -> Drafter:
    chosen = parts.classifier(classifier)
    return parts.drafter(stop_of(rule, cap, chosen, threshold or chosen.tuned(rule)))


def _ssd(parts: Parts, placement: str, **settings: Any) -> Drafter:
    return _speculating(parts, placement, Settings(**settings))


def _ssd_disco(parts: Parts, cap: int, branches: int, classifier: str, placement: str) -> Drafter:
    settings = Settings(lookahead=cap, branches=branches, backup="neural")
    return _speculating(parts, placement, settings, parts.classifier(classifier))


def _speculating(parts: Parts, placement: str, settings: Settings, classifier: Classifier | None = None) -> Drafter:
    dice = parts.dice
    recipe = Recipe(settings, dice.sampling, dice.vocab, dice.seed, parts.end_tokens, classifier)
    process = None if parts.lanes else placed(placement, parts.draft_process)
    with parts.clock.stopped():  # a process that was lost is started anew
        transport = Beside(process, recipe) if process else _here(parts, recipe)
    return SsdDrafter(transport, parts.clock)


def _here(parts: Parts, recipe: Recipe) -> Transport:
    if parts.lanes is None:
        return InTurn(recipe.speculator(parts.draft))
    return Alongside(recipe.speculator(parts.lanes.runner), parts.lanes, recipe.sends_scores)


# Strategies of other contestants have no builder: those bring a loop of their own.
BUILDERS: dict[str, Callable[..., Drafter]] = {
    "autoregressive": lambda parts: NoDraft(),
    "static": lambda parts, lookahead: parts.drafter(FixedLength(lookahead)),
    "heuristic": lambda parts, initial: parts.drafter(Heuristic(initial)),
    "threshold": _threshold,
    "disco": _disco,
    "ssd": _ssd,
    "ssd-disco": _ssd_disco,
    "oracle": lambda parts, cap: parts.drafter(Oracle(cap, parts.target, parts.dice, parts.clock)),
}


def build(choice: Choice, parts: Parts) -> Drafter:
    params: dict[str, Any] = dict(choice.params)
    return BUILDERS[choice.strategy](parts, **params)
