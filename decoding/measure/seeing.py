"""Differences that a number of prompts can show, known before anything runs. Standard library only."""

from __future__ import annotations

import math

from decoding.measure.intervals import fewest_rows
from decoding.words import percent

SEEN_BY_ONE = 0.5  # rule of thumb for one strategy whose log ratios spread by 0.08 to 0.20 (`bench coverage`)
GOAL = 0.05  # a difference that most people care for


def are_too_few(prompts: int, strategies: int) -> bool:
    """Whether so many strategies beside the baseline get no interval."""
    return strategies > 0 and prompts < fewest_rows(strategies)


def outlook(prompts: int, strategies: int) -> str:
    """Say what so many prompts can show of so many strategies beside the baseline."""
    enough = f" About {math.ceil((SEEN_BY_ONE / GOAL) ** 2)} prompts show differences of {percent(GOAL)}."
    if are_too_few(prompts, strategies):
        number = "1 prompt is" if prompts == 1 else f"{prompts} prompts are"
        intervals = f"intervals of {strategies} strategies at once take" if strategies > 1 else "an interval takes"
        return f"{number} too few to settle anything: {intervals} at least {fewest_rows(strategies)}.{enough}"
    seen = SEEN_BY_ONE / math.sqrt(prompts)
    return f"{prompts} prompts usually show differences of {percent(seen)} or more.{enough if seen > GOAL else ''}"
