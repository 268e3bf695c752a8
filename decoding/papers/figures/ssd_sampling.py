"""Figure 5 of the SSD paper: Saguaro sampling trades acceptance for hits."""

from __future__ import annotations

from decoding.papers.bootstrap import Estimate, estimate
from decoding.papers.figure import SSD, Axis, Evidence, Figure, FigurePart, Point, Series, published, series
from decoding.papers.figures.base import acceptance, hit_rate, played, uniform
from decoding.papers.settings import HELD_BACK

PAPER = (("1", 0.616, 0.799), ("about 0.5", 0.637, 0.784), ("about 0.08", 0.720, 0.688), ("about 0.04", 0.742, 0.645),
         ("about 0", 0.802, 0.517), ("0", 0.806, 0.483))  # fmt: skip


def hits_against_acceptance(evidence: Evidence) -> FigurePart:
    found = evidence.constants
    points = []
    for constant, outcomes in found.items():
        accepted = estimate(outcomes, acceptance)
        hits = hit_rate(played(outcomes, uniform(HELD_BACK)))
        points.append(Point(hits.value, accepted.value, accepted.low, accepted.high, f"C = {constant:g}"))
    first, last = points[0], points[-1]
    return FigurePart(
        [Series("ours, temperature 1", "computed", points)],
        f"From C = 1 to nearly 0 hits rise from {100 * first.x:.0f} % to {100 * last.x:.0f} % here and acceptance "
        f"falls from {100 * first.y:.0f} % to {100 * last.y:.0f} %. Temperature and fan-out of the paper's curve are "
        f"not given; ours are 1 and {HELD_BACK}.",
    )


TARGET, DRAFT = (0.50, 0.25, 0.125, 0.125), (0.56, 0.28, 0.10, 0.06)
CACHED = 2  # the draft's likeliest tokens
CONSTANTS = [step / 20 for step in range(21)]


def on_four_tokens(evidence: Evidence) -> FigurePart:
    found = [(constant, *_at(constant)) for constant in CONSTANTS]
    whole = max(constant for constant, mass, _ in found if mass > 1 - 1e-9)
    none = min(constant for constant, mass, _ in found if mass < 1e-9)
    return FigurePart(
        [
            series("ours, residual on the cache", "theory", [(c, Estimate(mass)) for c, mass, _ in found]),
            series("ours, acceptance", "theory", [(c, Estimate(accepted)) for c, _, accepted in found]),
        ],
        "Both agree, because no model takes part: the paper's distributions go through our own sampling. From C = 1 to "
        f"{none:g} nothing of the residual lies on the cache, from {whole:g} to 0 all of it. Acceptance falls from "
        f"{100 * found[-1][2]:.0f} % to {100 * found[0][2]:.0f} %.",
    )


def _at(constant: float) -> tuple[float, float]:
    """Share of the residual on the cached tokens, and acceptance."""
    import torch

    from decoding.papers.chances import held_back

    p = torch.tensor(TARGET, dtype=torch.float64)
    q = held_back(torch.tensor([DRAFT], dtype=torch.float64).log(), constant, CACHED - 1)[0]
    residual = (p - q).clamp(min=0.0)
    return float(residual[:CACHED].sum() / residual.sum()), float(torch.minimum(p, q).sum())


FIGURES = (
    Figure(
        slug="ssd-5",
        paper=SSD,
        number="Figure 5, right",
        title="Hits against acceptance as Saguaro's constant falls from 1 to 0",
        x=Axis("hit rate", "share"),
        y=Axis("acceptance of a drafted token", "share"),
        draw=hits_against_acceptance,
        uses=("constants",),
        published=(
            Series(
                "the paper",
                "published",
                [Point(hits, accepted, label=f"C = {constant}") for constant, hits, accepted in PAPER],
                "Pd",
                "digitised from Figure 5 of arXiv 2603.03251v1; C from the colour bar, coarse",
            ),
        ),
    ),
    Figure(
        slug="ssd-5-toy",
        paper=SSD,
        number="Figure 5, left",
        title="Residual on the cache as Saguaro's constant falls, four tokens",
        x=Axis("C"),
        y=Axis("share", "share"),
        draw=on_four_tokens,
        published=(
            published(
                "the paper, residual on the cache",
                [(1.0, 0.0)],
                "P",
                "Figure 5 of arXiv 2603.03251v1; its other point, 100 %, is left out because its C was not read",
                is_line=False,
            ),
        ),
    ),
)
