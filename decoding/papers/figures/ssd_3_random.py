"""Figure 3 of the SSD paper, after drafts of random tokens: how misses fall with the fan-out."""

from __future__ import annotations

from collections.abc import Sequence

from decoding.papers.figure import SSD, Axis, Evidence, Figure, FigurePart
from decoding.papers.figures.ssd_3 import LOOKAHEAD, by_fan, curves
from decoding.papers.outcomes import Outcomes, OutcomeTally, play, total

PAPER = 0.52  # exponent fitted to the greedy points


def missed(outcomes: Sequence[Outcomes], fan: int) -> list[OutcomeTally]:
    """One tally for each text. The model's drafts have one branch for each accepted count, so that some outcomes miss,
    and all branches of a random draft are for the next token: the target refuses it at once."""
    return [play(one, (1,) * (LOOKAHEAD + 1), (fan,)) for one in outcomes]


def _share(part: Sequence[OutcomeTally]) -> float:
    found = total(part)
    return found.miss_after_backup if found.after_backup else 0.0


def draw(evidence: Evidence) -> FigurePart:
    shown, law = curves(evidence, missed, _share)
    fall = (
        f"Greedy misses fall with F^-{law.exponent:.2f} here and with F^-{PAPER} in the paper. " if law.exponent else ""
    )
    return FigurePart(
        shown,
        f"{fall}The target refuses random tokens at once, so all branches guess the very next token, where the draft "
        "has just been wrong. Beside the model's drafts ours has one branch for each accepted count; the paper does "
        "not say how many it has.",
    )


FIGURE = Figure(
    paper=SSD,
    number="Figure 3, backup",
    title="Share of outcomes without a branch after random tokens, by fan-out",
    x=Axis("branches for the next token", log=True),
    y=Axis("misses", "share", log=True),
    draw=draw,
    uses=("greedy", "temperatures"),
    published=(
        by_fan("1B draft, T = 0", 0.43, 0.306, 0.200, 0.139, 0.103, 0.08, 0.065),
        by_fan("1B and 3B draft, T = 0.7", 0.53, 0.38, 0.27, 0.19, 0.13, 0.09, 0.07),
        by_fan("1B and 3B draft, T = 1", 0.63, 0.50, 0.39, 0.30, 0.23, 0.18, 0.14),
    ),
)
