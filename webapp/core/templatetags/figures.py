"""Filters that write numbers on pages of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import template

from decoding.public import STRATEGIES, Choice, ms

register = template.Library()
register.filter(ms)


@register.filter
def percent(share: float) -> str:
    return f"{100 * share:.0f}\u202f%"


@register.filter
def remark(row: Mapping[str, Any]) -> str:
    """Return what to know of a choice's results; nothing for most."""
    choice = Choice.of(row)
    return choice.remark if choice.strategy in STRATEGIES else ""


@register.filter
def unbroken(sentence: str) -> str:
    """Keep a number and its per cent sign on one line."""
    return sentence.replace(" %", "\u202f%")


@register.filter
def signed(number: float) -> str:
    return f"{number:+,.1f}".replace("-", "−")


@register.filter
def within(interval: Sequence[float] | None) -> str:
    """Write the interval of a percentile, in ms."""
    return "–".join(map(ms, interval)) if interval else "–"
