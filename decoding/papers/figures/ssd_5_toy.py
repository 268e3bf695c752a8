"""Figure 5 of the SSD paper, left half: on four tokens, Saguaro sampling moves the residual onto the cache."""

from __future__ import annotations

from decoding.papers.bootstrap import Estimate
from decoding.papers.figure import SSD, Axis, Evidence, Figure, FigurePart, published, series

TARGET, DRAFT = (0.50, 0.25, 0.125, 0.125), (0.56, 0.28, 0.10, 0.06)
CACHED = 2  # the draft's likeliest tokens
CONSTANTS = [step / 20 for step in range(21)]


def draw(evidence: Evidence) -> FigurePart:
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


FIGURE = Figure(
    paper=SSD,
    number="Figure 5, left",
    title="Residual on the cache as Saguaro's constant falls, four tokens",
    x=Axis("C"),
    y=Axis("share", "share"),
    draw=draw,
    published=(
        published(
            "the paper, residual on the cache",
            [(1.0, 0.0)],
            "P",
            "Figure 5 of arXiv 2603.03251v1; its other point, 100 %, is left out because its C was not read",
            is_line=False,
        ),
    ),
)
