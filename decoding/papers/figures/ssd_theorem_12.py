"""Theorem 12 of the SSD paper: how many branches each accepted count gets."""

from __future__ import annotations

from decoding.papers.bootstrap import Estimate, estimate
from decoding.papers.figure import SSD, Axis, Evidence, Figure, FigurePart, published, series
from decoding.papers.figures.base import BUDGET, LOOKAHEAD, best, exponent, played, uniform
from decoding.papers.outcomes import total
from decoding.trace.theory import fan_out

PAPER = (4.2, 3.6, 3.1, 2.7, 2.3, 2.0, 1.8, 4.3)


def draw(evidence: Evidence) -> FigurePart:
    outcomes = evidence.greedy
    tallies, r = played(outcomes, uniform(0)), exponent(outcomes)

    def branches(k: int) -> Estimate:
        return estimate(
            tallies, lambda part: fan_out(LOOKAHEAD, BUDGET, min(0.99, total(part).acceptance), max(0.05, r))[k]
        )

    counts = range(LOOKAHEAD + 1)
    return FigurePart(
        [
            series("Theorem 12, ours", "theory", [(k, branches(k)) for k in counts]),
            series("most hits on our texts", "computed", [(k, Estimate(n)) for k, n in enumerate(best(outcomes))]),
            series("uniform", "theory", [(k, Estimate(n)) for k, n in enumerate(uniform(BUDGET // len(counts)))]),
        ],
        f"Acceptance is {total(tallies).acceptance:.2f} and misses fall with F^-{r:.2f} here; the paper's example "
        "takes 0.8 and 0.55. The theorem gives every token one acceptance; the best fan-out on our texts knows better.",
    )


FIGURE = Figure(
    paper=SSD,
    number="Theorem 12",
    title=f"Branches for each accepted count, {BUDGET} in all",
    x=Axis("accepted tokens"),
    y=Axis("branches"),
    draw=draw,
    uses=("greedy",),
    published=(
        published("acceptance 0.8, exponent 0.55", [*enumerate(PAPER)], "I", "the theorem's formula, by a reader"),
    ),
)
