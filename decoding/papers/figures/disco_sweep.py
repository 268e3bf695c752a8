"""Sweep of static lookaheads: the DISCO paper's baseline is the best of them."""

from __future__ import annotations

from decoding.papers.figure import DISCO, Axis, Evidence, Figure, FigurePart, series
from decoding.papers.figures.base import NOT_READ, faster
from decoding.papers.settings import AUTOREGRESSIVE, STATICS


def draw(evidence: Evidence) -> FigurePart:
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


FIGURE = Figure(
    paper=DISCO,
    number="Static baselines",
    title="Speed-up of static lookaheads over autoregressive",
    x=Axis("lookahead, tokens"),
    y=Axis("speed-up", "times"),
    draw=draw,
    uses=("study", "costs", "ran"),
    unpublished=f"{NOT_READ} It reports DISCO relative to the best static lookahead only.",
)
