"""Numbers of samples that studies decode, known before they begin. Loads no model library, so that forms can tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from decoding.choice import Choice, choose, planned
from decoding.dice.sampling import Sampling
from decoding.drafting.strategy import Strategy
from decoding.strategies import STRATEGIES

RECORDING, COSTS, AHEAD, CONFIRMING = "recording", "measuring costs", "measuring preparation", "confirming"
JOINTLY, AT_LOAD = "measuring joint passes", "confirming under load"  # phases of a plan

PROMPTS = 4  # on which costs are measured
VARIED = 5  # samples of each prompt with drafts of every length
UNAIDED = (0, 2, 4)  # after these the target decodes alone: every speed-up depends on that cost
GROWN = (0, 2, 4)  # and after these drafts are trees: one sample's sizes are too few for a line
MIXED = (1, 3)  # and after these a source weighs copies and drafts
COARSE = 3  # settings of a grid that are run to measure prices
AGAIN = 3  # times that the best is run to correct its promise
SHOWN = 4  # strategies that run at each load, beside the baseline


class Estimating(Protocol):
    """A classifier, or what is stored of one."""

    @property
    def knows_copies(self) -> bool: ...


def lacks(choice: Choice, classifier: Estimating | None, *, is_undrafted: bool) -> str:
    """Say what a choice needs that recordings of a pair do not have; empty if they have all."""
    if is_undrafted and choice.spec.needs_draft:
        return "it needs a draft, and none was recorded"
    if choice.classifier is not None and classifier is None:
        return "this pair has no classifier"
    if choice.judges_copies and not (classifier and classifier.knows_copies):
        return "the classifier has not learned from copied tokens"
    return ""


def settings(classifier: Estimating | None, *, is_undrafted: bool, at_load: bool = False) -> Iterator[Choice]:
    """Settings that a plan predicts by replay: for one user without those that price rounds of several texts, at load
    without bounds, as an oracle peeks at each text alone."""
    for one in planned():
        is_played = one.spec.role == "ranked" if at_load else not one.spec.usual_source.prices_rounds
        if one.spec.can_replay and is_played and not lacks(one, classifier, is_undrafted=is_undrafted):
            yield one


def planned_ahead(sampling: Sampling, *, has_classifier: bool) -> list[Strategy]:
    """Strategies that prepare ahead and can be simulated here: the dice must fix the text."""
    return [
        strategy
        for strategy in STRATEGIES.values()
        if strategy.prepares_ahead and sampling.fixes_the_text
        if has_classifier or choose(strategy.slug).classifier is None
    ]


def samples_of_probe(prompts: int, *, classifiers: int, is_undrafted: bool = False) -> int:
    """Samples that measure the costs of passes; fewer of a target alone."""
    with_draft = 0 if is_undrafted else len(MIXED) + len(GROWN) + 1 + classifiers
    return min(PROMPTS, prompts) * (len(UNAIDED) + VARIED + with_draft)


def samples_ahead(prompts: int, strategies: Sequence[Strategy], *, has_both_placements: bool) -> int:
    """Samples that measure the prices of strategies that prepare ahead."""
    runs = COARSE + 3 + 2 * AGAIN + 2 * has_both_placements
    return min(PROMPTS, prompts) * runs * len(strategies)


@dataclass(frozen=True)
class StudyRecipe:
    """All that decides how many samples a study decodes."""

    prompts: int
    sampling: Sampling
    users: Sequence[int] = ()  # at once, of a plan under load
    classifier: Estimating | None = None  # that decides
    is_undrafted: bool = False  # nothing is drafted
    has_both_placements: bool = True  # the draft can work beside the target


def of_plan(recipe: StudyRecipe) -> int:
    """Samples of a plan at most."""
    return sum(phases_of_plan(recipe).values())


def phases_of_plan(of: StudyRecipe) -> dict[str, int]:
    """Samples of each phase of a plan."""
    ahead = [] if of.is_undrafted else planned_ahead(of.sampling, has_classifier=of.classifier is not None)
    played = settings(of.classifier, is_undrafted=of.is_undrafted)
    kinds = {choice.kind for choice in played if choice.spec.role == "ranked"}
    return {
        RECORDING: of.prompts,
        COSTS: samples_of_probe(of.prompts, classifiers=int(of.classifier is not None), is_undrafted=of.is_undrafted),
        AHEAD: samples_ahead(of.prompts, ahead, has_both_placements=of.has_both_placements),
        CONFIRMING: (1 + len(kinds) + len(ahead)) * of.prompts,
        **({JOINTLY: 0, AT_LOAD: (1 + SHOWN) * len(of.users) * of.prompts} if of.users else {}),
    }
