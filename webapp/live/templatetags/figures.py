"""Numbers as a comparison's page writes them."""

from __future__ import annotations

from django import template

register = template.Library()


@register.filter
def percent(share: float) -> str:
    return f"{100 * share:.0f}\u202f%"


@register.filter
def signed(number: float) -> str:
    return f"{number:+.1f}".replace("-", "−")
