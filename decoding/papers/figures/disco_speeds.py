"""Speeds of the DISCO paper: each way to stop a draft, and each static lookahead."""

from __future__ import annotations

from decoding.papers.bootstrap import Estimate
from decoding.papers.figure import DISCO, Axis, Evidence, Figure, FigurePart, published, series
from decoding.papers.figures.base import NOT_READ, faster
from decoding.papers.settings import AUTOREGRESSIVE, ORACLE, STATICS

NAMES = (
    "static, 5 tokens",
    "best static",
    "rule of +2 and -1",
    "confidence of 0.4",
    "DISCO, threshold",
    "DISCO, priced",
    "oracle",
)
OVER_STATIC, OVER_HEURISTIC = 1.103, 1.314


def speedups(evidence: Evidence) -> FigurePart:
    choices, ran = evidence.stopping, evidence.ran
    best = choices["best static"]
    measured = [(NAMES.index(name), ran.ratio(choice, best)) for name, choice in choices.items()]
    replayed = [(NAMES.index(name), found) for name, found in _replayed(evidence).items()]
    return FigurePart(
        [series("run here", "measured", measured, False), series("replayed here", "replayed", replayed, False)],
        _why(evidence, dict(measured)),
    )


def _replayed(evidence: Evidence) -> dict[str, Estimate]:
    """Speeds over the best static lookahead's."""
    study, tuned = evidence.study, evidence.tuned(evidence.study) if evidence.classifier else {}
    base = study.play(STATICS[evidence.lookahead - 1])
    found = {}
    for name, choice in {**evidence.stopping, "oracle": ORACLE}.items():
        sees = choice.spec.usual_source.sees
        counts = tuned[str(choice.params["rule"])] if sees == "estimate" else study.play(choice)
        found[name] = faster(evidence.costs, counts, base, sees)
    return found


def _why(evidence: Evidence, measured: dict[int, Estimate]) -> str:
    share = evidence.costs.draft(1) / evidence.costs.verify(1, 1)
    by_threshold, by_price = (measured.get(NAMES.index(name)) for name in ("DISCO, threshold", "DISCO, priced"))
    words = (
        f"A drafted token takes {100 * share:.0f} % of a verification here and a row of a verification is not free. "
    )
    if by_threshold is None or by_price is None:
        return words + "DISCO itself is left out: this pair has no classifier."
    return words + (
        f"The published rule, a threshold, runs at {by_threshold.value:.2f} times the best static lookahead "
        f"({evidence.lookahead}) and our rule, by price, at {by_price.value:.2f}; the paper's mean over four prompt "
        f"sets is {OVER_STATIC}. {evidence.misfit}"
    )


def sweep(evidence: Evidence) -> FigurePart:
    study, costs = evidence.study, evidence.costs
    base = study.play(AUTOREGRESSIVE)
    replayed = [(n, faster(costs, study.play(choice), base)) for n, choice in enumerate(STATICS, 1)]
    ran = [(n, evidence.ran.ratio(STATICS[n - 1], AUTOREGRESSIVE)) for n in sorted({5, evidence.lookahead})]
    top = max(found.value for _, found in replayed)
    near = [f"{n}" for n, found in replayed if found.value > 0.97 * top and n != evidence.lookahead]
    return FigurePart(
        [series("replayed here", "replayed", replayed), series("run here", "measured", ran, is_line=False)],
        f"A lookahead of {evidence.lookahead} is best here; within 3 % of its speed-up: "
        f"{', '.join(near) or 'no other'}. The best lookahead depends on how well the draft fits and on "
        "what rows and drafted tokens cost; the paper searched it for each set.",
    )


FIGURES = (
    Figure(
        slug="disco-speedups",
        paper=DISCO,
        number="Table of speed-ups",
        title="Speed of each way to stop, over the best static lookahead",
        x=Axis("", names=NAMES),
        y=Axis("speed / best static lookahead", "times"),
        draw=speedups,
        uses=("study", "costs", "ran"),
        published=(
            published(
                "the paper, mean of four sets",
                [(1, 1.0), (4, OVER_STATIC)],
                "P",
                "abstract of arXiv 2405.04304v1",
                False,
            ),
            published(
                "the paper's heuristic, by its mean",
                [(2, round(OVER_STATIC / OVER_HEURISTIC, 3))],
                "I",
                "10.3 % over the best static and 31.4 % over the heuristic; two readers agree on the latter",
                False,
            ),
        ),
    ),
    Figure(
        slug="disco-sweep",
        paper=DISCO,
        number="Static baselines",
        title="Speed-up of static lookaheads over autoregressive",
        x=Axis("lookahead, tokens"),
        y=Axis("speed-up", "times"),
        draw=sweep,
        uses=("study", "costs", "ran"),
        unpublished=f"{NOT_READ} It reports DISCO relative to the best static lookahead only.",
    ),
)
