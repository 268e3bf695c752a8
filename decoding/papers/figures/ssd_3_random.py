"""Figure 3 of the SSD paper, after drafts of random tokens: how misses fall with the fan-out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from decoding.papers.bootstrap import estimate
from decoding.papers.figure import SSD, Axis, Figure, FigurePart, Series, published, series
from decoding.papers.figures.ssd_3 import FANS, LOOKAHEAD, SHOWN
from decoding.papers.outcomes import Outcomes, OutcomeTally, play, total
from decoding.trace.theory import power_law

if TYPE_CHECKING:
    from decoding.papers.evidence import Evidence

SOURCE = "digitised from Figure 3 of arXiv 2603.03251v1"
PAPER = 0.52  # exponent fitted to the greedy points


def missed(outcomes: Sequence[Outcomes], fan: int) -> list[OutcomeTally]:
    """One tally for each text. The model's drafts have one branch for each accepted count, so that some outcomes miss,
    and all branches of a random draft are for the next token: the target refuses it at once."""
    return [play(one, (1,) * (LOOKAHEAD + 1), (fan,)) for one in outcomes]


def _share(part: Sequence[OutcomeTally]) -> float:
    found = total(part)
    return found.miss_after_backup if found.after_backup else 0.0


def draw(evidence: Evidence) -> FigurePart:
    shown: list[Series] = []
    for temperature in SHOWN:
        outcomes = evidence.outcomes(temperature)
        points = [(fan, estimate(missed(outcomes, fan), _share)) for fan in FANS]
        shown.append(series(f"ours, T = {temperature:g}", "computed", points))
    law = power_law({point.x: point.y for point in shown[0].points})  # type: ignore[misc]
    fall = (
        f"Greedy misses fall with F^-{law.exponent:.2f} here and with F^-{PAPER} in the paper. " if law.exponent else ""
    )
    return FigurePart(
        shown,
        f"{fall}The target refuses random tokens at once, so all branches guess the very next token, where the draft "
        "has just been wrong. Beside the model's drafts ours has one branch for each accepted count; the paper does "
        "not say how many it has.",
    )


def _published(name: str, *missed: float) -> Series:
    return published(name, [*zip(FANS, missed, strict=True)], "Pd", SOURCE)


FIGURE = Figure(
    slug="ssd-3-random",
    paper=SSD,
    number="Figure 3, backup",
    title="Share of outcomes without a branch after random tokens, by fan-out",
    x=Axis("branches for the next token", log=True),
    y=Axis("misses", "share", log=True),
    draw=draw,
    uses=("greedy", "temperatures"),
    published=(
        _published("1B draft, T = 0", 0.43, 0.306, 0.200, 0.139, 0.103, 0.08, 0.065),
        _published("1B and 3B draft, T = 0.7", 0.53, 0.38, 0.27, 0.19, 0.13, 0.09, 0.07),
        _published("1B and 3B draft, T = 1", 0.63, 0.50, 0.39, 0.30, 0.23, 0.18, 0.14),
    ),
)
