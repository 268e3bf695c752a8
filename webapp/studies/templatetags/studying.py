"""Numbers as the pages of studies write them."""

from __future__ import annotations

from django import template

register = template.Library()


@register.filter
def micros(seconds: float) -> str:
    """A cost: microseconds, or milliseconds where those are many."""
    value = float(seconds) * 1e6
    return f"{value:,.0f}\u202fµs" if value < 100_000 else f"{value / 1000:,.0f}\u202fms"
