"""Designs of a classifier, and sentences about its card. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from decoding.errors import BadStrategy
from decoding.words import percent

OURS, PAPER, SOURCES = "ours", "paper", "sources"
DESIGNS = {
    OURS: "margin, score and position of the token, and echoes where they pay; stops by price",
    SOURCES: "as ours, and how well a copied text matches, for DISCO on copied tokens; stops by price",
    PAPER: "top-10 probabilities, entropy and position, as published; stops below a constant threshold",
}
PAYS = 0.01  # a gain in speed below this is none


def rule_of(design: str) -> str:
    """Rule of `disco` that belongs to a design."""
    return "threshold" if design == PAPER else "priced"


def threshold_of(card: Mapping[str, Any], rule: str) -> float:
    """Threshold that replay found best for a rule when the classifier was made."""
    thresholds = card.get("thresholds") or {}
    if rule not in thresholds:
        raise BadStrategy(
            f"The classifier's card tells no threshold for the rule {rule}. Set `threshold`, or train a classifier "
            "again."
        )
    return float(thresholds[rule])


def sharing_sentence(card: Mapping[str, Any]) -> str:
    """Say how far the prompts that test a classifier are those it learnt from."""
    shared = card.get("shared") or {}
    words = []
    if left_out := shared.get("left_out"):
        words.append(f"{left_out} prompts were left out, since their text is in a later split too.")
    if alike := shared.get("test", 0) + shared.get("validation", 0):
        words.append(
            f"{alike} validation and test prompts are nearly the same as training prompts (over half of their 8-word "
            "pieces), so its figures flatter it."
        )
    return " ".join(words)


def learning_sentence(learning: Mapping[str, Any]) -> str:
    """Say how many training prompts are as good as all of them."""
    points = learning.get("points") or []
    if len(points) < 2:
        return ""
    whole, enough = points[-1], learning.get("enough")
    few = next((point for point in points[:-1] if point["prompts"] == enough), None)
    if few is None:
        return (
            f"More training prompts may still pay: {whole['prompts']} give {whole['speedup']:.2f}x, and no part of "
            "them is surely as fast."
        )
    return (
        f"{enough} training prompts are enough: they give {few['speedup']:.2f}x, and all {whole['prompts']} give "
        f"{whole['speedup']:.2f}x, surely less than {percent(PAYS)} faster prompt by prompt."
    )
