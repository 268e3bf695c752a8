"""Stop drafting when the draft is unsure of its own token."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from decoding.drafting.engine_settings import llama_cpp, transformers
from decoding.drafting.params import Param
from decoding.drafting.source import Chain, Given, Judgement, Sight
from decoding.drafting.strategy import (
    CAP,
    LONGEST,
    EngineSetting,
    Looks,
    Settings,
    Slider,
    Strategy,
)

MISS_WEIGHT = 3  # false negatives against false positives: 75 % and 25 %


class Unsure(Chain):
    """Stop after a token whose draft probability is below the threshold."""

    sees: Sight = "confidence"

    def __init__(self, threshold: float, cap: int) -> None:
        self.threshold, self.lookahead = threshold, cap

    def stops(self, seen: float) -> bool:
        return seen < self.threshold


class Adaptive(Unsure):
    """Refits the threshold after each round: to the one that would have cost least on the tokens judged so far.

    Stopping one token too early costs 3 times as much as drafting one too many. Tokens after the first refusal were
    never judged, so they do not count. The next round uses the new threshold; in transformers, as published, no round
    used it.
    """

    def __init__(self, threshold: float, cap: int) -> None:
        super().__init__(threshold, cap)
        self._known: list[tuple[float, bool]] = []

    def judged(self, judgement: Judgement) -> None:
        confidence, accepted = judgement.draft.confidence, judgement.accepted
        self._known += [(value, True) for value in confidence[:accepted]]
        if accepted < len(confidence):
            self._known.append((confidence[accepted], False))
        if len(self._known) > 5:
            self.threshold = cheapest_threshold(self._known, self.threshold)


def cheapest_threshold(judged: Sequence[tuple[float, bool]], fallback: float) -> float:
    """Return the confidence in `judged` that minimises fpr + 3 fnr as a threshold; of equal ones the highest. Drafting
    goes on at or above the threshold."""
    good = sorted(confidence for confidence, accepted in judged if accepted)
    bad = sorted(confidence for confidence, accepted in judged if not accepted)
    if not good or not bad:
        return fallback

    def cost(threshold: float) -> float:
        refused_but_kept = len(bad) - bisect_left(bad, threshold)
        accepted_but_stopped = bisect_left(good, threshold)
        return refused_but_kept / len(bad) + MISS_WEIGHT * accepted_but_stopped / len(good)

    return min(sorted({confidence for confidence, _ in judged}, reverse=True), key=cost)


def _source(given: Given, threshold: float, cap: int, adaptive: bool) -> Unsure:
    return (Adaptive if adaptive else Unsure)(threshold, cap)


def _grid() -> Iterator[Settings]:
    return ({"threshold": step / 20, "cap": cap} for step in range(1, 20) for cap in (8, LONGEST))


def _exports(params: Settings) -> Iterator[EngineSetting]:
    if not params["adaptive"]:
        cap, threshold = int(params["cap"]), float(params["threshold"])
        yield transformers(cap, threshold)
        yield llama_cpp(cap, threshold)


STRATEGY = Strategy(
    slug="threshold",
    title="Threshold",
    summary="Drafting stops after a token whose draft probability is below the threshold.",
    role="ranked",
    order=4,
    looks=Looks("◆", "M0,-8.5L8.5,0L0,8.5L-8.5,0Z", "#4b4fc4", "#8290ff", 62),
    params=(
        Param("threshold", "float", 0.4, "stop below this probability", 0.0, 1.0),
        Param("cap", "int", 20, CAP, 1, 64),
        Param("adaptive", "bool", False, "refit the threshold after every round from the ROC curve so far"),
    ),
    source=_source,
    grid=_grid,
    exports=_exports,
    demo=({},),
    sliders=(Slider("threshold", 0.05, 0.95, 0.05), Slider("cap", 1, LONGEST)),
)
