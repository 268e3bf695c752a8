"""Filters that write numbers on pages of results."""

from __future__ import annotations

from collections.abc import Sequence

from django import template

from decoding.public import STRATEGIES, ms

register = template.Library()
register.filter(ms)


@register.filter
def percent(share: float) -> str:
    return f"{100 * share:.0f}\u202f%"


@register.filter
def remark(strategy: str, repeats: int) -> str:
    """Return what to know of a strategy's results; nothing for most."""
    return STRATEGIES[strategy].remark_after(repeats) if strategy in STRATEGIES else ""


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
