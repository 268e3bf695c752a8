"""Filters that write numbers on pages of results."""

from __future__ import annotations

from django import template

register = template.Library()


@register.filter
def percent(share: float) -> str:
    return f"{100 * share:.0f}\u202f%"


@register.filter
def unbroken(sentence: str) -> str:
    """Keep a number and its per cent sign on one line."""
    return sentence.replace(" %", "\u202f%")


@register.filter
def signed(number: float) -> str:
    return f"{number:+.1f}".replace("-", "−")
