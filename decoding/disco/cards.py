"""Designs of a classifier, and sentences about its card. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OURS, PAPER, SOURCES = "ours", "paper", "sources"
DESIGNS = {
    OURS: "margin, score and position of the token, and echoes where they pay; stops by price",
    SOURCES: "as ours, and how well a copied text matches, for DISCO on copied tokens; stops by price",
    PAPER: "top-10 probabilities, entropy and position, as published; stops below a constant threshold",
}


def rule_of(design: str) -> str:
    """Rule of `disco` that belongs to a design."""
    return "threshold" if design == PAPER else "priced"


def sharing_sentence(card: Mapping[str, Any]) -> str:
    """Say how many prompts a training left out; empty if none."""
    left_out = (card.get("shared") or {}).get("left_out")
    return f"{left_out} prompts were left out, since their text is in a later split too." if left_out else ""
