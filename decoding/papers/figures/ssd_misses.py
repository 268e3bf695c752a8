"""Figure 3 of the SSD paper: how misses fall with the fan-out, after drafts of the model and of random tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from decoding.papers.bootstrap import estimate
from decoding.papers.figure import SSD, Axis, Evidence, Figure, FigurePart, Series, published, series
from decoding.papers.figures.base import played, uniform
from decoding.papers.outcomes import Outcomes, OutcomeTally, total
from decoding.trace.theory import PowerLaw, power_law

PAPER = 0.52  # exponent fitted to the greedy points after random tokens
FANS = (2, 4, 8, 16, 32, 64, 128)
SHOWN = (0.0, 0.7, 1.0)
SOURCE = "digitised from Figure 3 of arXiv 2603.03251v1; at T = 1 the curves of both drafts overlap"


def curves(
    evidence: Evidence,
    tallies: Callable[[Sequence[Outcomes], int], Sequence[OutcomeTally]],
    missed: Callable[[Sequence[OutcomeTally]], float],
) -> tuple[list[Series], PowerLaw]:
    """Share of misses by fan-out at each temperature, and the law that the greedy ones follow."""
    shown = []
    for temperature in SHOWN:
        outcomes = evidence.temperatures[temperature]
        points = [(fan, estimate(tallies(outcomes, fan), missed)) for fan in FANS]
        shown.append(series(f"ours, T = {temperature:g}", "computed", points))
    return shown, power_law({point.x: point.y for point in shown[0].points})  # type: ignore[misc]


def by_fan(name: str, *misses: float) -> Series:
    return published(name, [*zip(FANS, misses, strict=True)], "Pd", SOURCE)


def after_the_model(evidence: Evidence) -> FigurePart:
    shown, law = curves(
        evidence, lambda outcomes, fan: played(outcomes, uniform(fan)), lambda part: total(part).miss_after_model
    )
    return FigurePart(
        shown,
        f"Greedy misses follow {law.prefactor:.2f} F^-{law.exponent:.2f} here and 0.28 F^-0.54 for the paper's 1B "
        "draft. How fast they fall depends on how far down the draft's list the target's token stands, which is a "
        "property of the pair and of its vocabulary.",
    )


def _share(part: Sequence[OutcomeTally]) -> float:
    found = total(part)
    return found.miss_after_backup if found.after_backup else 0.0


def after_random_tokens(evidence: Evidence) -> FigurePart:
    # The model's drafts have one branch for each accepted count, so that some outcomes miss. All branches of a random
    # draft are for the next token: the target refuses it at once.
    shown, law = curves(evidence, lambda outcomes, fan: played(outcomes, uniform(1), (fan,)), _share)
    fall = (
        f"Greedy misses fall with F^-{law.exponent:.2f} here and with F^-{PAPER} in the paper. " if law.exponent else ""
    )
    return FigurePart(
        shown,
        f"{fall}The target refuses random tokens at once, so all branches guess the very next token, where the draft "
        "has just been wrong. Beside the model's drafts ours has one branch for each accepted count; the paper does "
        "not say how many it has.",
    )


FIGURES = (
    Figure(
        slug="ssd-3",
        paper=SSD,
        number="Figure 3",
        title="Share of outcomes without a branch, by fan-out",
        x=Axis("branches for each accepted count", log=True),
        y=Axis("misses", "share", log=True),
        draw=after_the_model,
        uses=("greedy", "temperatures"),
        published=(
            by_fan("1B draft, T = 0", 0.229, 0.133, 0.080, 0.053, 0.039, 0.029, 0.025),
            by_fan("1B draft, T = 0.7", 0.316, 0.207, 0.138, 0.092, 0.065, 0.046, 0.035),
            by_fan("1B draft, T = 1", 0.39, 0.29, 0.21, 0.168, 0.124, 0.089, 0.071),
            by_fan("3B draft, T = 0", 0.175, 0.097, 0.057, 0.037, 0.028, 0.023, 0.020),
            by_fan("3B draft, T = 0.7", 0.276, 0.178, 0.118, 0.079, 0.057, 0.040, 0.031),
            by_fan("3B draft, T = 1", 0.39, 0.29, 0.21, 0.149, 0.111, 0.089, 0.071),
        ),
    ),
    Figure(
        slug="ssd-3-random",
        paper=SSD,
        number="Figure 3, backup",
        title="Share of outcomes without a branch after random tokens, by fan-out",
        x=Axis("branches for the next token", log=True),
        y=Axis("misses", "share", log=True),
        draw=after_random_tokens,
        uses=("greedy", "temperatures"),
        published=(
            by_fan("1B draft, T = 0", 0.43, 0.306, 0.200, 0.139, 0.103, 0.08, 0.065),
            by_fan("1B and 3B draft, T = 0.7", 0.53, 0.38, 0.27, 0.19, 0.13, 0.09, 0.07),
            by_fan("1B and 3B draft, T = 1", 0.63, 0.50, 0.39, 0.30, 0.23, 0.18, 0.14),
        ),
    ),
)
