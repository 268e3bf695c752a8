"""Designs of a classifier, and sentences about its card. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OURS, PAPER, SOURCES = "ours", "paper", "sources"
DESIGNS = {
    OURS: "margin, score and position of the token; stops by price",
    SOURCES: "as ours, and how well a copied text matches, for DISCO on copied tokens; stops by price",
    PAPER: "top-10 probabilities, entropy and position, as published; stops below a constant threshold",
}


def rule_of(design: str) -> str:
    """Rule of `disco` that belongs to a design."""
    return "threshold" if design == PAPER else "priced"


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
