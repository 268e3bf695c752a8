"""Quality of a classifier's probabilities: F1, calibration and so on, and the points of the ROC and reliability
curves."""

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
    precision: float
    recall: float
    auc: float
    calibration_error: float  # expected calibration error, over BINS bins of equal width
    bce: float
    reliability: list[tuple[float, float, int]]  # per bin: mean probability, share accepted, tokens
    roc: list[tuple[float, float]]  # false positive rate, true positive rate


def measure(probabilities: Tensor, labels: Tensor, threshold: float = 0.5, points: int = 101) -> Metrics:
    """Compare probabilities [n] with labels [n] in [0, 1]. A soft label counts for both classes by its weight."""
    p, y = probabilities.double(), labels.double()
    chosen = p >= threshold
    true = float(y[chosen].sum())
    precision = true / max(1, int(chosen.sum()))
    recall = true / max(1e-12, float(y.sum()))
    thresholds = torch.linspace(0, 1, points, dtype=torch.float64)
    true_rates, false_rates = _curves(p, y, thresholds)
    clipped = p.clamp(1e-7, 1 - 1e-7)
    reliability = _reliability(p, y)
    return Metrics(
        count=len(p),
        positives=float(y.mean()),
        f1=2 * precision * recall / max(1e-12, precision + recall),
        precision=precision,
        recall=recall,
        auc=area_under_roc(p, y),
        calibration_error=sum(n * abs(mean - share) for mean, share, n in reliability) / len(p),
        bce=float(-(y * clipped.log() + (1 - y) * (1 - clipped).log()).mean()),
        reliability=reliability,
        roc=list(zip(false_rates, true_rates, strict=True)),
    )


def area_under_roc(p: Tensor, y: Tensor) -> float:
    """Probability that a random accepted token scores above a random refused one; ties count half."""
    values, inverse = torch.unique(p, return_inverse=True)
    positive = torch.zeros(len(values), dtype=torch.float64).scatter_add_(0, inverse, y.double())
    negative = torch.zeros(len(values), dtype=torch.float64).scatter_add_(0, inverse, 1 - y.double())
    below = negative.cumsum(0) - negative
    pairs = float(positive.sum() * negative.sum())
    return float((positive * (below + negative / 2)).sum()) / pairs if pairs else float("nan")


def _curves(p: Tensor, y: Tensor, thresholds: Tensor) -> tuple[list[float], list[float]]:
    order = p.argsort()
    ordered = p[order].contiguous()
    from_there = torch.cat((y[order].flip(0).cumsum(0).flip(0), torch.zeros(1, dtype=torch.float64)))
    first = torch.searchsorted(ordered, thresholds)
    true, chosen = from_there[first], (len(p) - first).double()
    true_rates = true / max(1e-12, float(y.sum()))
    false_rates = (chosen - true) / max(1e-12, float((1 - y).sum()))
    return true_rates.tolist(), false_rates.tolist()


def _reliability(p: Tensor, y: Tensor) -> list[tuple[float, float, int]]:
    bins = (p * BINS).long().clamp(max=BINS - 1)
    rows = []
    for number in range(BINS):
        inside = bins == number
        if inside.any():
            rows.append((float(p[inside].mean()), float(y[inside].mean()), int(inside.sum())))
    return rows
