"""Quality of a classifier's probabilities: F1, calibration and so on, and the points of the reliability diagram."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

BINS = 10


@dataclass(frozen=True)
class Metrics:
    count: int
    positives: float  # share
    f1: float
    auc: float
    calibration_error: float  # expected calibration error, over BINS bins of equal width
    bce: float
    reliability: list[tuple[float, float, int]]  # per bin: mean probability, share accepted, tokens


def measure(probabilities: Tensor, labels: Tensor) -> Metrics:
    """Compare probabilities [n] with labels [n] in [0, 1]. A soft label counts for both classes by its weight."""
    p, y = probabilities.double(), labels.double()
    clipped = p.clamp(1e-7, 1 - 1e-7)
    reliability = _reliability(p, y)
    return Metrics(
        count=len(p),
        positives=float(y.mean()),
        f1=f1(p >= 0.5, y),
        auc=area_under_roc(p, y),
        calibration_error=sum(n * abs(mean - share) for mean, share, n in reliability) / len(p),
        bce=float(-(y * clipped.log() + (1 - y) * (1 - clipped).log()).mean()),
        reliability=reliability,
    )


def f1(said: Tensor, labels: Tensor) -> float:
    """F1 of the tokens [n] that are said to be accepted."""
    return 2 * float(labels[said].sum()) / max(1e-12, float(said.sum()) + float(labels.sum()))


def area_under_roc(p: Tensor, y: Tensor) -> float:
    """Probability that a random accepted token scores above a random refused one; ties count half."""
    values, inverse = torch.unique(p, return_inverse=True)
    positive = torch.zeros(len(values), dtype=torch.float64).scatter_add_(0, inverse, y.double())
    negative = torch.zeros(len(values), dtype=torch.float64).scatter_add_(0, inverse, 1 - y.double())
    below = negative.cumsum(0) - negative
    pairs = float(positive.sum() * negative.sum())
    return float((positive * (below + negative / 2)).sum()) / pairs if pairs else float("nan")


def _reliability(p: Tensor, y: Tensor) -> list[tuple[float, float, int]]:
    bins = (p * BINS).long().clamp(max=BINS - 1)
    rows = []
    for number in range(BINS):
        inside = bins == number
        if inside.any():
            rows.append((float(p[inside].mean()), float(y[inside].mean()), int(inside.sum())))
    return rows
