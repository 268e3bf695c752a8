"""Designs of a classifier, and sentences about its card. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OURS, PAPER = "ours", "paper"
DESIGNS = {
    OURS: "margin, score and position of the token, with echoes where they pay; stops by price",
    PAPER: "as published: top-10 probabilities, entropy and position; stops below a constant threshold",
}
PAYS = 0.01  # a gain in speed below this is none


def rule_of(design: str) -> str:
    """Rule of `disco` that belongs to a design."""
    return "threshold" if design == PAPER else "priced"


def learning_sentence(learning: Mapping[str, Any]) -> str:
    """Say from which number of training prompts on more of them gain nothing."""
    points, enough = learning.get("points") or [], learning.get("enough")
    if len(points) < 2:
        return ""
    most, whole = points[-1]["prompts"], points[-1]["speedup"]
    if enough is None or enough >= most:
        return (
            f"More training prompts may still pay: {most} give {whole:.2f}x, and fewer are slower or too few to tell."
        )
    few = next(point for point in points if point["prompts"] == enough)
    return (
        f"{enough} training prompts are enough: they give {few['speedup']:.2f}x, {most} give {whole:.2f}x, "
        f"and more gain less than {PAYS:.0%}."
    )
