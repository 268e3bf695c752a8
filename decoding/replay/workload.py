"""Numbers of samples that studies decode, known before they begin. Loads no model library, so that forms can tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from decoding.choice import Choice, choose, planned
from decoding.dice.sampling import Sampling
from decoding.drafting.strategy import Strategy
from decoding.strategies import BASELINE, STRATEGIES

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


def lacks(choice: Choice, *, has_classifier: bool, judges_copies: bool, is_undrafted: bool) -> str:
    """Say what a choice needs that recordings of a pair do not have; empty if they have all. `judges_copies` says
    whether the classifier does."""
    if is_undrafted and choice.spec.needs_draft:
        return "it needs a draft, and none was recorded"
    if choice.classifier is not None and not has_classifier:
        return "this pair has no classifier"
    if choice.judges_copies and not judges_copies:
        return "the classifier has not learned from copied tokens"
    return ""


def settings(
    has_classifier: bool, judges_copies: bool = False, *, is_undrafted: bool = False, at_load: bool = False
) -> Iterator[Choice]:
    """Settings that a plan predicts by replay: for one user without those that price rounds of several texts, at load
    without bounds, as an oracle peeks at each text alone."""
    has = {"has_classifier": has_classifier, "judges_copies": judges_copies, "is_undrafted": is_undrafted}
    for one in planned():
        is_played = one.spec.role == "ranked" if at_load else not one.spec.usual_source.prices_rounds
        if one.spec.can_replay and is_played and not lacks(one, **has):
            yield one


def confirmed(has_classifier: bool, judges_copies: bool = False, *, is_undrafted: bool = False) -> set[str]:
    """Kinds of choices that a plan runs to test its predictions."""
    found = settings(has_classifier, judges_copies, is_undrafted=is_undrafted)
    return {BASELINE, *(choice.kind for choice in found if choice.spec.role == "ranked")}


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


def samples_at_load(users: Sequence[int], prompts: int) -> int:
    """Samples of a plan under load, at most."""
    return (SHOWN + 1) * len(users) * prompts


@dataclass(frozen=True)
class StudyRecipe:
    """All that decides how many samples a study decodes."""

    prompts: int
    sampling: Sampling
    users: Sequence[int] = ()  # at once, of a plan under load
    has_classifier: bool = False
    judges_copies: bool = False
    is_undrafted: bool = False  # nothing is drafted
    has_both_placements: bool = True  # the draft can work beside the target


def of_recordings(recipe: StudyRecipe) -> int:
    """Samples of a study that records each prompt once."""
    return recipe.prompts


def of_plan(recipe: StudyRecipe) -> int:
    """Samples of a plan at most."""
    return sum(phases_of_plan(recipe).values())


def phases_of_plan(of: StudyRecipe) -> dict[str, int]:
    """Samples of each phase of a plan."""
    ahead = [] if of.is_undrafted else planned_ahead(of.sampling, has_classifier=of.has_classifier)
    runs = len(confirmed(of.has_classifier, of.judges_copies, is_undrafted=of.is_undrafted)) + len(ahead)
    return {
        RECORDING: of.prompts,
        COSTS: samples_of_probe(of.prompts, classifiers=int(of.has_classifier), is_undrafted=of.is_undrafted),
        AHEAD: samples_ahead(of.prompts, ahead, has_both_placements=of.has_both_placements),
        CONFIRMING: runs * of.prompts,
        **({JOINTLY: 0, AT_LOAD: samples_at_load(of.users, of.prompts)} if of.users else {}),
    }
