"""Passes that the DISCO paper's authors count for one text: the oracle's, relative to a static lookahead of 5."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from decoding.papers.bootstrap import Estimate, estimate
from decoding.papers.figure import DISCO, Axis, Evidence, Figure, FigurePart, published, series
from decoding.prices.counts import Counts
from decoding.strategies.oracle import UntilRefused
from decoding.strategies.static import SameLength

STATIC, UNLIMITED = 5, 1 << 30
NAMES = ("target", "draft, accepted tokens", "draft, with the refused")
Part = tuple[Counts, Counts]  # of the oracle and of static, on one prompt
OF: Sequence[Callable[[Counts], int]] = (
    lambda counts: counts.target_passes,
    lambda counts: counts.accepted,
    lambda counts: counts.draft_passes,
)


def draw(evidence: Evidence) -> FigurePart:
    study = evidence.study
    oracle = study.count(lambda: UntilRefused(UNLIMITED)).parts
    static = study.count(lambda: SameLength(STATIC)).parts
    parts = [*zip(oracle, static, strict=True)]
    found = [(number, _ratio(parts, number)) for number in range(len(NAMES))]
    return FigurePart(
        [series("this pair", "computed", found, is_line=False)],
        f"The oracle needs {100 * (1 - found[0][1].value):.0f} % fewer target passes here and 29 % fewer in the "
        "authors' example, which is one text. They do not say whether the refused token counts, so both counts of "
        "ours are shown.",
    )


def _ratio(parts: Sequence[Part], number: int) -> Estimate:
    above, below = OF[number], OF[2 if number else 0]  # what static drafts is the same in both counts
    return estimate(
        parts, lambda part: sum(above(oracle) for oracle, _ in part) / sum(below(static) for _, static in part)
    )


FIGURE = Figure(
    paper=DISCO,
    number="Example",
    title="Passes of an oracle over those of a static lookahead of 5",
    x=Axis("", names=NAMES),
    y=Axis("oracle / static, 5 tokens", "share"),
    draw=draw,
    uses=("study",),
    published=(
        published(
            "one MBPP sample",
            [(0, 27 / 38), (1, 129 / 192), (2, 129 / 192)],
            "A",
            "the authors' post on dynamic speculation: 27 of 38 target and 129 of 192 draft passes, either count",
            is_line=False,
        ),
    ),
)
