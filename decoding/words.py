"""Write numbers in one format, on pages and in the terminal: 61 %, −3.4 %, 16.0 ms."""

from __future__ import annotations


def percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def ms(value: float) -> str:
    """Write milliseconds with as many digits as are read at a glance."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def change(ratio: float, digits: int = 0) -> str:
    """Write how far a ratio lies from 1."""
    return f"{signed(100 * (ratio - 1), digits)} %"


def signed(number: float, digits: int = 1) -> str:
    """Write a number with its sign, and that as a minus, not as a hyphen."""
    return f"{number:+.{digits}f}".replace("-", "−")
