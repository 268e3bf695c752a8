"""Numbers as a comparison's page writes them."""

from __future__ import annotations

from django import template

register = template.Library()


@register.filter
def percent(share: float) -> str:
    return f"{100 * share:.0f}\u202f%"


@register.filter
def unbroken(sentence: str) -> str:
    """No line ends between a number and its per cent."""
    return sentence.replace(" %", "\u202f%")


@register.filter
def signed(number: float) -> str:
    return f"{number:+.1f}".replace("-", "−")
